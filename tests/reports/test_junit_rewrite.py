"""The JUnit file: a testcase per task and per step, and counts that add up."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET

import pytest

from pytest_chalk.reports.junit import JunitCase, JunitStyle, address, rewrite_junit
from pytest_chalk.schemas.record import Failure, LeftOut, LimitHit, RunRecord, StepRecord, Usage

NODEID = "tasks/one/__init__.py::One[oracle]"
WRITTEN = '<testcase classname="tasks.one.__init__" name="One[oracle]" time="1.500">{}</testcase>'
PLAIN_TEST = '<testcase classname="tests.test_x" name="test_y" time="0.001" />'
BROKEN = Failure(
    stage="judge", blame="author", exception_type="KeyError", message="'x'", traceback="Traceback:"
)


def document(*testcases, properties=""):
    return ET.fromstring(
        '<testsuites name="pytest tests"><testsuite name="pytest" tests="9" failures="9" '
        f'errors="9" skipped="9">{properties}{"".join(testcases)}</testsuite></testsuites>'
    )


def step(index=0, outcome="passed", **fields):
    known = {"of": 3, "name": "explore", "score": 1.0, "continue_task": True, "duration_s": 0.25}
    return StepRecord(**known | {"index": index, "outcome": outcome} | fields)


def run(*steps, outcome="passed", **fields):
    known = {"run_id": "r", "task_id": "one", "model": "oracle", "duration_s": 1.0, "score": 1.0}
    return RunRecord(**known | {"steps": steps, "outcome": outcome} | fields)


def rewritten(root, *cases, suite_properties=None, **style):
    """Return the suite after rewriting and a round through a strict parser."""
    rewrite_junit(root, cases, suite_properties or {}, JunitStyle(**style))
    file = io.BytesIO()
    ET.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)
    suite = ET.fromstring(file.getvalue()).find("testsuite")
    assert suite is not None
    return suite


def names(suite):
    return [f"{case.get('classname')}::{case.get('name')}" for case in suite.iter("testcase")]


def tags(suite):
    """Return by testcase the verdict's tag; a testcase has one verdict at most."""
    found = []
    for case in suite.iter("testcase"):
        verdicts = [child.tag for child in case if child.tag in {"failure", "error", "skipped"}]
        assert len(verdicts) <= 1
        found.append(verdicts[0] if verdicts else "passed")
    return found


def properties(case):
    return {p.get("name"): p.get("value") for p in case.iterfind("properties/property")}


def test_a_task_is_followed_by_its_steps_in_order_and_then_by_what_followed_it():
    root = document(PLAIN_TEST, WRITTEN.format(""), PLAIN_TEST)
    record = run(step(0), step(1, name="report"), not_reached=("clean up",))

    suite = rewritten(root, JunitCase(NODEID, record))

    assert names(suite) == [
        "tests.test_x::test_y",
        "tasks.one::One[oracle]",
        "tasks.one.One[oracle]::1-explore",
        "tasks.one.One[oracle]::2-report",
        "tasks.one.One[oracle]::3-clean up",
        "tests.test_x::test_y",
    ]
    assert tags(suite) == ["passed"] * 4 + ["skipped", "passed"]


def test_counts_add_up_to_the_testcases():
    root = document(WRITTEN.format('<failure message="m" />'), PLAIN_TEST)
    failed = step(1, "failed", score=0.0, reason="score 0")
    record = run(step(0), failed, outcome="failed", not_reached=("third",))

    suite = rewritten(root, JunitCase(NODEID, record))

    counts = {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "5", "failures": "2", "errors": "0", "skipped": "1"}


@pytest.mark.parametrize(
    ("outcome", "tag"),
    [
        ("passed", "passed"),
        ("failed", "failure"),
        ("misbehaved", "failure"),
        ("error", "error"),
        ("not_run", "error"),
        ("skipped", "skipped"),
    ],
)
def test_each_outcome_has_its_tag(outcome, tag):
    record = run(step(outcome=outcome, reason="why"), outcome=outcome, reason="why")

    assert tags(rewritten(document(WRITTEN.format("")), JunitCase(NODEID, record))) == [tag, tag]


