"""Scores one submission. Called with the saved copy and the file to write the score to.

Whatever goes wrong here, a missing file too, scores 0.
"""

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    submission_path, output_path = sys.argv[1], sys.argv[2]

    answer = Path(submission_path).read_text().strip()

    score = 1.0 if answer == "42" else 0.0

    Path(output_path).write_text(json.dumps({"score": score, "metadata": {"answer": answer}}))
