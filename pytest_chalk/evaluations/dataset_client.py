"""Datasets: upload makes a revision, read gives its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.evaluations.defining import as_revision_ref, checked_text
from pytest_chalk.evaluations.place import current_place
from pytest_chalk.store.dataset_import import store_data
from pytest_chalk.store.dataset_rows import Rows

if TYPE_CHECKING:
    from pytest_chalk.evaluations.place import Place
    from pytest_chalk.schemas.evaluation import DatasetRevisionRef


class DatasetClient:
    """The datasets of a store."""

    def __init__(self) -> None:
        self._place = current_place()

    def upload(self, name: str, data: object) -> DatasetRevisionRef:
        """Store a dataset's next revision and return its reference.

        The same rows under the same name are the same revision, so a script can upload at each
        run. Rows may lack columns, which then are None.

        Args:
            name: Of the dataset, made if there is none.
            data: A list of dicts, a mapping of columns, a .csv, .jsonl or .parquet file (or
                several), a data frame, or an Arrow table.

        Raises:
            ValueError: The name is empty.
            DatasetError: The data cannot be stored; says which column and row.
            MachineError: The disk refuses.
        """
        name = checked_text("name", name)
        datasets = self._place.store.datasets
        return datasets.add_revision(name, store_data(datasets.files, data)).ref

    def read(self, revision: object) -> Rows:
        """Return the rows of a revision, given by reference, by id, or by a dataset's name.

        Raises:
            EvaluationNotFoundError: There is none.
        """
        return read_rows(self._place, revision)


def read_rows(place: Place, revision: object) -> Rows:
    """Return the rows of a revision of that store.

    Raises:
        EvaluationNotFoundError: There is none.
    """
    datasets = place.store.datasets
    ref = revision if isinstance(revision, str) else as_revision_ref(revision)
    found = datasets.get_revision(ref)
    values = datasets.files.read(found.digest, found.columns)
    names = found.names
    rows = [dict(zip(names, row, strict=True)) for row in values]
    return Rows(rows, names, str(datasets.files.path(found.digest)))
