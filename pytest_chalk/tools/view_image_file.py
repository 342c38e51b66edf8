"""The `view_image_file` tool."""

from __future__ import annotations

import base64
from typing import Annotated

from pydantic import Field

from pytest_chalk.authoring.tool import ToolAnswer, ToolRefusalError
from pytest_chalk.tools.student_files import StudentFiles  # noqa: TC001 - read for the schema

MAX_IMAGE_BYTES = 3_932_160
"""3.75 MiB: as base64 text that is 5 MiB, the most that providers take of one image."""


def view_image_file(
    files: StudentFiles,
    file_path: Annotated[str, Field(description="Absolute, or relative to the home directory.")],
) -> ToolAnswer:
    """View an image: JPEG, PNG, GIF or WebP."""
    found = files.read(file_path, max_bytes=MAX_IMAGE_BYTES)
    kind = image_type(found.content)
    if kind is None:
        message = f"{found.path}: this is no JPEG, PNG, GIF or WebP image."
        raise ToolRefusalError(message)
    if found.is_longer:
        message = f"{found.path}: the image is larger than {MAX_IMAGE_BYTES / 1_048_576:g} MiB."
        raise ToolRefusalError(message)
    url = f"data:{kind};base64,{base64.b64encode(found.content).decode()}"
    return ToolAnswer(
        f"{found.path}: {kind}, {len(found.content)} bytes",
        details={"path": found.path, "media_type": kind, "bytes": len(found.content)},
        parts=[{"type": "image_url", "image_url": {"url": url}}],
    )


def image_type(content: bytes) -> str | None:
    """Return the media type of an image by its first bytes; its name may say anything."""
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp"
    return None
