"""`environment`: the student's folders, submissions, and the project's tasks (`environment.tasks`).

Directories of the same name without an `__init__.py` stay importable through it.
"""

from pkgutil import extend_path

from pytest_chalk.discovery import scoring_child as _scoring_child  # noqa: F401 - prepares a child

__path__ = extend_path(__path__, __name__)
