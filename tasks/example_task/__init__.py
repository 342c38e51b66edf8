"""Two steps, a submission file, hints and a scoring script."""

import re
import sys
from pathlib import Path

from chalk import Step, Task
from chalk.judges import ExecutableJudge, RegexJudge
from environment.paths import SHARED_DATA_DIR, STUDENT_DATA_DIR
from environment.submissions import collect_submission

VERSION = "3.12.11"


class ExampleTask(Task):
    id = "example-task"

    @property
    def system_prompt(self) -> str:
        return "You are working in a Linux shell."

    @property
    def tools(self):
        return ["bash"]

    @property
    def steps(self):
        return [FindVersion(config=self.config), NameSeries(config=self.config)]

    def pre_hook(self):
        notes = SHARED_DATA_DIR / "notes.txt"
        notes.write_text(f"Build machine\ninterpreter: CPython {VERSION}\nowner: nobody\n")
        return {"notes": str(notes)}


class FindVersion(Step):
    """The answer is a file; a script scores the copy that was saved of it."""

    name = "find the version"
    saved_submissions: tuple[Path, ...] = ()

    @property
    def submission_paths(self) -> tuple[Path, ...]:
        return (STUDENT_DATA_DIR / "answer.txt",)

    @property
    def instructions(self) -> str:
        text = (
            f"A file in {SHARED_DATA_DIR} names a version of Python. Write that version, and "
            f"nothing else, to {self.submission_paths[0]}."
        )
        return f"{text}\nHint: grep -r CPython {SHARED_DATA_DIR}" if self.config.use_hints else text

    def pre_scoring_hook(self):
        self.saved_submissions = collect_submission(self.config, self.submission_paths)

    @property
    def judge(self):
        (answer,) = self.saved_submissions
        return ExecutableJudge(
            [
                sys.executable,
                "-m",
                "environment.tasks.example_task.scoring_script",
                str(answer),
                "score_output.txt",
            ]
        )

    @property
    def solution(self) -> str:
        return (
            f"sed -n 's/.*CPython //p' '{SHARED_DATA_DIR}/notes.txt' "
            f"> '{self.submission_paths[0]}'; echo done"
        )


class NameSeries(Step):
    """The answer is the student's final message."""

    name = "name the series"

    @property
    def instructions(self) -> str:
        return (
            "Which release series does that version belong to? Answer with `series: X.Y`, "
            "for example `series: 2.7`."
        )

    @property
    def judge(self):
        return RegexJudge([re.compile(r"series: 3\.12\b")])

    solution = "echo 'series: 3.12'"
