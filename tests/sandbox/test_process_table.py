from __future__ import annotations

from pytest_chalk.sandbox.process_table import ProcessEntry, parse_stat, plan_kill_newer

SUPERVISOR = 10


def table(*entries):
    """Entries are (pid, parent, start)."""
    return {
        pid: ProcessEntry(pid, parent, start, alive=True)
        for pid, parent, start in [(1, 0, 0), (SUPERVISOR, 1, 5), *entries]
    }


def planned(entries, since, keep=()):
    return sorted(entry.pid for entry in plan_kill_newer(entries, SUPERVISOR, since, keep))


def test_everything_below_the_supervisor_goes_and_nothing_else():
    entries = table((11, SUPERVISOR, 6), (12, 11, 7), (20, 1, 8))

    assert planned(entries, 0) == [11, 12]


def test_what_an_earlier_process_started_stays_but_not_what_the_shell_started():
    entries = table((11, SUPERVISOR, 6), (12, 11, 100), (13, SUPERVISOR, 6), (14, 13, 100))

    assert planned(entries, 50, keep=[11]) == [12]


def test_an_orphan_of_the_current_command_goes():
    entries = table((11, SUPERVISOR, 6), (12, SUPERVISOR, 100))

    assert planned(entries, 50, keep=[11]) == [12]


def test_a_kept_process_stays_also_when_it_is_new():
    entries = table((11, SUPERVISOR, 100), (12, 11, 101))

    assert planned(entries, 50, keep=[11]) == [12]


def test_a_circle_in_a_torn_table_does_not_hang():
    assert planned(table((11, 12, 100), (12, 11, 100)), 0) == []


def test_a_name_full_of_parentheses_does_not_confuse_the_parser():
    numbers = " ".join(["1"] * 15)
    text = f"42 (a) R 7 (x)) S 7 {numbers} 3 0 12345 0".encode()

    entry = parse_stat(42, text)

    assert (entry.parent, entry.start_ticks, entry.alive) == (7, 12345, True)


def test_a_zombie_is_dead_unless_it_still_has_threads():
    numbers = " ".join(["1"] * 15)

    states = [
        parse_stat(42, f"42 (x) {state} 7 {numbers} {threads} 0 9 0".encode()).alive
        for state, threads in (("Z", 1), ("Z", 2), ("X", 1), ("T", 1))
    ]

    assert states == [False, True, False, True]
