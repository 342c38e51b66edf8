from __future__ import annotations

import os
import subprocess
import sys

import pytest
from pydantic import BaseModel

from pytest_chalk import ProtectedStore
from pytest_chalk.sandbox import PermissionCheckError, SecretNotFoundError


class Answer(BaseModel):
    number: int


@pytest.fixture
def store(slot):
    return ProtectedStore()


@pytest.mark.parametrize(("kind", "value"), [(str, "täxt\nline"), (bytes, bytes(range(256)))])
def test_what_was_written_is_read_as_it_was(store, kind, value):
    store.write("a", value)

    assert store.read("a", kind) == value


def test_a_model_comes_back_as_a_model(store):
    store.write("answer", Answer(number=42))

    assert store.read("answer", Answer) == Answer(number=42)
    store.write("answer", "{}")
    with pytest.raises(ValueError, match="number"):
        store.read("answer", Answer)


def test_the_last_value_of_a_name_counts(store):
    store.write("a", "first")
    store.write("a", "second")

    assert store.read("a", str) == "second"


def test_what_was_not_written_is_an_error_that_says_where_it_was_looked_for(store):
    with pytest.raises(SecretNotFoundError, match="'nothing' was not written"):
        store.read("nothing", str)


@pytest.mark.parametrize("name", ["", " ", "../x", "a/b", ".", "..", ".hidden", "/etc/passwd"])
def test_a_name_is_one_plain_file_name(store, name):
    with pytest.raises(ValueError, match="invalid secret name"):
        store.write(name, "x")


def test_a_scoring_script_reads_the_store_of_its_worker(store):
    store.write("a", "for you")
    script = "from pytest_chalk import ProtectedStore; print(ProtectedStore().read('a', str))"

    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "for you\n"


@pytest.mark.usefixtures("box")
def test_the_values_of_a_run_are_gone_after_it(store, box):
    store.write("a", "secret")

    box.reset()

    with pytest.raises(SecretNotFoundError):
        store.read("a", str)


def test_a_directory_of_ones_own_stays_until_it_is_cleared(tmp_path):
    store = ProtectedStore(tmp_path / "own")
    store.write("a", "x")
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "own" / "a").stat().st_mode & 0o777 == 0o600

    store.clear()

    assert list((tmp_path / "own").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hold a student")
@pytest.mark.usefixtures("current_run")
def test_the_student_cannot_read_the_store_and_that_is_found_out(store, public_folder):
    class OpenStore(ProtectedStore):
        def write(self, name, value):
            super().write(name, value)
            self.directory.chmod(0o755)

    store.check_permissions()
    with pytest.raises(PermissionCheckError, match="can read"):
        OpenStore(public_folder / "open").check_permissions()
