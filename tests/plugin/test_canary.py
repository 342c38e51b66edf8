"""A key is in nothing that is written or shown, whatever a provider and a student do with it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from plugin.conftest import CANARY, Project, model

SNOOP = "env;cat /proc/*/environ /proc/*/cmdline;sleep 0.5".replace(" ", "+")
FAULTS = [401, 400, 200]


class Echo(BaseHTTPRequestHandler):
    """A provider that says the key back: in errors, and as if the model had said it."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        key = self.headers.get("x-api-key") or self.headers["authorization"]
        status = int(self.path.split("/")[1])
        said: dict = {"error": {"message": f"{key} is no good", "type": "x"}}
        if status == 200 and self.path.endswith("/chat/completions"):
            message = {"role": "assistant", "content": f"bananas {key}", "reasoning_content": key}
            said = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        elif status == 200:
            said = {"content": [{"type": "text", "text": f"bananas {key}"}],
                    "stop_reason": "end_turn"}  # fmt: skip
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def echo() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def written(project: Project) -> dict[str, str]:
    """Return every file of the project by its kind."""
    files = [p for p in project.path.rglob("*") if p.is_file() and p.suffix != ".pyc"]
    return {str(p.relative_to(project.path)): p.read_text(errors="replace") for p in files}


def assert_nowhere(project: Project, result: pytest.RunResult, *kinds: str) -> None:
    """Check that the key is nowhere, and that there was something to look into."""
    files = written(project)
    for kind in ("journal.jsonl", "report.xml", *kinds):
        assert any(Path(name).match(kind) for name in files), f"no {kind} among {list(files)}"
    holding = [name for name, text in files.items() if CANARY in text]
    assert (holding, CANARY in result.stdout.str() + result.stderr.str()) == ([], False)


class Arguments:
    """What the arguments of this machine's processes hold, looked at again and again."""

    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._over.wait(0.05):
            for file in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    self.seen.add(file.read_bytes())

    def __enter__(self) -> set[bytes]:
        self._thread.start()
        return self.seen

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


@pytest.mark.parametrize(("name", "workers"), [("openai/mock", "-n0"), ("anthropic/mock", "-n2")])
def test_a_student_that_looks_for_the_key_finds_it_nowhere(
    asking: Project, name: str, workers: str
):
    with Arguments() as seen:
        result = asking.run_apart(
            model(name, tools=1, cmd=SNOOP, text="bananas"), "-v", "-l", "--tb=long",
            "--chalk-cassette=record", workers,
        )  # fmt: skip

    assert result.ret == 0, result.stdout.str()
    (answer,) = [e["text"] for e in asking.events() if e["type"] == "tool_call_completed"]
    assert "HOME=" in answer
    assert [line for line in seen if b"--chalk-cassette=record" in line]
    assert [line for line in seen if CANARY.encode() in line] == []
    assert_nowhere(asking, result, "runs/*.jsonl", "cassettes/*.json")


@pytest.mark.parametrize("status", FAULTS)
@pytest.mark.parametrize("prefix", ["openai", "anthropic"])
def test_a_provider_that_says_the_key_back_is_not_quoted(
    asking: Project, monkeypatch: pytest.MonkeyPatch, echo: str, prefix: str, status: int
):
    monkeypatch.setenv("OPENAI_BASE_URL", f"{echo}/{status}")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"{echo}/{status}")

    result = asking.run(
        f"--chalk-model={prefix}/m", "-v", "-l", "--tb=long", "--chalk-cassette=record"
    )

    outcome = asking.run_record()["outcome"]
    assert outcome == ("passed" if status == 200 else "error"), result.stdout.str()
    assert "[key]" in json.dumps([asking.events(), asking.run_record()])
    assert_nowhere(asking, result, "runs/*.jsonl", *["cassettes/*.json"] * (status == 200))


def test_a_key_named_by_another_variable_is_hidden_too(
    asking: Project, monkeypatch: pytest.MonkeyPatch, echo: str
):
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("TEAM_THING", CANARY)
    asking.file(
        "conftest.py",
        f"""
        from pytest_chalk.models.registry import make_model
        from pytest_chalk.models.settings import ModelSettings

        def pytest_chalk_make_model(config, name):
            if name == "team/m":
                settings = ModelSettings(api_key="$TEAM_THING", base_url="{echo}/401")
                return make_model("openai/m", settings)
        """,
    )

    result = asking.run("--chalk-model=team/m", "-v", "-l", "--tb=long")

    record = asking.run_record()
    assert record["outcome"] == "error"
    assert "TEAM_THING" in record["reason"] + str(record["steps"])
    assert_nowhere(asking, result, "runs/*.jsonl")


def configured(project: Project, **fields: str) -> None:
    project.file("run.json", json.dumps(fields))


