"""Options: one table for the command line, the environment and ini files.

This module is loaded in every pytest run, hence tuples and not dataclasses, which cost a
millisecond to make.

Precedence: command line, then `CHALK_<NOUN>`, then ini `chalk_<noun>`, then the default. Values are
read with their source, so that a report can say where a rule was set.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import argparse

    import pytest

Kind: TypeAlias = Literal["text", "list", "flag", "optional"]
"""`optional`: a flag that may have a value, then written with `=`."""

BARE = "changed"
"""What an optional flag means without a value."""


class OptionSpec(NamedTuple):
    """One setting. `ini_only` ones have no flag."""

    noun: str
    help: str
    metavar: str = ""
    kind: Kind = "text"
    ini_only: bool = False

    @property
    def flag(self) -> str:
        """For example `--chalk-turn-limit`."""
        return f"--chalk-{self.noun}"

    @property
    def ini(self) -> str:
        """For example `chalk_turn_limit`."""
        return f"chalk_{self.noun.replace('-', '_')}"

    @property
    def variable(self) -> str:
        """For example `CHALK_TURN_LIMIT`."""
        return self.ini.upper()

    def value_in(self, options: argparse.Namespace) -> list[str] | bool | None:
        """Return what argparse has for the flag."""
        found: list[str] | bool | None = getattr(options, self.ini, None)
        return found


ON_COMMAND_LINE = 2
"""The highest rank of a source."""


class Given(NamedTuple):
    """A setting as it was given: raw texts, and where."""

    texts: tuple[str, ...]
    source: str

    rank: int = 0
    """The higher wins: 2 command line, 1 environment, 0 ini file."""

    @property
    def text(self) -> str:
        """The last one given, as for any flag that is repeated."""
        return self.texts[-1]


SPECS = (
    OptionSpec("model", "student(s) to run; repeat for several (default: oracle)", "NAME", "list"),
    OptionSpec("epochs", "runs of each task per model, or auto:N to stop early (default: 1)", "N"),
    OptionSpec("judge-model", "model that rubric judges ask (default: the run's own)", "NAME"),
    OptionSpec("base-url", "where openai/... or anthropic/... models are asked", "URL"),
    OptionSpec("temperature", "sampling temperature of the student's model", "T"),
    OptionSpec("max-tokens", "tokens of one reply of the student's model", "N"),
    OptionSpec("seed", "sampling seed of the student's model", "N"),
    OptionSpec("reasoning-effort", "min, max, or a level as the provider calls it", "LEVEL"),
    OptionSpec("cassette", "recordings of models: off, replay, record, auto", "MODE"),
    OptionSpec("cassette-dir", "where recordings are (default: beside each task)", "DIR"),
    OptionSpec("config", "JSON run config; other flags override its fields", "FILE"),
    OptionSpec("extra", "extra_config entry; V is read as JSON, else as text", "K=V", "list"),
    OptionSpec("no-hints", "run with use_hints=False", kind="flag"),
    OptionSpec("token-limit", "tokens that all models of the session may use together", "N"),
    OptionSpec("usd-limit", "US dollars that all models of the session may cost together", "USD"),
    OptionSpec("prices", "JSON file of prices by model, in US dollars per million tokens", "FILE"),
    OptionSpec("turn-limit", "model turns per run", "N"),
    OptionSpec("step-time-limit", "seconds per step", "SECONDS"),
    OptionSpec(
        "on-limit", "score: judge the step as it stands; error: no score (default: score)", "WHAT"
    ),
    OptionSpec(
        "isolation",
        "the least that must hold the student: auto, isolated, uid, userns, none (default: auto)",
        "LEVEL",
    ),
    OptionSpec(
        "allow-readable-tasks",
        "run models although they can read the task packages",
        kind="flag",
    ),
    OptionSpec("keep-box", "keep the workdirs of runs that do not pass", kind="flag"),
    OptionSpec("pass-score", "score from which on a step passes (default: any above 0)", "MIN"),
    OptionSpec("gate", "each: every task must pass; mean: only the mean counts", "WHICH"),
    OptionSpec("fail-under", "fail if the mean score is lower; implies --chalk-gate=mean", "MIN"),
    OptionSpec(
        "min-scored", "share of planned runs that must be scored, 0..1 (default: 1)", "SHARE"
    ),
    OptionSpec(
        "progress",
        "seconds between two lines about a running task, off a terminal; or off (default: 30)",
        "SECONDS",
    ),
    OptionSpec("session-dir", "where results are kept (default: .chalk)", "DIR"),
    OptionSpec(
        "resume", "go on with the newest session: run what it has no verdict on", kind="flag"
    ),
    OptionSpec("session", "go on with this session", "ID"),
    OptionSpec(
        "rejudge",
        "judge the newest session's work again where judges have changed; =all: everywhere",
        "WHICH",
        kind="optional",
    ),
    OptionSpec("validate", "prove the tasks: solved, not passed idly, not cheated", kind="flag"),
    OptionSpec("estimate", "with --collect-only: say what it would take and cost", kind="flag"),
    OptionSpec("baseline", "scores to compare with: fail on a significant drop only", "FILE"),
    OptionSpec("update-baseline", "write the baseline anew from this session", kind="flag"),
    OptionSpec(
        "allow-paid", "let models that cost money be named outside the command line", ini_only=True
    ),
    OptionSpec("tasks", "directory of the task packages (default: tasks)", ini_only=True),
    OptionSpec("include", "ids of the only tasks to collect", kind="list", ini_only=True),
    OptionSpec("exclude", "ids of tasks to leave out", kind="list", ini_only=True),
    OptionSpec("aliases", "import names of the seeds: auto, first or off", ini_only=True),
    OptionSpec("keep-sessions", "how many sessions' results to keep (default: 10)", ini_only=True),
    OptionSpec("junit-steps", "a JUnit testcase per step (default: true)", ini_only=True),
    OptionSpec("junit-properties", "properties in JUnit testcases (default: true)", ini_only=True),
)
_BY_NOUN = {spec.noun: spec for spec in SPECS}


def add_options(parser: pytest.Parser) -> None:
    """Declare every option of the table."""
    group = parser.getgroup("chalk", "agent tasks (pytest-chalk)")
    for spec in SPECS:
        if not spec.ini_only and spec.kind == "flag":
            group.addoption(spec.flag, action="store_true", default=None, help=spec.help)
        elif spec.kind == "optional":
            group.addoption(
                spec.flag, nargs="?", const=BARE, metavar=spec.metavar, default=None, help=spec.help
            )
        elif not spec.ini_only:
            group.addoption(
                spec.flag, action="append", default=None, metavar=spec.metavar, help=spec.help
            )
        ini_type: Literal["args", "string"] = "args" if spec.kind == "list" else "string"
        parser.addini(spec.ini, spec.help, type=ini_type, default=None)


def write_out(args: list[str]) -> None:
    """Give bare optional flags their value: argparse would take the next argument for it."""
    bare = {spec.flag for spec in SPECS if spec.kind == "optional"}
    args[:] = [f"{argument}={BARE}" if argument in bare else argument for argument in args]


def find_given(
    config: pytest.Config, noun: str, options: argparse.Namespace | None = None
) -> Given | None:
    """Return a setting as it was given, or None.

    `options` stands for the command line before pytest has taken it over into `config`.
    """
    spec = _BY_NOUN[noun]
    if not spec.ini_only:
        from_line = config.getoption(spec.flag) if options is None else spec.value_in(options)
        if from_line:
            listed = from_line if isinstance(from_line, list) else [str(from_line).lower()]
            return Given(tuple(listed), spec.flag, ON_COMMAND_LINE)
    from_environment = os.environ.get(spec.variable)
    if from_environment:
        texts = from_environment.split() if spec.kind == "list" else [from_environment]
        return Given(tuple(texts), spec.variable, 1)
    from_ini = config.getini(spec.ini)
    if from_ini in (None, "", []):
        return None
    texts = list(from_ini) if isinstance(from_ini, (list, tuple)) else [str(from_ini)]
    return Given(tuple(str(text) for text in texts), f"ini {spec.ini}")


def any_flag(config: pytest.Config) -> bool:
    """Tell whether any flag of ours was typed. Not variables: a shell exports them everywhere."""
    return any(not spec.ini_only and config.getoption(spec.flag) for spec in SPECS)
