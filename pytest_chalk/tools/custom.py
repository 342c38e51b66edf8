"""A tool of the author's, called: within its time, and whatever it raises."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_chalk.authoring.tool import ToolAnswer, ToolRefusalError
from pytest_chalk.errors import MachineError, TaskDefinitionError
from pytest_chalk.schemas.plain import plain
from pytest_chalk.schemas.record import Failure

if TYPE_CHECKING:
    from pytest_chalk.tools.tool_code import ToolCode

MAX_TEXT_CHARS = 100_000
"""Of an answer, about 25,000 tokens: head and tail of a longer one. More would crowd out the task,
and ten times as much no model takes."""

MAX_HUNG_CALLS = 3
"""Threads of one tool that may hang at a time. They cannot be ended, only left alone, and a model
that tries again and again would fill the process with them."""

CallUser: TypeAlias = Callable[[str, Callable[[], object]], object]
"""Calls code of an author at a named stage and returns what it returned, or a `Failure`. May raise
what is to end the run: a MachineError, or a StudentMisbehaviorError."""


def call_directly(_stage: str, code: Callable[[], object]) -> object:
    """Call code without a net: what it raises goes on."""
    return code()


class _Hung:
    """The tool did not come back in time."""


class CustomTool:
    """One custom tool of one run."""

    def __init__(self, code: ToolCode, call_user: CallUser) -> None:
        """Make the tool; a class is made now, after the task has configured its tools."""
        self.name = code.name
        self.description = code.signature.description
        self.parameters: Mapping[str, Any] = code.signature.parameters
        self._code, self._call_user = code, call_user
        is_class = isinstance(code.target, type)
        self._function: Callable[..., object] = code.target() if is_class else code.target
        self._left_alone: list[threading.Thread] = []

    @property
    def hung_calls(self) -> int:
        """How many calls were given up and still have not come back."""
        return sum(thread.is_alive() for thread in self._left_alone)

    def call(self, arguments: Mapping[str, Any], *, time_limit_s: float | None) -> ToolAnswer:
        """Carry out one call; what the tool raises is the answer.

        Raises:
            ToolRefusalError: Too many calls of this tool hang already.
            TaskDefinitionError: It returned what is no answer.
            MachineError: It raised one, or the machine failed it.
        """
        hung = self.hung_calls
        if hung >= MAX_HUNG_CALLS:
            message = f"{hung} calls of {self.name} have not come back; it cannot be called again."
            raise ToolRefusalError(message)
        own_s = self._code.time_limit_s
        limit_s = own_s if time_limit_s is None else min(own_s, time_limit_s)
        came = self._call_user(f"tool {self.name}", lambda: self._run(arguments, limit_s))
        if isinstance(came, Failure):
            return self._failed(came)
        if isinstance(came, _Hung):
            return ToolAnswer(
                f"Error: {self.name} did not come back within {limit_s:g} s and was given up.",
                is_error=True,
                details={"timed_out": True, "hung_calls": self.hung_calls},
            )
        if isinstance(came, ToolAnswer):
            return came
        where = f"tool {self.name!r} in {self._code.path}"
        raise TaskDefinitionError(
            where,
            f"returned {type(came).__name__}",
            fix="Return a str, a dict or a ToolAnswer",
        )

    def close(self) -> None:
        """Do nothing: calls that hang are left alone, in threads that end with the process."""

    def _run(self, arguments: Mapping[str, Any], limit_s: float) -> object:
        """Call the function in a thread of its own; return `_Hung` if it takes too long."""
        given = self._code.signature.bind(arguments)
        future: Future[object] = Future()
        context = copy_context()
        work = (future, lambda: context.run(_answer_of, self._function, given))
        thread = threading.Thread(target=_fulfil, args=work, daemon=True, name=f"tool {self.name}")
        thread.start()
        try:
            thread.join(limit_s)
        finally:
            if thread.is_alive():
                self._left_alone.append(thread)
        return future.result() if future.done() else _Hung()

    def _failed(self, failure: Failure) -> ToolAnswer:
        if failure.blame == "machine":
            message = f"tool {self.name!r}: {failure.message}"
            raise MachineError(message)
        refused = failure.exception_type == ToolRefusalError.__name__
        what = "" if refused else f"{failure.exception_type}: "
        details = {} if refused else {"traceback": failure.traceback}
        return ToolAnswer(
            _bounded(f"Error: {what}{failure.message}"), is_error=True, details=details
        )


def _fulfil(future: Future[object], work: Callable[[], object]) -> None:
    try:
        answer = work()
    except BaseException as error:  # noqa: BLE001 - raised again in the thread that asked
        future.set_exception(error)
    else:
        future.set_result(answer)


def _answer_of(function: Callable[..., object], arguments: Mapping[str, Any]) -> object:
    """Call the function and return its answer; what is none, as it is."""
    returned = function(**arguments)
    if inspect.isawaitable(returned):
        returned = asyncio.run(_awaited(returned))
    if isinstance(returned, ToolAnswer):
        return ToolAnswer(
            _bounded(returned.text),
            returned.is_error,
            details=returned.details,
            parts=returned.parts,
            answers=returned.answers,
        )
    if isinstance(returned, str):
        return ToolAnswer(_bounded(returned))
    if isinstance(returned, Mapping):
        told = {str(key): plain(value) for key, value in returned.items()}
        return ToolAnswer(_bounded(json.dumps(told, ensure_ascii=False, indent=1)), details=told)
    return returned


async def _awaited(awaitable: Any) -> object:  # noqa: ANN401 - whatever an author made
    return await awaitable


def _bounded(text: str) -> str:
    if len(text) <= MAX_TEXT_CHARS:
        return text
    head, tail = MAX_TEXT_CHARS * 3 // 4, MAX_TEXT_CHARS // 4
    return f"{text[:head]}\n[... {len(text) - head - tail} characters cut ...]\n{text[-tail:]}"
