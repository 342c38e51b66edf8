"""A report on an outage, from its log, judged by a rubric.

The judge asks a model. What one said about the oracle's report is recorded in `cassettes`, so that
a run without a model for judges replays it.
"""

from pathlib import Path

from chalk import Step, Task
from chalk.judges import FileContext, RubricJudge
from environment.paths import SHARED_DATA_DIR, STUDENT_DATA_DIR
from environment.submissions import collect_submission
from environment.tasks.incident_report.log import log_text

LOG = SHARED_DATA_DIR / "shop.log"
REPORT = STUDENT_DATA_DIR / "report.md"

SOLUTION = f"""
cat > {REPORT} <<'END'
# Outage of the shop, 3 March 2025

**When.** From 09:47 UTC, when shop-2 was killed for lack of memory, to 10:31 UTC.

**Cause.** Release 4.2 (08:55) put sessions into a cache in the process. Nothing is ever removed
from it: it grows with every request (from 20,100 entries to 190,200 in 45 minutes), and the kernel
kills the process when it reaches the 2 GiB of its container. Restarts only begin that anew.

**Fix.** Give the session cache a bound and an expiry (for example 10,000 entries, 30 minutes), or
move sessions back to Redis. Until then stay on release 4.1, to which the shop was rolled back.
END
"""


class IncidentReport(Task):
    id = "incident-report"

    @property
    def system_prompt(self) -> str:
        return "You are an experienced engineer on call."

    @property
    def tools(self):
        return ["bash"]

    @property
    def steps(self):
        return [WriteReport(config=self.config)]

    def pre_hook(self):
        LOG.write_text(log_text())


class WriteReport(Step):
    name = "report"
    submission_paths = (REPORT,)
    pass_score = 0.8
    solution = SOLUTION
    saved: tuple[Path, ...] = ()

    @property
    def instructions(self) -> str:
        return (
            f"{LOG} is the log of an outage. Write a report of at most 200 words to {REPORT}: when "
            "the outage began and ended, its root cause, and what to do about it."
        )

    def pre_scoring_hook(self):
        self.saved = collect_submission(self.config, self.submission_paths)

    @property
    def judge(self):
        return RubricJudge(
            rubric=[
                {
                    "criterion": "The report names the session cache of release 4.2, from which "
                    "nothing is ever removed, as the root cause.",
                    "weight": 0.5,
                },
                {
                    "criterion": "The report proposes to bound or expire that cache, or to keep "
                    "sessions somewhere else.",
                    "weight": 0.3,
                },
                {
                    "criterion": "The report says that the outage began at 09:47 UTC.",
                    "weight": 0.2,
                },
            ],
            context=[FileContext([str(copy) for copy in self.saved])],
        )
