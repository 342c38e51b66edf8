"""A disk that is full."""

from __future__ import annotations

import resource
from contextlib import contextmanager

import pytest


@pytest.fixture
def full_disk():
    """Return a context in which no file grows beyond so many bytes."""

    @contextmanager
    def limited(max_bytes):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (max_bytes, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited
