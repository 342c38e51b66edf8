"""Which level is chosen, and how it is found out what can be had."""

from __future__ import annotations

import json
import os
import threading

import pytest

from pytest_chalk.errors import RunOptionError
from pytest_chalk.sandbox import (
    GUARANTEES,
    LEVELS,
    describe_level,
    enforced,
    isolation,
    not_enforced,
)
from pytest_chalk.sandbox.isolation import SATISFIES, asked_level, choose_level, find_obstacles

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root may make namespaces like that")

ROOT = {"isolated": "", "uid": "", "userns": "it is for others", "none": ""}
CONTAINER = {**ROOT, "isolated": "unshare: Operation not permitted"}
LAPTOP = {"isolated": "it needs root", "uid": "it needs root", "userns": "", "none": ""}
MAC = {**dict.fromkeys(LEVELS, "it needs Linux"), "none": ""}


@pytest.mark.parametrize(
    ("asked", "here", "chosen"),
    [
        ("auto", ROOT, "isolated"),
        ("auto", CONTAINER, "uid"),
        ("auto", LAPTOP, "userns"),
        ("auto", MAC, "none"),
        ("uid", ROOT, "isolated"),
        ("uid", CONTAINER, "uid"),
        ("userns", ROOT, "isolated"),
        ("userns", LAPTOP, "userns"),
        ("none", ROOT, "isolated"),
        ("none", MAC, "none"),
    ],
)
def test_what_is_asked_for_is_the_least_and_the_best_is_taken(asked, here, chosen):
    assert choose_level(asked, "--chalk-isolation", here) == chosen


@pytest.mark.parametrize(
    ("asked", "here", "why"),
    [
        ("isolated", CONTAINER, "Operation not permitted"),
        ("uid", LAPTOP, "it needs root"),
        ("userns", CONTAINER, "it is for others"),
        ("isolated", MAC, "it needs Linux"),
    ],
)
def test_what_cannot_be_had_is_an_error_that_says_why_and_what_to_do(asked, here, why):
    with pytest.raises(RunOptionError, match="Run pytest as root") as refused:
        choose_level(asked, "--chalk-isolation", here)

    assert refused.value.where == "--chalk-isolation"
    assert why in refused.value.problem


def test_every_level_can_be_asked_for_and_has_a_description():
    assert set(SATISFIES) == {"auto", *LEVELS}
    for level in LEVELS:
        assert level in describe_level(level)
        assert set(enforced(level)) ^ set(not_enforced(level)) == {g.name for g in GUARANTEES}


def test_a_stronger_level_enforces_all_that_a_weaker_one_does():
    assert set(enforced("none")) < set(enforced("uid")) < set(enforced("isolated"))
    assert set(enforced("userns")) < set(enforced("isolated"))


def test_an_environment_variable_asks_too(monkeypatch):
    monkeypatch.setattr(isolation, "_asked", [])
    monkeypatch.setenv("CHALK_ISOLATION", "uid")
    assert asked_level() == ("uid", "CHALK_ISOLATION")

    monkeypatch.setenv("CHALK_ISOLATION", "strict")
    with pytest.raises(RunOptionError, match="'strict' is no level"):
        asked_level()


@root_only
def test_a_thread_beside_the_main_one_is_not_isolated():
    found = []
    thread = threading.Thread(target=lambda: found.append(find_obstacles()["isolated"]))
    thread.start()
    thread.join()

    assert "main thread" in found[0]


@root_only
def test_what_a_probe_found_is_kept_where_only_root_can_write(monkeypatch, tmp_path):
    tmp_path.chmod(0o700)
    file = tmp_path / "isolation.json"
    probes = []
    monkeypatch.setattr(isolation, "PROBED_FILE", file)
    monkeypatch.setattr(isolation, "_probe", lambda kind: probes.append(kind) or "refused")

    for _ in range(2):
        isolation.probed.cache_clear()
        assert isolation.probed("uid") == "refused"
    tmp_path.chmod(0o755)
    isolation.probed.cache_clear()
    isolation.probed("uid")

    isolation.probed.cache_clear()
    assert list(json.loads(file.read_text()).values()) == ["refused"]
    assert probes == ["uid", "uid"]
