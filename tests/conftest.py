"""Fixtures of all tests."""

from __future__ import annotations

import os
import signal

pytest_plugins = ["pytester"]

os.environ.pop("PYTEST_ADDOPTS", None)  # it has said what it says of this pytest, not of inner ones

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what it puts into the background so, and the tests of interrupts inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
