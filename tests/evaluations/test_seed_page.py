"""The seeds' page as one script, unchanged but for the ids."""

from __future__ import annotations

import pytest
from evaluations.conftest import printed_json, run_script
from evaluations.seed_page import EXAMPLE, SEED, seed_script

PAGES = {"seed": SEED, "example": EXAMPLE} if SEED.is_file() else {"example": EXAMPLE}

REPORT = """
if __name__ == "__main__":
    import json
    both = strict.rescore(run).wait()
    print(json.dumps({
        "queued": run.status == "pending" or str(run.status),
        "final": final.summary["scorers"],
        "rescored": rescored.wait().summary["scorers"],
        "both": both.summary["scorers"],
        "name": strict.name,
        "metadata": [evaluation.metadata, final.metadata],
        "suite": [e.name for e in suite.evaluations()],
        "outputs": [row["output"] for row in both.rows()],
        "outside": which_run("x"),
    }))
"""


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_the_page_runs_as_one_script_with_its_numbers(tmp_path, page):
    ran = run_script(tmp_path, seed_script(page) + REPORT)

    found = printed_json(ran)
    assert ran.stdout.splitlines()[0] == "pending"
    assert ran.stdout.splitlines()[1].startswith("succeeded DatasetRevisionRef(")
    assert found["final"]["valid-json"]["mean"] == 3 / 4
    for scores in (found["rescored"], found["both"]):
        assert (scores["valid-json"]["mean"], scores["valid-json"]["scored"]) == (3 / 4, 4)
        assert (scores["intent-match"]["mean"], scores["intent-match"]["scored"]) == (2 / 4, 4)
    assert found["name"] == "support-triage (rescored)"
    assert found["metadata"] == [{"owner": "support-eng"}, {"git_sha": "abc123"}]
    assert found["suite"] == ["support-triage (rescored)", "support-triage"]
    assert found["outputs"][3] in {"unclassified", "no idea"}
    assert found["outside"] == "None None"


def test_the_page_runs_twice_on_one_store(tmp_path):
    script = seed_script(EXAMPLE) + REPORT

    first, second = (printed_json(run_script(tmp_path, script)) for _ in range(2))

    assert second["rescored"] == first["rescored"]
    assert len(second["suite"]) == 4


def test_importing_definitions_writes_no_file(tmp_path):
    (tmp_path / "definitions.py").write_text(seed_script(EXAMPLE))

    ran = run_script(tmp_path, "import sys; sys.path.insert(0, '.')\nimport definitions\nprint(1)")

    assert ran.returncode == 0, ran.stderr
    assert not (tmp_path / ".chalk").exists()