def test_a_failure_tells_the_reason_in_short_and_at_length():
    failed = step(0, "failed", score=0.0, reason="score 0\nbecause", metadata={"answer": "43"})
    record = run(failed, outcome="failed", reason="step 1: score 0", transcript="/t.jsonl")

    suite = rewritten(document(WRITTEN.format("")), JunitCase(NODEID, record))

    item, of_step = suite.iter("failure")
    assert item.get("message") == "step 1: score 0"
    assert of_step.get("message") == "score 0"
    assert "answer: 43" in of_step.text
    assert "transcript: /t.jsonl" in of_step.text


def test_what_pytest_wrote_about_the_failure_makes_place_for_ours():
    pytests = '<failure message="pytests own">long</failure><error message="too" />'
    record = run(step(0, "failed", reason="ours"), outcome="failed", reason="ours")

    suite = rewritten(document(WRITTEN.format(pytests)), JunitCase(NODEID, record))

    assert [verdict.get("message") for verdict in suite.iter("failure")] == ["ours", "ours"]
    assert list(suite.iter("error")) == []


def test_what_a_user_recorded_and_pytest_captured_is_kept_in_the_order_of_the_schema():
    inside = (
        '<properties><property name="mine" value="1" /></properties><system-out>said</system-out>'
    )
    record = run(step(), outcome="failed", reason="why")

    suite = rewritten(document(WRITTEN.format(inside)), JunitCase(NODEID, record))

    item = suite.find("testcase")
    assert [child.tag for child in item] == ["properties", "failure", "system-out"]
    assert properties(item)["mine"] == "1"
    assert item.find("system-out").text == "said"


def test_score_and_metadata_are_properties_of_the_step():
    scored = step(
        score=0.5,
        partial=True,
        metadata={"answer": "42", "list": [1, {"a": None}]},
        limit=LimitHit(limit="turns", value=3, used=3, unit="turns"),
    )

    suite = rewritten(document(WRITTEN.format("")), JunitCase(NODEID, run(scored, score=0.5)))

    item, of_step = suite.iter("testcase")
    assert properties(item)["score"] == "0.5"
    assert properties(of_step) == {
        "chalk.outcome": "passed",
        "score": "0.5",
        "chalk.partial": "true",
        "chalk.limit": "turns limit of 3 turns reached after 3 turns",
        "metadata.answer": "42",
        "metadata.list": '[1, {"a": null}]',
    }


def test_usage_and_place_are_properties_of_the_task():
    usage = Usage(turns=3, input_tokens=10, output_tokens=2)
    record = run(step(), usage=usage, isolation="uid", transcript="/t.jsonl")

    suite = rewritten(document(WRITTEN.format("")), JunitCase(NODEID, record))

    assert properties(suite.find("testcase")) == {
        "chalk.nodeid": NODEID,
        "chalk.task_id": "one",
        "chalk.model": "oracle",
        "chalk.outcome": "passed",
        "score": "1.0",
        "chalk.turns": "3",
        "chalk.input_tokens": "10",
        "chalk.output_tokens": "2",
        "chalk.isolation": "uid",
        "chalk.transcript": "/t.jsonl",
    }


@pytest.mark.parametrize("outcome", ["error", "not_run"])
def test_what_was_not_measured_has_no_score_even_if_the_record_has_one(outcome):
    broken = step(0, outcome, score=1.0, reason="why", failure=BROKEN)
    record = run(broken, outcome=outcome, score=1.0, reason="why")

    suite = rewritten(document(WRITTEN.format("")), JunitCase(NODEID, record))

    assert all("score" not in properties(case) for case in suite.iter("testcase"))


def test_of_several_attempts_only_the_last_stays():
    first = WRITTEN.format('<failure message="first attempt" />')
    root = document(first, PLAIN_TEST, WRITTEN.format(""))

    suite = rewritten(root, JunitCase(NODEID, run(step())))

    assert names(suite) == [
        "tests.test_x::test_y",
        "tasks.one::One[oracle]",
        "tasks.one.One[oracle]::1-explore",
    ]
    assert suite.get("failures") == "0"


