"""The code blocks of the task seeds, unchanged; without the seeds, the example tasks."""

import ast
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SEEDS = REPOSITORY.parent / "shared" / "seeds"
SCORING, TASKS = SEEDS / "000_55c2204565556ac2.txt", SEEDS / "001_736552523fc3b455.txt"

needs_seeds = pytest.mark.skipif(not SCORING.is_file(), reason="the seeds are not at hand")


def block(seed, first, after):
    """Return the text of `seed` from the line `first` up to the line that starts with `after`."""
    text = seed.read_text()
    start = text.index(first)
    return text[start : text.index("\n" + after, start)].strip() + "\n"


def minimal_task():
    if TASKS.is_file():
        return block(TASKS, "import re\n\nfrom chalk import Step, Task", "The student gets")
    return (REPOSITORY / "tasks/find_python/__init__.py").read_text()


def test_the_minimal_task_is_found_and_described(project):
    project.file("tasks/find_python/__init__.py", minimal_task())

    printed = project.python("print(list_tasks(settings))")

    assert "id='find-python', tools=('bash',)" in printed
    assert "errors=()" in printed


def test_the_first_example_task_is_the_minimal_task_plus_a_solution():
    written = ast.parse((REPOSITORY / "tasks/find_python/__init__.py").read_text())
    step = next(s for s in written.body if getattr(s, "name", "") == "FindPythonStep")
    step.body = [s for s in step.body if not isinstance(s, ast.Assign)]

    wanted = [ast.unparse(s) for s in ast.parse(minimal_task()).body]

    assert [ast.unparse(s) for s in written.body if ast.unparse(s) in wanted] == wanted


@needs_seeds
def test_the_step_with_a_submission_is_importable(project):
    step = block(
        SCORING, "import sys\nfrom pathlib import Path\n\nfrom chalk import Step", "The judge"
    )
    project.file("tasks/my_task/__init__.py", step)

    printed = project.python(
        """
        (package,) = find_task_packages(settings)
        module = import_task_package(package)
        from chalk.schemas.run_config import RunConfig
        print(module.MyStep(RunConfig.placeholder()).submission_paths[0].name)
        """
    )

    assert printed == "server.rs"


@needs_seeds
def test_a_judge_of_ones_own_evaluates_a_transcript(project):
    judge = block(SCORING, "from typing import override", "A judge can score from")
    project.file("tasks/mine/__init__.py", judge)

    printed = project.python(
        """
        (package,) = find_task_packages(settings)
        judge = import_task_package(package).FinalMessageJudge("42")
        from chalk.schemas.chat import Message
        from chalk.schemas.transcript import MessageAddedEvent, Transcript
        said = MessageAddedEvent(message=Message(content="it is 42", role="assistant"))
        print(judge.evaluate(Transcript(run_id="r", events=(said,))).score)
        """
    )

    assert printed == "1.0"


@needs_seeds
def test_the_seeds_scoring_script_is_that_of_the_example_task():
    script = block(SCORING, "import json\nimport sys\nfrom pathlib import Path\n", "RubricJudge")

    assert (REPOSITORY / "tasks/example_task/scoring_script.py").read_text() == script


@needs_seeds
def test_short_blocks_run(project):
    blocks = [
        block(SCORING, "from chalk.schemas.scoring import Scoring", "The run's score"),
        block(SCORING, "import re\n\nfrom chalk.judges import RegexJudge", "Every pattern"),
        "from chalk import save_submission",
    ]
    misbehaves = "path = 'x'\n" + block(
        SCORING, "from chalk import StudentMisbehaviorError", "The step scores 0"
    )

    printed = project.python(
        "\n".join(blocks),
        f"""
        import chalk
        try:
            exec({misbehaves!r})
        except chalk.StudentMisbehaviorError as error:
            print(error)
        """,
    )

    assert printed == "x is a symlink"