@pytest.mark.parametrize(
    ("prefix", "status"), [("openai", 401), ("openai", 200), ("anthropic", 401)]
)
def test_a_key_whose_variable_a_config_file_names_is_used_and_hidden(
    asking: Project, monkeypatch: pytest.MonkeyPatch, echo: str, prefix: str, status: int
):
    monkeypatch.delenv(f"{prefix.upper()}_API_KEY")
    monkeypatch.setenv(f"{prefix.upper()}_BASE_URL", f"{echo}/{status}")
    monkeypatch.setenv("TEAM_THING", CANARY)
    configured(asking, model=f"{prefix}/m", model_api_key="$TEAM_THING")

    result = asking.run(
        "--chalk-config=run.json", "-v", "-l", "--tb=long", "--chalk-cassette=record"
    )

    record = asking.run_record()
    assert record["outcome"] == ("passed" if status == 200 else "error"), result.stdout.str()
    # It was sent, for the server could say it back.
    assert "[key]" in json.dumps([asking.events(), record])
    assert status == 200 or "Set TEAM_THING" in record["reason"]
    assert_nowhere(asking, result, "runs/*.jsonl", *["cassettes/*.json"] * (status == 200))


def test_the_judges_model_of_a_config_file_has_a_key_of_its_own(
    asking: Project, monkeypatch: pytest.MonkeyPatch, echo: str
):
    asking.task(
        "one",
        """
        from chalk.judges import RubricJudge

        rubric = RubricJudge([{"criterion": "It is good.", "weight": 1}])
        One = task("one", step("work", rubric, solution="echo said"))
        """,
    )
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"{echo}/401")
    monkeypatch.setenv("JUDGE_THING", CANARY)
    configured(asking, rubric_judge_model="anthropic/m", rubric_judge_api_key="${JUDGE_THING}")

    result = asking.run("--chalk-config=run.json", "-v", "-l", "--tb=long")

    reason = asking.run_record()["reason"]
    assert ("[key]" in reason, "Set JUDGE_THING" in reason) == (True, True), reason
    assert_nowhere(asking, result, "runs/*.jsonl")


@pytest.mark.parametrize("field", ["model_api_key", "rubric_judge_api_key"])
def test_a_key_in_a_config_file_itself_is_refused_and_not_shown(asking: Project, field: str):
    configured(asking, **{field: CANARY})

    result = asking.run("--chalk-config=run.json", "-v", "-l", "--tb=long")

    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [f"*--chalk-config=run.json*has a {field} that is no name*$TEAM_KEY*"]
    )
    assert CANARY not in result.stdout.str() + result.stderr.str()


def test_a_key_of_a_config_file_goes_to_no_other_provider(
    asking: Project, monkeypatch: pytest.MonkeyPatch, echo: str
):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://api.anthropic.example")
    monkeypatch.setenv("TEAM_THING", CANARY)
    configured(asking, model="openai/m", model_api_key="$TEAM_THING")

    result = asking.run("--chalk-config=run.json", "--chalk-model=anthropic/m")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*'anthropic/m'*has no API key*Set ANTHROPIC_API_KEY*"])


def test_a_key_that_may_be_of_several_providers_is_a_usage_error(asking: Project):
    configured(asking, model_api_key="$TEAM_THING")

    result = asking.run(
        "--chalk-config=run.json", "--chalk-model=anthropic/m", "--chalk-model=openai/m"
    )

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*model_api_key, and the models are of anthropic, openai*"])


@pytest.mark.parametrize(
    ("fields", "students", "problem"),
    [
        (
            {"rubric_judge_api_key": "$TEAM_THING"},
            ["--chalk-judge-model=openai/m"],
            "rubric_judge_api_key and no rubric_judge_model. Name the model whose key it is",
        ),
        (
            {"model": "oracle", "model_api_key": "$TEAM_THING"},
            ["--chalk-model=openai/m"],
            "model_api_key and no model of a provider",
        ),
        (
            {"model_api_key": "$TEAM_THING"},
            ["--chalk-model=mine", "--chalk-model=oracle"],
            "model_api_key and no model of a provider",
        ),
    ],
)
def test_a_key_that_belongs_to_no_model_is_a_usage_error(
    asking: Project, fields: dict[str, str], students: list[str], problem: str
):
    configured(asking, **fields)

    result = asking.run("--chalk-config=run.json", *students)

    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*--chalk-config=run.json*has a {problem}*"])


@pytest.mark.parametrize("students", [[], ["--chalk-model=oracle", "--chalk-model=noop"]])
def test_a_key_in_the_file_keeps_nobody_from_students_who_need_none(
    asking: Project, students: list[str]
):
    configured(asking, model_api_key="$TEAM_THING")

    result = asking.run("--collect-only", "--chalk-config=run.json", *students)

    assert result.ret == 0


def test_a_variable_of_a_config_file_that_is_not_set_is_named(
    asking: Project, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.openai.example/v1")
    configured(asking, model="openai/m", model_api_key="$TEAM_THING")

    result = asking.run("--chalk-config=run.json")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*'openai/m'*has no API key*Set TEAM_THING*"])
