"""Figures of runs by models over HTTP, against a provider on loopback."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from pytest_chalk import Step, Task, run_task
from pytest_chalk.judges import AlwaysPassJudge
from pytest_chalk.models.registry import make_model
from pytest_chalk.models.settings import ModelSettings
from pytest_chalk.runner.place import process_box
from pytest_chalk.schemas.chat import Function, ToolCall
from pytest_chalk.store.transcript_file import read_transcript
from pytest_chalk.tools.registry import Toolbox
from tests.benchmarks.measure import WITH_CHALK, cost_of, pytest_command, show

MOCK = Path(__file__).parents[1] / "models" / "mock_llm.py"
COMMAND = "echo hi"


class Work(Step):
    instructions = "Work."
    judge = AlwaysPassJudge()


class Turns(Task):
    id = "turns"
    system_prompt = "You work."
    tools = ("bash",)

    @property
    def steps(self) -> list[Step]:
        return [Work(config=self.config)]


class Held:
    """A provider's model that may run whoever we are: its commands are known."""

    trusted = True

    def __init__(self, name: str, url: str) -> None:
        model = make_model(f"openai/{name}", ModelSettings(base_url=url))
        assert model is not None
        self.name, self.reply = model.name, model.reply


@contextmanager
def provider() -> Iterator[str]:
    """Start the provider; yield its base URL."""
    command = [sys.executable, str(MOCK), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"{process.stdout.readline().strip()}/v1"
        finally:
            process.kill()


def mock_name(turns: int, **options: object) -> str:
    """Return a model that calls bash in all turns but its last."""
    given = {"tools": turns - 1, "cmd": COMMAND.replace(" ", "+"), **options}
    return "mock?" + "&".join(f"{name}={value}" for name, value in given.items())


def our_run(url: str, turns: int, directory: Path) -> tuple[float, float]:
    """Return the wall-clock and CPU seconds of a run of so many turns."""
    model = Held(mock_name(turns), url)
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    record = run_task(Turns, model=model, directory=directory)
    spent = time.perf_counter() - wall_s, time.process_time() - cpu_s
    assert (record.outcome, record.usage.turns) == ("passed", turns), record.reason
    return spent


class RawLoop:
    """What anybody would write: the same requests, streamed, the same tool, and nothing else."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/chat/completions"
        self._client = httpx.Client(timeout=60)
        box = process_box()
        self._toolbox = Toolbox.open("raw", ("bash",), box)
        schema = self._toolbox.schemas[0]
        self._tool = {
            "type": "function",
            "function": {
                "name": schema.name,
                "description": schema.description,
                "parameters": dict(schema.parameters),
            },
        }

    def run(self, turns: int) -> tuple[float, float]:
        """Return the wall-clock and CPU seconds of a conversation of so many turns."""
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": "You work."},
            {"role": "user", "content": "Work."},
        ]
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        taken = 0
        while True:
            said = self._ask(mock_name(turns), messages)
            messages.append(said)
            taken += 1
            if "tool_calls" not in said:
                break
            messages += [self._answer(made) for made in said["tool_calls"]]
        assert taken == turns
        return time.perf_counter() - wall_s, time.process_time() - cpu_s

    def _ask(self, model: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
        body = {
            "model": model,
            "stream": True,
            "stream_options": {"include_usage": True},
            "tools": [self._tool],
            "messages": messages,
        }
        text, calls = "", {}
        with self._client.stream("POST", self._url, json=body) as response:
            for line in response.iter_lines():
                if not line.startswith("data: ") or line == "data: [DONE]":
                    continue
                for choice in json.loads(line[6:])["choices"]:
                    delta = choice["delta"]
                    text += delta.get("content") or ""
                    for piece in delta.get("tool_calls") or ():
                        call = calls.setdefault(piece["index"], {"function": {"arguments": ""}})
                        function = piece["function"]
                        if "id" in piece:
                            call |= {"id": piece["id"], "type": "function"}
                            call["function"]["name"] = function["name"]
                        call["function"]["arguments"] += function["arguments"]
        said: dict[str, Any] = {"role": "assistant", "content": text}
        return {**said, "tool_calls": list(calls.values())} if calls else said

    def _answer(self, made: dict[str, Any]) -> dict[str, Any]:
        call = ToolCall(id=made["id"], function=Function(**made["function"]))
        answer = self._toolbox.answer(call, time_limit_s=None)
        return {"role": "tool", "tool_call_id": made["id"], "content": answer.text}

    def close(self) -> None:
        """Give up what it holds."""
        self._toolbox.close()
        self._client.close()
        process_box().reset()


def bench_turn(scratch: Path, *, quick: bool) -> None:
    """Compare what one more turn costs: a request, its reply and a call of bash.

    Both sides end the conversations they compare; the difference of a long and a short one leaves
    out what a run costs beside its turns.
    """
    few, many = 2, 12 if quick else 52
    with provider() as url:

        def marginal(run: Callable[[int], tuple[float, float]]) -> tuple[float, float]:
            short, long = run(few), run(many)
            return long[0] - short[0], long[1] - short[1]

        def ours(turns: int) -> tuple[float, float]:
            with tempfile.TemporaryDirectory(dir=scratch) as directory:
                return our_run(url, turns, Path(directory))

        def raw(turns: int) -> tuple[float, float]:
            loop = RawLoop(url)
            try:
                loop.run(1)  # its connection and its shell, as ours have theirs
                return loop.run(turns)
            finally:
                loop.close()

        ours(few), raw(few)
        pairs = [(marginal(ours), marginal(raw)) for _ in range(3 if quick else 15)]
    ours_s, raw_s = [a[0] for a, _ in pairs], [b[0] for _, b in pairs]
    middle = statistics.median(ours_s) / statistics.median(raw_s)  # a pair has noise on both sides
    show("agent turn / raw httpx loop", [middle], "x", "<= 1.2 x")
    show("  its CPU", [a[1] / b[1] for a, b in pairs], "x", "(no target)")
    turns = many - few
    show("  one turn of ours", [a[0] / turns * 1000 for a, _ in pairs], "ms", "(no target)")
    show("  one turn of the raw loop", [b[0] / turns * 1000 for _, b in pairs], "ms", "(no target)")


def bench_conversation(scratch: Path, *, quick: bool) -> None:
    long, short = (40, 4) if quick else (200, 20)
    with provider() as url:

        def cost(turns: int) -> float:
            with tempfile.TemporaryDirectory(dir=scratch) as directory:
                return our_run(url, turns, Path(directory))[0]

        cost(short)
        ratios = [cost(long) / cost(short) for _ in range(2 if quick else 7)]
    show(f"{long} turns in one conversation / {short}", ratios, "x", "<= 25 x")


def bench_transcript(scratch: Path, *, quick: bool) -> None:
    """Compare loading a transcript with reading its lines as JSON."""
    with provider() as url:
        our_run(url, 40, scratch)  # five events a turn
    path = scratch / "transcript.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)[:201]
    assert len(lines) == 201  # 200 events below the head
    path.write_bytes(b"".join(lines))
    repeats = 20 if quick else 200

    def seconds(act: Callable[[], object]) -> float:
        started_s = time.process_time()
        for _ in range(repeats):
            act()
        return time.process_time() - started_s

    def plainly() -> object:
        return [json.loads(line) for line in path.read_bytes().splitlines()]

    read_transcript(path), plainly()
    ratios = [seconds(lambda: read_transcript(path)) / seconds(plainly) for _ in range(9)]
    show("loading a transcript of 200 events / json.loads", ratios, "x", "<= 3 x")


RUN = """
from chalk import Step, Task
from chalk.judges import AlwaysPassJudge


class TheStep(Step):
    instructions = property(lambda self: "Work.")
    judge = property(lambda self: AlwaysPassJudge())


class Waits(Task):
    id = "waits"
    system_prompt = property(lambda self: None)
    tools = property(lambda self: ["bash"])
    steps = property(lambda self: [TheStep(config=self.config)])
"""


def bench_parallel(scratch: Path, *, quick: bool) -> None:
    """Compare many runs that wait with the least they can take: the waits, shared evenly.

    Start-up is what a session takes in which each worker makes one run of one turn. Below it the
    time from the start of the first run to the end of the last, which has what each worker imports
    for its first run in it. Each run sweeps the public directories: where /tmp holds thousands of
    folders that anybody may enter, that is what is measured.
    """
    runs, turns, latency_s, workers = 16 if quick else 64, 6, 0.05, 8
    (scratch / "tasks/waits").mkdir(parents=True)
    (scratch / "pytest.ini").write_text("[pytest]\n")
    (scratch / "tasks/waits/__init__.py").write_text(RUN)
    ideal_s = runs * turns * latency_s / workers
    ratios, spans = [], []
    with provider() as url:

        def session_s(count: int, name: str) -> float:
            options = (
                f"-n{workers}", f"--chalk-model=openai/{name}", f"--chalk-base-url={url}",
                f"--chalk-epochs={count}", "--chalk-allow-readable-tasks",
            )  # fmt: skip
            return cost_of(pytest_command(*WITH_CHALK, "-p", "xdist", *options), scratch).wall_s

        for _ in range(1 if quick else 5):
            start_s = session_s(workers, mock_name(1))
            whole_s = session_s(runs, mock_name(turns, latency_ms=latency_s * 1000))
            ratios.append((whole_s - start_s) / ideal_s)
            spans.append(_span_s(scratch / ".chalk/latest/journal.jsonl", runs) / ideal_s)
    what = f"{runs} runs of {turns} turns at {latency_s * 1000:.0f} ms, -n {workers} / ideal"
    show(what, ratios, "x", "<= 1.5 x")
    show("  from the first start to the last end", spans, "x", "(no target)")


def _span_s(journal: Path, runs: int) -> float:
    """Return the seconds between the first start and the last end of a session's runs."""
    entries = map(json.loads, journal.read_text().splitlines())
    records = [entry["record"] for entry in entries if entry["type"] == "run"]
    assert [record["outcome"] for record in records] == ["passed"] * runs
    starts = [datetime.fromisoformat(record["started_at"]).timestamp() for record in records]
    ends = [start + record["duration_s"] for start, record in zip(starts, records, strict=True)]
    return max(ends) - min(starts)
