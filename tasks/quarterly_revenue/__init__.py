"""Revenue per quarter from a CSV file whose orders crowd around the quarters' boundaries."""

import sys
from pathlib import Path

from chalk import Step, Task
from chalk.judges import ExecutableJudge
from environment.paths import SHARED_DATA_DIR, STUDENT_DATA_DIR
from environment.submissions import collect_submission
from environment.tasks.quarterly_revenue.orders import orders_csv

ORDERS = SHARED_DATA_DIR / "orders.csv"
REVENUE = STUDENT_DATA_DIR / "revenue.csv"

SOLUTION = f"""
python3 - <<'END'
import csv
from collections import defaultdict
from datetime import datetime, timezone
from decimal import Decimal

revenue = defaultdict(Decimal)
for order in csv.DictReader(open({str(ORDERS)!r})):
    moment = datetime.fromisoformat(order["placed_at"]).astimezone(timezone.utc)
    quarter = f"{{moment.year}}-Q{{(moment.month + 2) // 3}}"
    sign = dict(paid=1, refunded=-1, cancelled=0)[order["status"]]
    revenue[quarter] += sign * Decimal(order["amount"])
with open({str(REVENUE)!r}, "w") as table:
    print("quarter,revenue", file=table)
    for quarter in sorted(revenue):
        print(quarter, revenue[quarter], sep=",", file=table)
END
"""


class QuarterlyRevenue(Task):
    id = "quarterly-revenue"

    @property
    def system_prompt(self) -> str:
        return "You are a careful analyst working in a Linux shell."

    @property
    def tools(self):
        return ["bash"]

    @property
    def steps(self):
        return [SumUp(config=self.config)]

    def pre_hook(self):
        text = orders_csv()
        ORDERS.write_text(text)
        return {"orders": text.count("\n") - 1}


class SumUp(Step):
    name = "sum up"
    submission_paths = (REVENUE,)
    pass_score = 1.0
    solution = SOLUTION
    saved: tuple[Path, ...] = ()

    @property
    def instructions(self) -> str:
        hint = "\n\nHint: the offsets decide on which side of a boundary an order falls."
        return (
            f"{ORDERS} lists orders: placed_at (with a UTC offset), status and amount in euros. "
            "Write the revenue of each quarter, by calendar quarters in UTC, to "
            f"{REVENUE} with the header `quarter,revenue` and rows such as `2025-Q1,1234.50`, "
            "oldest first. A refunded order counts negative, a cancelled one not at all."
        ) + (hint if self.config.use_hints else "")

    def pre_scoring_hook(self):
        self.saved = collect_submission(self.config, self.submission_paths)

    @property
    def judge(self):
        (copy,) = self.saved
        script = "environment.tasks.quarterly_revenue.scoring_script"
        return ExecutableJudge([sys.executable, "-m", script, str(copy), "score.json"])
