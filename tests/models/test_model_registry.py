"""Models by name, and what it costs to know them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_chalk.models.registry import accepted_names, is_paid, make_model
from pytest_chalk.models.settings import ModelSettings


@pytest.mark.parametrize("name", ["openai/gpt-5", "anthropic/claude", "openai/org/model:tag"])
def test_a_model_has_the_name_it_was_made_by(name):
    assert make_model(name).name == name


@pytest.mark.parametrize("name", ["oracle", "openai", "openai/", "mine/x", "", "OpenAI/x"])
def test_other_names_are_not_ours(name):
    assert make_model(name) is None
    assert not is_paid(name)


def test_the_forms_of_names_can_be_shown():
    assert accepted_names() == ("openai/<model id>", "anthropic/<model id>")


def test_a_providers_model_is_paid_and_one_on_this_machine_is_not(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://localhost:1")

    assert is_paid("openai/gpt-5")
    assert not is_paid("anthropic/claude")
    assert is_paid("anthropic/claude", ModelSettings(base_url="https://mine.test"))
    assert not is_paid("openai/x", ModelSettings(base_url="http://127.0.0.1:8000/v1"))


def test_making_a_model_needs_no_key_and_loads_no_http():
    script = (
        "import sys; from pytest_chalk.models.registry import make_model;"
        "make_model('openai/x'); make_model('anthropic/x'); sys.exit('httpx' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
