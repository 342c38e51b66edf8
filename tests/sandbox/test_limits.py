"""What a student may use, and what happens to one that takes more."""

from __future__ import annotations

import os
import time

import pytest

from pytest_chalk import Contract, FileLimit, Hardware, get_resource_limits, limit_resources
from pytest_chalk.errors import TaskDefinitionError
from pytest_chalk.sandbox import Box, Command, isolation, run_as_student
from pytest_chalk.sandbox.process_table import living_of_uid
from pytest_chalk.sandbox.resources import default_limits, memory_bytes

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can hold a student")
HAS_ISOLATED = os.geteuid() == 0 and not isolation.isolated_obstacle()
LEVELS = ["isolated", "uid"] if HAS_ISOLATED else ["uid"]
MIB = 1024**2
TAKE_200_MIB = "import time; x = bytearray(200 << 20); x[::4096] = x[::4096]; time.sleep(30)"

PROCESSES = "awk '/processes/ { print $3 }' /proc/self/limits"

pytestmark = root_only


@pytest.fixture(params=LEVELS)
def level(request):
    return request.param


def test_outside_of_a_run_nothing_is_limited():
    assert limit_resources(memory_bytes=1) == {}
    assert get_resource_limits().memory_bytes is None


@pytest.mark.usefixtures("current_run")
def test_by_default_a_run_leaves_memory_to_others_and_has_2048_processes(box, sh, level):
    limits = get_resource_limits(uid=box.slot.student_uid)

    assert limits.memory_bytes == default_limits().memory_bytes < memory_bytes()
    assert limits.process_count == 2048
    assert sh(PROCESSES).stdout == b"2048\n"
    if level == "isolated":
        assert limits.file.count == 1_000_000


@pytest.mark.usefixtures("current_run")
def test_a_limit_says_what_it_is_worth_and_what_is_left_out_stays(box, sh):
    assert limit_resources(process_count=50) == {"processes": Contract.PREVENTED}
    assert limit_resources(memory_bytes=500 * MIB) == {"memory": Contract.REAPED}
    assert limit_resources(memory_bytes=None) == {}

    limits = get_resource_limits()
    assert (limits.memory_bytes, limits.process_count) == (None, 50)
    assert sh(PROCESSES).stdout == b"50\n"


@pytest.mark.usefixtures("current_run")
@pytest.mark.parametrize("wrong", [{"memory_bytes": 0}, {"process_count": -1}, {"uid": 0}])
def test_a_limit_that_cannot_be_is_the_authors_error(wrong):
    with pytest.raises(TaskDefinitionError, match="limit_resources"):
        limit_resources(**wrong)


@pytest.mark.usefixtures("current_run")
def test_more_processes_than_allowed_cannot_be_made(sh):
    limit_resources(process_count=20)

    done = sh("for i in $(seq 40); do sleep 20 & done 2>&1; echo end")

    assert b"fork" in done.stdout + done.stderr


@pytest.mark.usefixtures("current_run")
def test_whoever_takes_more_memory_than_allowed_is_killed_and_the_box_stays_usable(
    box, student_python, sh
):
    limit_resources(memory_bytes=100 * MIB)
    started = time.monotonic()

    process = box.launch(Command((student_python, "-c", TAKE_200_MIB)))

    assert process.wait(5) == -9
    assert time.monotonic() - started < 5
    assert living_of_uid([box.slot.student_uid]) == []
    assert sh("echo usable").stdout == b"usable\n"
    assert box.reaped == ["memory: 100 MiB were allowed"]


@pytest.mark.usefixtures("current_run")
def test_a_limit_holds_for_all_processes_together(box, student_python):
    limit_resources(memory_bytes=300 * MIB)

    both = [box.launch(Command((student_python, "-c", TAKE_200_MIB))) for _ in range(2)]

    assert [process.wait(5) for process in both] == [-9, -9]


@pytest.mark.usefixtures("current_run")
def test_shared_memory_counts_once(box, student_python):
    limit_resources(memory_bytes=300 * MIB)
    share = "import os, time; x = bytearray(150 << 20); os.fork(); os.fork(); time.sleep(0.8)"

    assert box.launch(Command((student_python, "-c", share))).wait(5) == 0


@pytest.mark.usefixtures("current_run")
def test_limits_end_with_the_run(box, sh):
    limit_resources(process_count=50, memory_bytes=MIB)

    box.reset()

    assert box.limits == default_limits()
    assert sh(PROCESSES).stdout == b"2048\n"


@pytest.mark.skipif(not HAS_ISOLATED, reason="needs a workdir of its own")
class TestFiles:
    @pytest.fixture
    def level(self):
        return "isolated"

    @pytest.mark.usefixtures("current_run")
    def test_size_and_number_of_files_are_kept_by_the_kernel(self, box, sh):
        limit = FileLimit(box.paths.workdir, bytes=8 * MIB, count=50)

        assert limit_resources(file=limit) == {"files": Contract.PREVENTED}

        assert b"No space" in sh("head -c 20000000 /dev/zero >data/big").stderr
        assert b"No space" in sh("rm data/big; for i in $(seq 60); do :>data/$i; done").stderr
        assert get_resource_limits().file.count == 50

    @pytest.mark.usefixtures("current_run")
    def test_files_in_tmp_can_be_limited_too(self, sh):
        assert limit_resources(file=FileLimit("/tmp/x", bytes=MIB)) == {"files": "prevented"}

        assert b"No space" in sh("head -c 3000000 /dev/zero >/tmp/big").stderr

    @pytest.mark.usefixtures("current_run")
    def test_a_limit_of_files_alone_is_no_matter_for_the_supervisor(self, box, sh):
        sh("true")
        asked = box._link._sequence

        limit_resources(file=FileLimit(box.paths.workdir, count=500))

        assert box._link._sequence == asked

    @pytest.mark.usefixtures("current_run")
    def test_files_elsewhere_cannot_be_limited(self):
        with pytest.raises(TaskDefinitionError, match="none of the student's folders"):
            limit_resources(file=FileLimit("/etc", bytes=MIB))

    @pytest.mark.usefixtures("current_run")
    def test_a_limit_of_files_ends_with_the_run_although_nothing_was_launched(self, box):
        limit_resources(file=FileLimit(box.paths.workdir, count=50))

        box.reset()

        assert get_resource_limits().file.count == 1_000_000

    @pytest.mark.usefixtures("current_run")
    def test_files_in_memory_count_as_memory(self, box, sh):
        limit_resources(memory_bytes=100 * MIB)
        process = box.launch(
            Command(("sh", "-c", "head -c 150000000 /dev/zero >data/big; sleep 30"))
        )

        assert process.wait(5) == -9


@pytest.mark.usefixtures("current_run")
def test_a_hardware_brings_its_processors_variables_and_memory(box):
    box.equip(Hardware(cpus=1, env={"ACCELERATOR": "on"}, memory_bytes=700 * MIB))

    done = run_as_student(
        box, ["sh", "-c", "nproc; echo $ACCELERATOR"], time_limit_s=5, max_output_bytes=99
    )

    assert done.stdout == b"1\non\n"
    assert get_resource_limits().memory_bytes == 700 * MIB
    box.reset()
    assert Box(box.slot).limits == box.limits


@pytest.mark.usefixtures("current_run")
def test_a_device_is_seen_by_an_isolated_student_if_its_hardware_names_it(box, sh, level):
    box.equip(Hardware(devices=("/dev/kmsg",)))

    assert b"kmsg" in sh("ls /dev").stdout
    box.reset()
    assert (b"kmsg" in sh("ls /dev").stdout) == (level == "uid")
