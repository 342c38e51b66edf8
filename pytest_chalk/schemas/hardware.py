"""What a machine gives to a run that asks for a hardware by name."""

from __future__ import annotations

from pydantic import Field

from pytest_chalk.schemas.frozen import Frozen


class Hardware(Frozen):
    """What `pytest_chalk_resolve_hardware` answers for a name it knows.

    Attributes:
        memory_bytes: What all processes of the student may take; None for the default.
        disk_bytes: What its workdir may hold, at level `isolated`; None for the default.
        cpus: On how many processors its commands run; None for all.
        devices: Device nodes that it may see, for example `/dev/nvidia0`. Their modes decide
            whether it may open them.
        env: Variables added to the environment of its commands.
    """

    memory_bytes: int | None = Field(default=None, gt=0)
    disk_bytes: int | None = Field(default=None, gt=0)
    cpus: int | None = Field(default=None, gt=0)
    devices: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
