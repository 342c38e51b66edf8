"""The bash tool: a shell that lasts, limits that hold, output that can be read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_chalk.authoring.tool import ToolAnswer, ToolRefusalError
from pytest_chalk.sandbox import Box, Command, acquire_slot
from pytest_chalk.sandbox.resources import Limits
from pytest_chalk.tools.bash import MAX_OUTPUT_BYTES, BashTool

Bash = Callable[..., ToolAnswer]


@pytest.fixture
def box() -> Iterator[Box]:
    box = Box(acquire_slot())
    yield box
    box.close()


@pytest.fixture
def bash(box: Box) -> Iterator[Bash]:
    tool = BashTool(box)
    yield lambda command, limit_s=None, **more: tool.call(
        {"command": command, **more}, time_limit_s=limit_s
    )
    tool.close()


def test_state_survives_between_calls(bash: Bash):
    bash("cd data; x=5; export y=6; f() { echo called $1; }")

    assert bash("echo $x $y; f now; basename $PWD").text == "5 6\ncalled now\ndata"


def test_a_command_runs_as_the_student(bash: Bash, box: Box):
    assert bash("id -u").text == str(box.slot.student_uid)


@pytest.mark.parametrize(
    ("command", "code"),
    [("true", 0), ("false", 1), ("(exit 7)", 7), ("nonexistent_cmd_x", 127), ("if", 2)],
)
def test_the_exit_code_is_told_unless_it_is_0(bash: Bash, command: str, code: int):
    answer = bash(command)

    assert answer.details["exit_code"] == code
    assert (f"exit code {code}" in answer.text) is (code != 0)


def test_stderr_is_told_apart(bash: Bash):
    assert bash("echo out; echo err >&2").text == "out\n[stderr]\nerr"


def test_no_output_says_so(bash: Bash):
    assert bash("true").text == "[no output]"


def test_stdin_is_empty(bash: Bash):
    assert bash("cat; read line || echo nothing").text == "nothing"


def test_a_redirection_of_the_shells_own_output_lasts_one_command(bash: Bash):
    bash("exec > swallowed.txt")

    assert bash("echo heard").text == "heard"


def test_the_time_limit_kills_the_commands_tree_and_keeps_the_shell(bash: Bash):
    bash("x=kept; cd data")
    started = time.monotonic()

    answer = bash("echo before; setsid sleep 306 & (sleep 306; echo no) | cat", 0.5)

    assert time.monotonic() - started < 2
    assert answer.details["stdout"] == "before\n"
    assert "killed at its time limit of 0.5 s" in answer.text
    after = bash("echo $x; basename $PWD; pgrep -u $(id -u) -x sleep || echo none")
    assert after.details["stdout"] == "kept\ndata\nnone\n"


@pytest.mark.parametrize(
    "command",
    ["while :; do :; done", "for i in 1 2 3 4 5 6 7 8 9; do sleep 5; done; echo no", "f; echo no"],
)
def test_the_time_limit_ends_what_runs_in_the_shell_itself(bash: Bash, command: str):
    bash("x=kept; f() { while :; do sleep 0.1; done; }")

    answer = bash(command, 0.4)

    assert "killed at its time limit" in answer.text
    assert bash("echo $x").text == "kept"


def test_a_shell_that_refuses_to_come_back_is_replaced_and_that_is_said(bash: Bash):
    bash("trap '' USR1; x=lost")

    answer = bash("while :; do :; done", 0.3)

    assert "was restarted: its state is lost" in answer.text
    assert bash("echo [$x]").text == "[]"


def test_background_processes_of_earlier_calls_survive_a_time_limit(bash: Bash):
    bash("sleep 305 & echo $! > pid")
    time.sleep(0.05)

    bash("sleep 305.5", 0.3)

    assert bash("kill -0 $(cat pid) && echo alive").text == "alive"


def test_a_background_process_that_holds_the_output_does_not_delay(bash: Bash):
    started = time.monotonic()

    answer = bash("sleep 30 & echo done")

    assert answer.text == "done"
    assert time.monotonic() - started < 1


def test_a_background_process_that_writes_for_ever_does_not_delay(bash: Bash):
    started = time.monotonic()

    bash("yes & echo done")

    assert time.monotonic() - started < 10
    assert bash("kill %1 2>/dev/null; echo next").text.endswith("next")


def test_long_output_is_cut_in_the_middle_visibly(bash: Bash):
    answer = bash("echo first; head -c 30000000 /dev/zero | tr '\\0' x; echo; echo last")

    assert answer.text.startswith("first\n")
    assert answer.text.endswith("last")
    assert "bytes cut" in answer.text
    assert len(answer.text) < MAX_OUTPUT_BYTES + 200
    assert answer.details["truncated"]


def test_bytes_that_are_no_utf8_are_replaced(bash: Bash):
    assert bash(r"printf 'a\377b'").text == "a\ufffdb"


def test_a_command_that_exits_the_shell_gets_a_new_one(bash: Bash):
    first = bash("x=lost; exit 3")

    assert first.details["exit_code"] == 3
    assert "ended the shell" in first.text
    assert bash("echo [$x]").text == "[]"


def test_a_shell_killed_from_outside_is_replaced_and_that_is_said(bash: Bash, box: Box):
    bash("x=lost")
    box.kill_processes()

    answer = bash("echo [$x]")

    assert answer.text == "[]\n[The shell had ended; this is a new one.]"


def test_restart_ends_the_shell_and_its_background_processes(bash: Bash):
    bash("x=1; sleep 304 &")

    bash("", restart=True)

    assert bash("echo [$x]; pgrep -f 'sleep 304' || echo none").text == "[]\nnone"


def test_the_environment_holds_nothing_of_ours(bash: Bash, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET_API_KEY", "sk-canary")

    told = bash("env; cat /proc/$$/environ | tr '\\0' '\\n'").text

    assert "canary" not in told
    assert "HOME=" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "no command"),
        ({"command": "  "}, "no command"),
        ({"command": 3}, "no command"),
        ({"command": "a\0b"}, "NUL"),
        ({"command": "ls", "timeout_s": 0}, "above 0"),
        ({"command": "ls", "timeout_s": True}, "number"),
        ({"command": "ls", "timeout_s": float("inf")}, "above 0"),
        ({"command": "ls", "flags": 1}, "not flags"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(box: Box, arguments: dict, message: str):
    with pytest.raises(ToolRefusalError, match=message):
        BashTool(box).call(arguments, time_limit_s=1)


def test_a_calls_own_limit_stays_within_what_is_left(bash: Bash):
    started = time.monotonic()

    answer = bash("sleep 20", 0.3, timeout_s=10)

    assert time.monotonic() - started < 2
    assert "time limit of 0.3 s" in answer.text


def test_a_very_long_command_arrives_whole(bash: Bash):
    assert bash(f"x={'y' * 300_000}; echo ${{#x}}").text == "300000"


def test_tools_leave_no_descriptor_open(box: Box):
    def open_fds() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    tool = BashTool(box)
    tool.call({"command": "true"}, time_limit_s=5)
    tool.close()
    before = open_fds()
    for _ in range(5):
        tool = BashTool(box)
        tool.call({"command": "true"}, time_limit_s=5)
        tool.close()

    assert open_fds() == before


def test_a_kill_for_too_much_memory_is_told_once(bash: Bash, box: Box):
    box.limit(Limits(40 * 1024**2, 100))

    answers = [bash("x=$(head -c 100000000 /dev/zero | tr '\\0' x); sleep 20"), bash("true")]

    assert "[All processes were killed: too much memory: 40 MiB were allowed.]" in answers[0].text
    assert "memory" not in answers[1].text


def test_a_kill_for_too_much_memory_between_two_calls_is_told_with_the_next(bash: Bash, box: Box):
    box.limit(Limits(40 * 1024**2, 100))
    bash("(x=$(head -c 100000000 /dev/zero | tr '\\0' x); sleep 20) >/dev/null 2>&1 &")
    end = time.monotonic() + 10
    while not box.reaped and time.monotonic() < end:
        box.launch(Command(("sleep", "0.05"))).wait(5)

    texts = [bash("echo again").text for _ in range(3)]

    # The next call may come while they are still being killed, and then ends with them.
    assert "killed: too much memory" in texts[0]
    assert texts[-1] == "again"
