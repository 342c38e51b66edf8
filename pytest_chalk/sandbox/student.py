"""Whose processes and files task code may ask to remove."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.errors import SlotError, TaskDefinitionError
from pytest_chalk.sandbox.current import find_run
from pytest_chalk.sandbox.slots import acquire_slot, has_slot, peek_slot, release_slot

if TYPE_CHECKING:
    from pytest_chalk.sandbox.layout import Slot


class StudentUidError(TaskDefinitionError, ValueError):
    """A uid that is not this process's student was to lose its processes or files."""


def slot_of_student(uid: int) -> Slot:
    """Return the slot whose student `uid` is: the current run's, else the one of this process.

    A process that has no slot yet takes the one that `uid` belongs to, so that the student of a
    worker that runs meanwhile is safe.

    Raises:
        StudentUidError: It is somebody else, perhaps the student of another worker.
        SlotError: Another process has that student just now.
    """
    run = find_run()
    slot = run.box.slot if run is not None else peek_slot()
    if uid != slot.student_uid:
        raise StudentUidError(
            "student uid",
            f"{uid!r} is not the student of this process",
            fix=f"Use STUDENT_UID, which is {slot.student_uid}",
        )
    if run is not None or has_slot():
        return slot
    taken = acquire_slot()
    if taken.number != slot.number:
        release_slot()
        message = f"uid {uid} is the student of another process just now. Try again later"
        raise SlotError(message)
    return taken
