"""Data mounts."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from pytest_chalk.schemas.data_mount import DataMount


def test_data_is_mounted_for_reading():
    mount = DataMount(name="corpus", version="2", container_path="/data/corpus")

    assert mount.mount_type == "read"


def test_no_data_is_mounted_for_writing():
    with pytest.raises(ValidationError, match="mount_type"):
        DataMount(name="corpus", version="2", container_path="/data", mount_type="write")