def test_a_task_that_pytest_never_reported_is_appended():
    record = run(step(), outcome="not_run", reason="the session ended", not_reached=("second",))

    suite = rewritten(document(PLAIN_TEST), JunitCase(NODEID, record))

    assert names(suite)[1:] == [
        "tasks.one::One[oracle]",
        "tasks.one.One[oracle]::1-explore",
        "tasks.one.One[oracle]::2-second",
    ]
    assert tags(suite) == ["passed", "error", "passed", "skipped"]


def test_a_task_without_a_record_keeps_what_pytest_wrote():
    inside = '<skipped message="xfail" type="pytest.xfail" />'

    suite = rewritten(document(WRITTEN.format(inside)), JunitCase(NODEID, None))

    assert names(suite) == ["tasks.one::One[oracle]"]
    assert suite.find("testcase/skipped").get("type") == "pytest.xfail"
    assert suite.get("skipped") == "1"


def test_a_teardown_that_failed_is_an_error_and_the_steps_keep_their_verdicts():
    record = run(step(0, "failed", reason="score 0"), outcome="failed", reason="score 0")
    case = JunitCase(NODEID, record, teardown_error="fixture exploded")

    suite = rewritten(document(WRITTEN.format("")), case)

    assert tags(suite) == ["error", "failure"]
    assert "fixture exploded" in suite.find("testcase/error").text
    assert "score 0" in suite.find("testcase/error").text


def test_captured_output_goes_where_it_was_written():
    case = JunitCase(NODEID, run(step(0), step(1)), output={-1: "of the task", 1: "of step 2"})

    suite = rewritten(document(WRITTEN.format("")), case)

    assert [c.findtext("system-out") for c in suite.iter("testcase")] == [
        "of the task",
        None,
        "of step 2",
    ]


def test_times_add_up_to_that_of_the_run():
    record = run(step(duration_s=0.25), step(1, duration_s=0.5), duration_s=1.0)

    suite = rewritten(document(WRITTEN.format("")), JunitCase(NODEID, record))

    assert [case.get("time") for case in suite.iter("testcase")] == ["0.250", "0.250", "0.500"]


def test_without_steps_the_task_stands_for_the_whole_run():
    record = run(step(0, "failed", reason="why"), outcome="failed", reason="why", duration_s=2.0)

    suite = rewritten(document(WRITTEN.format("")), JunitCase(NODEID, record), steps=False)

    assert names(suite) == ["tasks.one::One[oracle]"]
    assert suite.find("testcase").get("time") == "2.000"
    assert tags(suite) == ["failure"]


def test_without_properties_there_are_none_of_ours():
    suite = rewritten(
        document(WRITTEN.format("")),
        JunitCase(NODEID, run(step())),
        suite_properties={"chalk.session": "s"},
        properties=False,
    )

    assert list(suite.iter("property")) == []


def test_properties_of_the_suite_join_those_that_are_there():
    there = '<properties><property name="ARCH" value="x" /></properties>'

    suite = rewritten(
        document(PLAIN_TEST, properties=there), suite_properties={"chalk.session": "s\x00"}
    )

    assert properties(suite) == {"ARCH": "x", "chalk.session": r"s\x00"}
    assert suite[0].tag == "properties"


def test_a_suite_without_properties_gets_them_first():
    suite = rewritten(document(PLAIN_TEST), suite_properties={"chalk.session": "s"})

    assert [child.tag for child in suite] == ["properties", "testcase"]


def test_a_prefix_of_junit_prefix_is_found_and_kept():
    root = document(WRITTEN.format("").replace("tasks.one", "ci.nightly.tasks.one"))

    suite = rewritten(root, JunitCase(NODEID, run(step())))

    assert names(suite) == [
        "ci.nightly.tasks.one::One[oracle]",
        "ci.nightly.tasks.one.One[oracle]::1-explore",
    ]


@pytest.mark.parametrize("prefix", ["", "ci."])
def test_a_task_whose_path_ends_like_another_ones_is_not_mistaken_for_it(prefix):
    other = WRITTEN.replace("tasks.one", f"{prefix}sub.tasks.one").format("")
    root = document(other, WRITTEN.replace("tasks.one", f"{prefix}tasks.one").format(""))
    ours = JunitCase(NODEID, run(step(), outcome="failed", reason="ours"))
    theirs = JunitCase(f"sub/{NODEID}", run())

    suite = rewritten(root, theirs, ours)

    assert names(suite) == [
        f"{prefix}sub.tasks.one::One[oracle]",
        f"{prefix}tasks.one::One[oracle]",
        f"{prefix}tasks.one.One[oracle]::1-explore",
    ]
    assert tags(suite) == ["passed", "failure", "passed"]


