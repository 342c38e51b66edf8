"""Providers that play what a test says, in this process and on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from pytest_chalk.authoring.ports import ModelRequest, ToolSchema
from pytest_chalk.models.anthropic_messages import AnthropicMessagesModel
from pytest_chalk.models.http import Door
from pytest_chalk.models.openai_chat import OpenAIChatModel
from pytest_chalk.models.settings import ModelSettings
from pytest_chalk.schemas.chat import Message

KEY = "sk-canary-0123456789"
KINDS = {"openai": OpenAIChatModel, "anthropic": AnthropicMessagesModel}
BASH = ToolSchema(
    "bash",
    "Run a command.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)


class Played:
    """A provider that gives one answer after another; the last one for ever.

    An answer is a response, an exception, or a callable that makes a response of the request. Waits
    are written down and not waited.
    """

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []
        self.waits = []
        self.door = Door(
            transport=httpx.MockTransport(self._answer),
            sleep=self.waits.append,
            uniform=lambda low, high: high,
        )

    def _answer(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            answer = answer(request)
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    def body(self, index=-1):
        return json.loads(self.requests[index].content)

    def model(self, prefix="openai", model_id="m", **settings):
        given = {"api_key": KEY, "base_url": "https://provider.test/v1", **settings}
        return KINDS[prefix](model_id, ModelSettings(**given), door=self.door)


def sse(*events, done=True):
    """A streamed reply."""
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    return httpx.Response(200, text="".join([*lines, "data: [DONE]\n\n" * done]))


def chunk(finish=None, **delta):
    """A chunk of the chat completions format."""
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def ask(text="hi", tools=(BASH,), **rest):
    """A request of one message."""
    return ModelRequest([Message(role="user", content=text)], tools, **rest)


SAID = {
    "openai": sse(chunk(content="done"), chunk(finish="stop")),
    "anthropic": sse(
        {"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "do"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ne"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
        done=False,
    ),
}  # fmt: skip
"""A model that says "done", in both formats."""


@pytest.fixture(scope="session")
def provider_process():
    """A provider on loopback; its URL."""
    script = Path(__file__).with_name("mock_llm.py")
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    yield process.stdout.readline().strip()
    process.kill()
    process.wait()
    process.stdout.close()


class Loopback:
    """The provider on loopback as a test uses it."""

    def __init__(self, url, client):
        self.url = url
        self.waits = []
        self._client = client
        self.door = Door(uniform=lambda low, high: min(high, 0.02))

    def model(self, prefix, query="", **settings):
        base_url = {"openai": f"{self.url}/v1", "anthropic": self.url}[prefix]
        given = ModelSettings(base_url=base_url, api_key=KEY, **settings)
        return KINDS[prefix](f"mock?{query}", given, door=self.door)

    def stats(self):
        return self._client.get(f"{self.url}/mock/stats").json()


@pytest.fixture(scope="session")
def control():
    """One client for all tests: to make one takes longer than what is asked."""
    with httpx.Client(trust_env=False) as client:
        yield client


@pytest.fixture
def loopback(provider_process, control, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    control.post(f"{provider_process}/mock/reset")
    provider = Loopback(provider_process, control)
    yield provider
    provider.door.close()
