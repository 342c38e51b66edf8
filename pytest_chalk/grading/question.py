"""One question to a model that grades: asked once more if the reply is no verdict."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_chalk.authoring.ports import ModelReply, ModelRequest
from pytest_chalk.errors import CassetteMissError, MachineError
from pytest_chalk.grading.rubric import compose_request
from pytest_chalk.grading.verdict import Verdict, parse_verdict

if TYPE_CHECKING:
    from pytest_chalk.authoring.ports import Model
    from pytest_chalk.schemas.frozen import Blame

MAX_SHOWN_CHARS = 200
"""Of a reply without a verdict, in the reason for the error."""


@dataclass(frozen=True)
class Answer:
    """What came of one question: a verdict, or why there is none and whose fault that is."""

    verdict: Verdict | None = None
    problem: str = ""
    blame: Blame = "machine"


@dataclass
class Question:
    """One question and every reply to it.

    Attributes:
        content: The work, as all questions show it.
        criterion: The statement about it.
        asked: Models: the one that is asked, and the one asked again if its reply is no verdict.
    """

    content: str
    criterion: str
    asked: tuple[Model, Model]
    replies: list[ModelReply] = field(default_factory=list)

    def ask(self, ends_s: float) -> Answer:
        """Ask until there is a verdict, or until `ends_s` of the monotonic clock."""
        for model, is_again in zip(self.asked, (False, True), strict=True):
            # Only now: a text holds the whole work, and most are asked once.
            nonce = f"DATA-{secrets.token_hex(16)}"
            messages = compose_request(self.content, self.criterion, nonce, is_again=is_again)
            left_s = max(0.001, ends_s - time.monotonic())
            try:
                reply = model.reply(ModelRequest(messages, (), time_limit_s=left_s))
            except MachineError as error:
                return Answer(problem=str(error))
            except CassetteMissError as error:
                return Answer(problem=str(error), blame="author")
            self.replies.append(reply)
            verdict = parse_verdict(reply.message.text)
            if verdict is not None:
                return Answer(verdict)
            if reply.finish_reason == "time_limit":
                break
        said = self.replies[-1].message.text
        return Answer(problem=f"no verdict in the reply {said[:MAX_SHOWN_CHARS]!r}")
