"""Data that a task wants mounted into its sandbox."""

from __future__ import annotations

from typing import Literal

from pytest_chalk.schemas.frozen import Frozen


class DataMount(Frozen):
    """A named, versioned data set at a path inside the box.

    Only a hosting backend mounts it. Here a run is an error where the path is not there already.
    """

    name: str
    version: str
    container_path: str
    mount_type: Literal["read"] = "read"
