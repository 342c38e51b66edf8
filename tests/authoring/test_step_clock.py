"""The time of a step."""

from __future__ import annotations

import time

from pytest_chalk.authoring.step_clock import StepClock


def started_ago(seconds, limit):
    return StepClock(limit_s=limit, started_s=time.monotonic() - seconds)


def test_without_a_limit_time_never_runs_out():
    clock = started_ago(10_000, None)

    assert clock.seconds_left() is None
    assert clock.find_hit() is None


def test_before_the_limit_the_rest_is_left():
    clock = started_ago(10, 30)

    assert 19 < clock.seconds_left() <= 20
    assert clock.find_hit() is None


def test_at_the_limit_nothing_is_left_and_the_hit_says_what_was_used():
    clock = started_ago(31.5, 30)

    hit = clock.find_hit()

    assert clock.seconds_left() == 0
    assert (hit.limit, hit.value, hit.unit) == ("step time", 30, "s")
    assert 31.5 <= hit.used < 40


def test_a_clock_starts_when_it_is_made():
    assert 29 < StepClock(limit_s=30).seconds_left() <= 30
