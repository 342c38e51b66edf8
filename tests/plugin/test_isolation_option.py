"""`--chalk-isolation`: a minimum, in the header, in the JUnit file, and early enough."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET

import pytest
from plugin.conftest import Project, properties

from pytest_chalk.sandbox import isolation

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root has levels to choose from")
isolated_only = pytest.mark.skipif(
    os.geteuid() != 0 or bool(isolation.isolated_obstacle()), reason="no namespaces here"
)

TASK = """
from environment.paths import STUDENT_WORKDIR

One = task("one", step("work", RegexJudge([re.compile("workdir|")]), solution="pwd"))
"""
LEAVE_OUT = """
from pytest_chalk.sandbox import isolation
isolation.isolated_obstacle = lambda: "the kernel of this test does not want to"
"""


@pytest.fixture
def one(project: Project) -> Project:
    project.task("one", TASK)
    return project


def suite_properties(project: Project) -> dict[str, str]:
    suite = ET.parse(project.path / "report.xml").getroot().find("testsuite")
    assert suite is not None
    return properties(suite)


def test_a_level_that_is_none_is_a_usage_error(one: Project):
    result = one.run("--chalk-isolation=strict")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--chalk-isolation: 'strict' cannot be used*isolated*"])


@root_only
def test_less_than_was_asked_for_is_a_usage_error_that_says_why(one: Project):
    one.file("conftest.py", LEAVE_OUT)

    result = one.run_apart("--chalk-isolation=isolated")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--chalk-isolation: asks for*the kernel of this test*"])


@root_only
def test_what_was_asked_for_and_enforced_is_in_header_record_and_junit_file(one: Project):
    one.file("conftest.py", LEAVE_OUT)
    one.ini("chalk_isolation = uid")

    result = one.run_apart()

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*isolation=uid (not enforced: tasks, processes, *"])
    assert one.run_record()["isolation"] == "uid"
    found = suite_properties(one)
    assert found["chalk.isolation"] == found["chalk.isolation.asked"] == "uid"
    assert "kill" in found["chalk.isolation.enforced"].split(",")
    assert "network" in found["chalk.isolation.not_enforced"].split(",")


@isolated_only
@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_by_default_root_gets_the_best_level_and_one_path_for_all(one: Project, workers):
    one.task("two", TASK.replace("one", "two").replace("One", "Two"))

    result = one.run_apart(*workers)

    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["*isolation=isolated (not enforced: *"])
    assert {run["isolation"] for run in one.runs().values()} == {"isolated"}
    assert suite_properties(one)["chalk.isolation.asked"] == "auto"


@isolated_only
def test_the_level_is_known_before_a_conftest_reads_the_paths(one: Project):
    one.file(
        "conftest.py",
        """
        from pathlib import Path
        from environment.paths import STUDENT_WORKDIR
        Path("seen").write_text(str(STUDENT_WORKDIR))
        """,
    )

    assert one.run_apart("--chalk-isolation=isolated").ret == 0
    assert (one.path / "seen").read_text() == "/var/lib/chalk/workdir"


def test_a_model_may_run_where_nothing_holds_it_if_that_was_asked_for(
    one: Project, monkeypatch: pytest.MonkeyPatch
):
    one.file(
        "conftest.py",
        """
        import os
        import pytest
        from pytest_chalk.models import ScriptedModel
        from pytest_chalk.sandbox import isolation, slots

        isolation.find_obstacles = lambda: {**dict.fromkeys(isolation.LEVELS, "no"), "none": ""}
        slots.separates_uids = lambda: False

        class Thinks:
            name, trusted = "acme/thinker", False
            def reply(self, request):
                return ScriptedModel(["hm"]).reply(request)

        def pytest_chalk_make_model(config, name):
            return Thinks() if name == "acme/thinker" else None
        """,
    )
    monkeypatch.setenv("CHALK_SLOT_BASE", str(one.path / "slots"))

    refused = one.run_apart("--chalk-model=acme/thinker")
    allowed = one.run_apart("--chalk-model=acme/thinker", "--chalk-isolation=none")

    assert refused.ret == 1
    refused.stdout.fnmatch_lines(["*cannot be held*--chalk-isolation=none*"])
    assert allowed.ret == 0, allowed.stdout.str()
    assert one.run_record()["isolation"] == "none"