def test_hostile_text_everywhere_is_still_xml():
    hostile = "a\udcff\x00\x1b[31m ]]> <&\"' \ufffe\n\tb"
    failed = step(0, "failed", name=hostile, reason=hostile, metadata={hostile: hostile})
    record = run(failed, outcome="failed", reason=hostile, not_reached=(hostile,))
    case = JunitCase(NODEID, record, output={-1: hostile, 0: hostile}, teardown_error=hostile)

    suite = rewritten(document(WRITTEN.format("")), case)

    assert tags(suite) == ["error", "failure", "skipped"]


def test_a_long_value_is_cut_in_a_property():
    suite = rewritten(
        document(WRITTEN.format("")),
        JunitCase(NODEID, run(step(metadata={"stdout": "x" * 60_000}))),
    )

    (_, of_step) = suite.iter("testcase")
    assert len(properties(of_step)["metadata.stdout"]) <= 4_000


def test_a_bare_testsuite_is_rewritten_too():
    root = document(WRITTEN.format("")).find("testsuite")

    rewrite_junit(root, [JunitCase(NODEID, run(step()))], {}, JunitStyle())

    assert root.get("tests") == "2"


def test_a_document_without_a_suite_is_left_alone():
    root = ET.fromstring("<testsuites />")

    rewrite_junit(root, [JunitCase(NODEID, run(step()))], {}, JunitStyle())

    assert list(root) == []


@pytest.mark.parametrize(
    ("nodeid", "classname", "name"),
    [
        (NODEID, "tasks.one.__init__", "One[oracle]"),
        ("tasks/one.py::One", "tasks.one", "One"),
        ("tasks/one.py::Group::One[a/b.py::c]", "tasks.one.Group", "One[a/b.py::c]"),
        ("tasks/a[1].py::One", "tasks.a[1]", "One"),
        ("tasks/one.py::One[a\x00b]", "tasks.one", r"One[a\x00b]"),
        ("tasks/one.py", "", "tasks.one"),
    ],
)
def test_a_node_id_is_filed_where_pytest_files_it(nodeid, classname, name):
    assert address(nodeid) == (classname, name)


def test_ten_thousand_tasks_are_rewritten_in_linear_time():
    root = document(*(WRITTEN.replace("one", f"t{n}").format("") for n in range(10_000)))
    cases = [JunitCase(NODEID.replace("one", f"t{n}"), None) for n in range(10_000)]

    rewrite_junit(root, cases, {}, JunitStyle())

    assert root.find("testsuite").get("tests") == "10000"


def test_tasks_stand_in_planned_order_whichever_worker_reported_first():
    ids = [NODEID.replace("One", name) for name in ("A", "B", "C")]
    written = [WRITTEN.replace("One", name).format("") for name in ("C", "A")]

    suite = rewritten(
        document(written[0], PLAIN_TEST, written[1]), *(JunitCase(i, run()) for i in ids)
    )

    assert [name.rpartition("::")[2] for name in names(suite)] == [
        "A[oracle]",
        "test_y",
        "B[oracle]",
        "C[oracle]",
    ]


def test_what_pytest_did_not_write_is_made_as_it_would_have_written_it():
    skip = LeftOut(kind="pytest.skip", reason="no GPU", text="tasks/one.py:3: no GPU")
    case = JunitCase(NODEID, None, left_out=skip, properties=[("host", "a\x00")], duration_s=0.0126)

    (element,) = rewritten(document(), case).iter("testcase")

    assert ET.tostring(element, encoding="unicode") == (
        '<testcase classname="tasks.one" name="One[oracle]" time="0.013"><properties>'
        '<property name="host" value="a\\x00" /></properties>'
        '<skipped type="pytest.skip" message="no GPU">tasks/one.py:3: no GPU</skipped></testcase>'
    )
