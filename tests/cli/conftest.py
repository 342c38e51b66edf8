"""The `project` fixture of the discovery tests: the command line is tested on the same projects."""

import runpy
from pathlib import Path

_SHARED = Path(__file__).parents[1] / "discovery" / "conftest.py"

project = runpy.run_path(str(_SHARED))["project"]
