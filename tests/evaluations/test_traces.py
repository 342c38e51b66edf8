"""Trace scorers see the spans of the call that made the row's output."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace as otel

from pytest_chalk.errors import EvaluationError
from pytest_chalk.evaluations import DatasetClient, Evaluation, Span, Trace, scorers

TRACER = otel.get_tracer("tests")


def column(run, name):
    return [row[name] for row in run.rows()]


def create(dataset, task, wanted):
    return Evaluation.create("n", dataset=dataset, task=task, scorers=wanted)


def asks(question):
    """Make as many spans of a model as the question has letters."""
    with TRACER.start_as_current_span("agent"):
        for letter in question:
            with TRACER.start_as_current_span("model") as span:
                span.set_attribute("llm.token_count.total", 10)
                span.set_attribute("letter", letter)
    return question


def count(trace):
    return [] if trace is None else len(trace.get_spans("model"))


def letters(trace, output):
    found = [span.attributes["letter"] for span in trace.get_spans("model")]
    return float("".join(found) == output)


def test_a_trace_scorer_sees_the_spans_of_its_rows_task_and_no_others(dataset):
    final = create(dataset, asks, [count, letters]).run().wait()

    assert column(final, "count_value") == [3.0, 3.0, 5.0, 4.0]
    assert column(final, "letters_value") == [1.0] * 4
    assert final.summary["telemetry"]["tokens"] == 150
    assert final.summary["telemetry"]["spans"] == 19


def test_spans_of_scorers_are_not_of_the_task(dataset):
    def noisy(output):
        with TRACER.start_as_current_span("model"):
            return 1.0

    final = create(dataset, asks, [noisy, count]).run().wait()

    assert column(final, "count_value") == [3.0, 3.0, 5.0, 4.0]


def test_a_trace_has_its_session_and_how_spans_belong_together(dataset):
    seen = {}

    def look(trace, question):
        seen[question] = trace
        return 1

    run = create(dataset, asks, [look]).run()
    run.wait()

    trace = seen["two"]
    assert trace.session_id == f"{run.id}:1"
    agent, *models = sorted(trace.spans, key=lambda span: span.name)
    assert {span.parent_id for span in models} == {agent.span_id}
    assert {span.trace_id for span in models} == {agent.trace_id}
    assert agent.attributes["session.id"] == trace.session_id
    assert trace.summary()["seconds"] >= models[0].duration_s >= 0
    assert [s.attributes["letter"] for s in trace.get_spans(attribute_filters={"letter": "w"})] == [
        "w"
    ]
    assert len(trace.get_spans("model", {"letter": None}, limit=2)) == 2


def test_a_span_made_in_a_thread_of_the_tasks_own_belongs_to_its_parents_session(dataset):
    def threaded(question):
        with TRACER.start_as_current_span("agent"):
            current = otel_context.get_current()

            def work():
                with TRACER.start_as_current_span("model", context=current):
                    pass

            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        return question

    final = create(dataset, threaded, [count]).run().wait()

    assert column(final, "count_value") == [1.0] * 4


def test_a_row_that_recorded_nothing_has_no_trace(dataset):
    def is_none(trace):
        return float(trace is None)

    final = create(dataset, lambda question: question, [is_none]).run().wait()

    assert column(final, "is_none_value") == [1.0] * 4
    assert "telemetry" not in final.summary


def test_a_rescore_with_copied_outputs_reads_the_spans_of_the_source(dataset):
    def sessions(trace, output):
        seen.append(trace.session_id)
        return len(trace.spans)

    seen = []
    run = create(dataset, asks, [scorers.exact_match()]).run().wait()

    rescored = run.rescore(scorers=[sessions]).wait()
    again = rescored.rescore(scorers=[count]).wait()

    assert sorted(seen) == [f"{run.id}:{row}" for row in range(4)]
    assert column(rescored, "sessions_value") == [4.0, 4.0, 6.0, 5.0]
    assert column(again, "count_value") == [3.0, 3.0, 5.0, 4.0]


def test_a_rescore_that_calls_the_task_reads_the_new_spans(dataset):
    def sessions(trace):
        seen.append(trace.session_id)
        return 1

    seen = []
    run = create(dataset, asks, [sessions]).run().wait()
    seen.clear()

    def other(question):
        return asks(question)

    target = create(dataset, other, [sessions])
    rescored = target.rescore(run)
    rescored.wait()

    assert sorted(seen) == [f"{rescored.id}:{row}" for row in range(4)]


def test_a_column_called_trace_is_a_column():
    dataset = DatasetClient().upload("t", [{"question": "a", "trace": "mine"}])

    def own(trace):
        return float(trace == "mine")

    final = create(dataset, asks, [own]).run().wait()

    assert column(final, "own_value") == [1.0]


def test_without_the_sdk_a_trace_scorer_is_refused_and_the_extra_named(dataset, monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)

    with pytest.raises(EvaluationError, match=r"pip install 'pytest-chalk\[otel\]'"):
        create(dataset, asks, [count])


def test_evaluating_without_trace_scorers_does_not_load_opentelemetry(tmp_path):
    code = """
import sys
from pytest_chalk.evaluations import DatasetClient, Evaluation, scorers, use_store
use_store("store")
dataset = DatasetClient().upload("d", [{"a": "x"}])
task = lambda a: a
made = Evaluation.create("e", dataset=dataset, task=task, scorers=[scorers.json_valid()])
made.run().wait()
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("attributes", "tokens"),
    [
        ({}, 0),
        ({"llm.token_count.total": "12"}, 12),
        ({"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 7}, 12),
        ({"llm.token_count.total": 3, "gen_ai.usage.input_tokens": 5}, 3),
        ({"llm.token_count.total": "many"}, 0),
    ],
)
def test_tokens_are_counted_where_instrumentations_put_them(attributes, tokens):
    span = Span("t", "s", None, "model", 1.0, 2.5, "ok", "client", attributes)

    summary = Trace("r:0", (span,)).summary()

    assert summary == {"spans": 1, "errors": 0, "tokens": tokens, "seconds": 1.5}
