"""Rows of a revision, for Python and for those who hold tables otherwise."""

from __future__ import annotations

from typing import Any

from pytest_chalk.errors import DatasetError
from pytest_chalk.store.duck import duck, literal


class Rows(list[dict[str, Any]]):
    """The rows of a revision; `to_arrow` and `to_pandas` give them as others hold them.

    Attributes:
        names: The columns, in order.
    """

    def __init__(self, rows: list[dict[str, Any]], names: tuple[str, ...], path: str) -> None:
        super().__init__(rows)
        self.names, self._path = names, path

    def to_arrow(self) -> Any:  # noqa: ANN401 - pyarrow.Table, which is optional
        """Return a pyarrow table of what is stored.

        Raises:
            DatasetError: pyarrow is not installed.
        """
        try:
            import pyarrow.parquet  # noqa: PLC0415 - optional
        except ImportError as error:
            raise _missing("pyarrow") from error
        return pyarrow.parquet.read_table(self._path)

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas.DataFrame, which is optional
        """Return a pandas data frame of what is stored.

        Raises:
            DatasetError: pandas is not installed.
        """
        try:
            import pandas as pd  # noqa: F401, PLC0415 - optional
        except ImportError as error:
            raise _missing("pandas") from error
        return duck().execute(f"SELECT * FROM read_parquet({literal(self._path)})").df()


def _missing(name: str) -> DatasetError:
    problem = f"it needs {name}, which is not installed"
    return DatasetError(f"to_{name.removeprefix('py')}", problem, fix=f"pip install {name}")
