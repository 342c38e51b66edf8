"""A bug to fix in a small module; the tests that score it are never shown."""

from pathlib import Path

from chalk import Step, Task
from chalk.judges import HiddenTestsJudge
from environment.paths import STUDENT_DATA_DIR
from environment.submissions import collect_submission

HERE = Path(__file__).parent
MODULE = STUDENT_DATA_DIR / "ranges.py"

SOLUTION = f"""
sed -i 's/in ranges:/in sorted(ranges):/' {MODULE}
sed -i 's/first <= merged/first - 1 <= merged/' {MODULE}
sed -i 's/merged\\[-1\\]\\[0\\], last)/merged[-1][0], max(merged[-1][1], last))/' {MODULE}
cd {MODULE.parent} && python3 -c 'from ranges import merge; print(merge([(5, 6), (1, 9)]))'
"""


class FixRanges(Task):
    id = "fix-ranges"

    @property
    def system_prompt(self) -> str:
        return "You are a careful programmer working in a Linux shell."

    @property
    def tools(self):
        return ["bash"]

    @property
    def steps(self):
        return [Fix(config=self.config)]

    def pre_hook(self):
        MODULE.write_text((HERE / "ranges.py").read_text())
        MODULE.chmod(0o666)
        return {"module": MODULE.name}


class Fix(Step):
    name = "fix"
    submission_paths = (MODULE,)
    solution = SOLUTION
    saved: tuple[Path, ...] = ()

    @property
    def instructions(self) -> str:
        hint = "\n\nHint: try ranges out of order, and one inside another."
        return (
            f"{MODULE} does not do what it says: some calls return ranges that overlap, or that "
            "could be one. Fix it in place. Its functions keep their names and arguments; it is "
            "tested by calling them."
        ) + (hint if self.config.use_hints else "")

    def pre_scoring_hook(self):
        self.saved = collect_submission(self.config, self.submission_paths)

    @property
    def judge(self):
        (copy,) = self.saved
        return HiddenTestsJudge(tests=HERE / "hidden_tests.py", submission=copy)
