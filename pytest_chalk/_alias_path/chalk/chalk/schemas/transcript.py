"""`chalk.schemas.transcript`: alias of `pytest_chalk.schemas.transcript`."""

from pytest_chalk.schemas.chat import Message, ToolCall
from pytest_chalk.schemas.scoring import Scoring
from pytest_chalk.schemas.transcript import (
    EVENT_ADAPTER,
    SCHEMA_VERSION,
    AnswersSubmittedEvent,
    BaseEvent,
    ErrorEvent,
    Event,
    LimitReachedEvent,
    MessageAddedEvent,
    ScoringEvent,
    StepCompletedEvent,
    StepStartedEvent,
    TaskCompletedEvent,
    TaskPreHookCompletedEvent,
    TaskStartedEvent,
    TokenUsageEvent,
    ToolCallCompletedEvent,
    ToolCallStartedEvent,
    Transcript,
)

__all__ = [
    "EVENT_ADAPTER",
    "SCHEMA_VERSION",
    "AnswersSubmittedEvent",
    "BaseEvent",
    "ErrorEvent",
    "Event",
    "LimitReachedEvent",
    "Message",
    "MessageAddedEvent",
    "Scoring",
    "ScoringEvent",
    "StepCompletedEvent",
    "StepStartedEvent",
    "TaskCompletedEvent",
    "TaskPreHookCompletedEvent",
    "TaskStartedEvent",
    "TokenUsageEvent",
    "ToolCall",
    "ToolCallCompletedEvent",
    "ToolCallStartedEvent",
    "Transcript",
]
