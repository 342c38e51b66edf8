"""Models of providers, from the option to the record, against a server on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
from plugin.conftest import CANARY, Project, model


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
@pytest.mark.parametrize("name", ["openai/mock", "anthropic/mock"])
def test_a_providers_model_works_on_a_task_with_tools(asking: Project, name: str, workers: str):
    result = asking.run_apart(model(name, tools=2, cmd="id+-u", text="bananas"), workers)

    assert result.ret == 0, result.stdout.str()
    record = asking.run_record()
    assert (record["outcome"], record["usage"]["turns"]) == ("passed", 3)
    assert record["usage"]["input_tokens"] > 0
    assert [e["type"] for e in asking.events()].count("tool_call_completed") == 2


@pytest.mark.parametrize("name", ["openai/mock", "anthropic/mock"])
def test_a_provider_that_fails_is_asked_again_and_each_retry_is_an_event(
    asking: Project, name: str
):
    result = asking.run(model(name, faults="429,500,ok", retry_after=0.2, text="bananas"))

    assert result.ret == 0, result.stdout.str()
    retries = [event for event in asking.events() if event["type"] == "retry"]
    assert [retry["attempt"] for retry in retries] == [1, 2]


def test_a_step_ends_at_its_limit_though_the_provider_trickles(asking: Project):
    option = model("openai/mock", faults="trickle", chunk=1, trickle_ms=300, text="bananas" * 50)

    result = asking.run(option, "--chalk-step-time-limit=2")

    record = asking.run_record()
    assert record["steps"][0]["limit"]["limit"] == "step time", result.stdout.str()
    assert record["duration_s"] < 4


def test_a_provider_that_stays_broken_is_an_error_and_no_score(asking: Project):
    asking.run(model("openai/mock", faults="badjson,badjson,badjson,badjson,badjson,badjson"))

    record = asking.run_record()
    assert (record["outcome"], record["score"]) == ("error", None)
    assert record["steps"][0]["failure"]["blame"] == "machine"


@pytest.mark.parametrize(
    ("name", "variable"),
    [("openai/gpt-x", "OPENAI_API_KEY"), ("anthropic/x", "ANTHROPIC_API_KEY")],
)
def test_a_missing_key_is_a_usage_error_that_names_the_variable(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str, variable: str
):
    project.task("one", 'One = task("one", step("work", Score(1)))')
    for known in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(known, raising=False)

    result = project.run(f"--chalk-model={name}")

    assert result.ret == 4
    assert variable in result.stderr.str()


def test_a_model_that_costs_money_must_be_named_on_the_command_line(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    project.task("one", 'One = task("one", step("work", Score(1)))')
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("CHALK_MODEL", "openai/gpt-x")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    refused = project.run()
    project.ini("chalk_allow_paid = true")
    allowed = project.run("--collect-only")

    assert refused.ret == 4
    refused.stderr.fnmatch_lines(["*CHALK_MODEL: 'openai/gpt-x' costs money*chalk_allow_paid*"])
    assert allowed.ret == 0


class Listener(BaseHTTPRequestHandler):
    """A provider that writes down what it is asked."""

    asked: ClassVar[list[dict]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append({"path": self.path, **body})
        message = {"role": "assistant", "content": "bananas"}
        said: dict = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        if self.path.endswith("/messages"):
            said = {"content": [{"type": "text", "text": "bananas"}], "stop_reason": "end_turn"}
        answer = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for variable in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    Listener.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Listener) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("prefix", "options", "sent"),
    [
        (
            "openai",
            ["--chalk-temperature=0.3", "--chalk-reasoning-effort=max"],
            {
                "temperature": 0.3,
                "seed": 7,
                "max_tokens": 99,
                "reasoning_effort": "high",
            },
        ),
        (
            "anthropic",
            ["--chalk-reasoning-effort=min"],
            {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 99 + 1024},
        ),
    ],
)
def test_what_is_asked_of_the_model_and_where_it_is_come_from_the_options(
    asking: Project, listener: str, prefix: str, options: list[str], sent: dict
):
    base, path, seed = {
        "openai": ("/v1", "/v1/chat/completions", ["--chalk-seed=7"]),
        "anthropic": ("", "/v1/messages", []),
    }[prefix]

    result = asking.run(
        f"--chalk-model={prefix}/m", f"--chalk-base-url={listener}{base}",
        "--chalk-max-tokens=99", *seed, *options,
    )  # fmt: skip

    assert result.ret == 0, result.stdout.str()
    (asked,) = Listener.asked
    assert (asked["path"], asked["model"]) == (path, "m")
    assert {field: asked.get(field) for field in sent} == sent


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--chalk-temperature=hot", "*number of at least 0*"),
        ("--chalk-seed=x", "*whole number*"),
        ("--chalk-max-tokens=0", "*at least 1*"),
        ("--chalk-base-url=ftp://x", "*"),
    ],
)
def test_settings_that_cannot_be_used_are_usage_errors(asking: Project, option: str, message: str):
    result = asking.run(model("openai/mock"), option)

    assert result.ret == 4
    result.stderr.fnmatch_lines([message])


def test_the_run_config_file_may_hold_the_models_settings(asking: Project):
    asking.file("run.json", json.dumps({"temperature": 0.2, "reasoning_effort": "min"}))

    assert asking.run(model("openai/mock", text="bananas"), "--chalk-config=run.json").ret == 0


def test_a_recorded_run_replays_offline_without_a_key(
    asking: Project, monkeypatch: pytest.MonkeyPatch
):
    option = model("openai/mock", tools=2, cmd="pwd", text="bananas")
    recorded = asking.run(option, "--chalk-cassette=record")
    first = [event["type"] for event in asking.events()]
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")

    replayed = asking.run(option, "--chalk-cassette=replay")

    assert recorded.ret == replayed.ret == 0, replayed.stdout.str()
    assert [event["type"] for event in asking.events()] == first
    (cassette,) = (asking.path / "tasks/one/cassettes").iterdir()
    assert "{WORKDIR}" in cassette.read_text()


def test_a_replay_of_changed_instructions_shows_the_difference_and_is_an_error(asking: Project):
    option = model("openai/mock", text="bananas")
    asking.run(option, "--chalk-cassette=auto", "--chalk-cassette-dir=kept")
    assert len(list((asking.path / "kept").iterdir())) == 1

    result = asking.run(
        option, "--chalk-cassette=auto", "--chalk-cassette-dir=kept",
        "--chalk-extra=extra_task_instructions=Hurry.",
    )  # fmt: skip

    assert asking.run_record()["outcome"] == "error"
    result.stdout.fnmatch_lines(["*-*Do work.*", "*+*Do work.*Hurry.*"])


def test_a_missing_recording_is_an_error_that_names_the_file(asking: Project):
    result = asking.run(model("openai/mock"), "--chalk-cassette=replay")

    assert asking.run_record()["outcome"] == "error"
    result.stdout.fnmatch_lines(["*cassettes/one-openai-mock*no such recording*"])


def test_a_model_that_could_read_the_task_is_refused_and_told_how_to_close_it(
    asking: Project, tmp_path_factory: pytest.TempPathFactory
):
    option = model("openai/mock", text="bananas")
    asking.file(
        "conftest.py",
        """
        from pytest_chalk.sandbox import isolation
        isolation.isolated_obstacle = lambda: "left out by a test"
        """,
    )
    opened = [path for path in (asking.path, *asking.path.parents) if path.stat().st_mode & 5 != 5]
    modes = {path: path.stat().st_mode for path in opened}
    for path in opened:
        path.chmod(0o755)
    try:
        refused = asking.run_apart(option)
        record = asking.run_record()
        allowed = asking.run_apart(option, "--chalk-allow-readable-tasks")
        scripted = asking.run_apart("--chalk-model=noop")
    finally:
        for path, mode in modes.items():
            path.chmod(mode)

    assert (record["outcome"], record["failure"]["stage"]) == ("error", "student")
    refused.stdout.fnmatch_lines(["*the student can read*chmod 700*--chalk-allow-readable-tasks*"])
    assert allowed.ret == 0, allowed.stdout.str()
    assert "error" not in scripted.parseoutcomes()
