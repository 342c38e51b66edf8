from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_chalk.grading.hidden_tests import PHASES, find_tests, tally_reports

TOKEN, DECOY = "secret", "test_d.py::test_d"


def line(name, when, outcome, token=TOKEN):
    return json.dumps({"token": token, "id": name, "when": when, "outcome": outcome})


def lines(name, *, call="passed"):
    return [
        line(name, "setup", "passed"),
        line(name, "call", call),
        line(name, "teardown", "passed"),
    ]


def tally(*reports, expected=("t.py::test_a", "t.py::test_b"), decoy=True):
    start = [json.dumps({"token": TOKEN, "started": True})]
    decoys = lines(DECOY, call="failed") if decoy else []
    output = "\n".join([*start, *decoys, *(text for report in reports for text in report)])
    return tally_reports(output.encode(), TOKEN, expected, DECOY)


def test_tests_are_found_in_functions_classes_and_branches():
    source = """
import x
def test_a(): pass
async def test_b(): pass
def helper(): pass
def test_a(): pass
class TestC:
    def test_d(self): pass
    class TestE:
        def test_f(self): pass
    class Other:
        def test_no(self): pass
class NotThis:
    def test_no(self): pass
if x:
    def test_g(): pass
else:
    def test_h(): pass
try:
    def test_i(): pass
except Exception: pass
with x:
    def test_j(): pass
"""
    assert find_tests("t.py", source) == [
        f"t.py::{name}"
        for name in (
            *("test_a", "test_b", "TestC::test_d", "TestC::TestE::test_f"),
            *("test_g", "test_h", "test_i", "test_j"),
        )
    ]


def test_a_test_passes_when_all_its_phases_did():
    found = tally(lines("t.py::test_a"), lines("t.py::test_b"))

    assert (found.score, found.passed, found.forged, found.started) == (1.0, 2, None, True)


@pytest.mark.parametrize(
    ("reports", "verdict"),
    [
        ([], "missing"),
        ([line("t.py::test_a", "call", "passed")], "missing"),
        (lines("t.py::test_a", call="failed"), "failed"),
        (lines("t.py::test_a", call="skipped"), "skipped"),
        ([*lines("t.py::test_a")[:2], line("t.py::test_a", "teardown", "failed")], "failed"),
        ([line("t.py::test_a", when, "passed", token="guess") for when in PHASES], "missing"),
        ([*lines("t.py::test_a[1]"), *lines("t.py::test_a[2]")], "passed"),
        ([*lines("t.py::test_a[1]"), *lines("t.py::test_a[2]", call="failed")], "failed"),
        (lines("t.py::test_ab"), "missing"),
    ],
)
def test_anything_less_is_no_pass(reports, verdict):
    assert tally(reports, expected=["t.py::test_a"]).verdicts == {"t.py::test_a": verdict}


def test_an_expected_id_with_parameters_is_that_one_alone():
    found = tally(lines("t.py::test_a[1]"), expected=["t.py::test_a[1]", "t.py::test_a[2]"])

    assert found.verdicts == {"t.py::test_a[1]": "passed", "t.py::test_a[2]": "missing"}


def test_a_test_that_nobody_expected_is_named_and_does_not_count():
    found = tally(lines("t.py::test_a"), lines("t.py::test_z"))

    assert (found.unexpected, found.score) == (("t.py::test_z",), 0.5)


@pytest.mark.parametrize(
    ("reports", "decoy", "why"),
    [
        ([lines(DECOY)], False, "cannot pass"),
        ([lines("t.py::test_a")], False, "has to fail before them"),
        ([lines("t.py::test_a"), lines("t.py::test_a")], True, "more than once"),
        ([lines("t.py::test_a", call="failed"), lines("t.py::test_a")], True, "more than once"),
    ],
)
def test_reports_that_cannot_be_true_are_forged(reports, decoy, why):
    assert why in tally(*reports, decoy=decoy).forged


def test_without_the_line_of_the_start_pytest_did_not_start():
    assert tally_reports(b"", TOKEN, ["t.py::test_a"], DECOY).started is False


@given(st.binary(max_size=300), st.lists(st.sampled_from(["failed", "skipped", "passed"])))
def test_noise_changes_nothing(noise, outcomes):
    names = [f"t.py::test_{index}" for index in range(len(outcomes))] or ["t.py::test_0"]
    reports = [lines(name, call=out) for name, out in zip(names, outcomes, strict=False)]
    clean = "\n".join(text for report in reports for text in report).encode()
    noisy = noise.replace(b"{", b"") + b"\n" + clean + b"\n[1]\n{}\nnull\n" + b"[" * 5000

    found = tally_reports(noisy, TOKEN, names, DECOY)

    assert found.verdicts == tally_reports(clean, TOKEN, names, DECOY).verdicts
    assert 0 <= found.score <= 1
    assert found.passed == outcomes.count("passed")
