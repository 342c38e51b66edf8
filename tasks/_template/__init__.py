"""A starting point: one step whose answer is a file that a script scores.

Change what the student is told (`instructions`), what it hands in (`submission_paths`), how that is
scored (`scoring_script.py`) and how it is solved (`solution`). Then run `pytest` on this directory:
the task's own solution must pass, and doing nothing must fail.
"""

import sys
from pathlib import Path

from chalk import Step, Task
from chalk.judges import ExecutableJudge
from environment.paths import STUDENT_DATA_DIR
from environment.submissions import collect_submission


class MyTask(Task):
    """What the student sees, which tools it gets, and the steps its work is scored in."""

    id = "my-task"

    @property
    def system_prompt(self) -> str:
        """The system message; return None for none."""
        return "You are working in a Linux shell."

    @property
    def tools(self):
        """The names of the tools the student may call."""
        return ["bash"]

    @property
    def steps(self):
        """The steps in order. Always pass the config on: steps read it as `self.config`."""
        return [MyStep(config=self.config)]


class MyStep(Step):
    """One piece of work, scored on its own."""

    saved_submissions: tuple[Path, ...] = ()

    @property
    def submission_paths(self) -> tuple[Path, ...]:
        """Where the student writes what it hands in: absolute paths."""
        return (STUDENT_DATA_DIR / "answer.txt",)

    @property
    def instructions(self) -> str:
        """What the student is told."""
        return f"Write the sum of 19 and 23 to {self.submission_paths[0]}."

    def pre_scoring_hook(self):
        """Stop the student and copy its submission to where it cannot change it any more."""
        self.saved_submissions = collect_submission(self.config, self.submission_paths)

    @property
    def judge(self):
        """Score the saved copy, never the file the student wrote."""
        (answer,) = self.saved_submissions
        return ExecutableJudge(
            [
                sys.executable,
                "-m",
                "environment.tasks.my_task.scoring_script",
                str(answer),
                "score_output.txt",
            ]
        )

    @property
    def solution(self) -> str:
        """How the task is solved, as a shell script: proof that it can be."""
        return f"echo $((19 + 23)) > '{self.submission_paths[0]}'; echo done"
