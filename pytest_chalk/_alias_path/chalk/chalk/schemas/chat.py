"""`chalk.schemas.chat`: alias of `pytest_chalk.schemas.chat`."""

from pytest_chalk.schemas.chat import (
    ChatCompletionMessageToolCall,
    Function,
    Message,
    Role,
    ToolCall,
)

__all__ = [
    "ChatCompletionMessageToolCall",
    "Function",
    "Message",
    "Role",
    "ToolCall",
]
