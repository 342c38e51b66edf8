"""Datasets by name, and their revisions."""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict
from typing import TYPE_CHECKING

from pytest_chalk.errors import EvaluationNotFoundError
from pytest_chalk.schemas.evaluation import Column, DatasetRevisionRef, Revision
from pytest_chalk.store.stamps import as_text, new_id, now

if TYPE_CHECKING:
    from pytest_chalk.store.database import Database
    from pytest_chalk.store.dataset_files import DatasetFiles, StoredFile


class DatasetCatalog:
    """Which file holds which revision of which dataset.

    Attributes:
        files: The files.
    """

    def __init__(self, database: Database, files: DatasetFiles) -> None:
        self._database, self.files = database, files

    def add_revision(self, dataset_name: str, stored: StoredFile) -> Revision:
        """Make a stored file the latest revision of a dataset, which is made if missing.

        The same content under the same name is the same revision.
        """
        columns = json.dumps([asdict(column) for column in stored.columns])
        with self._database.writing() as writer:
            writer.write(
                "INSERT OR IGNORE INTO datasets (id, name, latest) VALUES (?, ?, '')",
                (new_id(), dataset_name),
            )
            found = writer.query("SELECT id FROM datasets WHERE name = ?", (dataset_name,))
            dataset_id = str(found[0]["id"])
            content = f"{dataset_id} {stored.digest} {columns}"
            revision_id = str(uuid.uuid5(uuid.NAMESPACE_OID, content))
            writer.write(
                "INSERT OR IGNORE INTO revisions VALUES (?, ?, ?, ?, ?, ?)",
                (revision_id, dataset_id, stored.digest, columns, stored.n_rows, as_text(now())),
            )
            writer.write("UPDATE datasets SET latest = ? WHERE id = ?", (revision_id, dataset_id))
        ref = DatasetRevisionRef(dataset_id, revision_id, dataset_name)
        return Revision(ref, stored.digest, stored.columns, stored.n_rows)

    def get_revision(self, ref: DatasetRevisionRef | str) -> Revision:
        """Return a revision, by reference or by its id; a name alone means its latest.

        Raises:
            EvaluationNotFoundError: There is none.
        """
        if isinstance(ref, str):
            condition, value = "r.id = ?", ref.strip()
        elif ref.revision_id:
            condition, value = "r.id = ?", ref.revision_id
        else:
            condition, value = "d.name = ? AND r.id = d.latest", str(ref.dataset_name)
        row = self._database.query_one(
            "SELECT r.*, d.name AS dataset_name FROM revisions r "
            f"JOIN datasets d ON d.id = r.dataset_id WHERE {condition}",
            (value,),
        )
        if row is None:
            raise EvaluationNotFoundError("dataset revision", value)
        columns = tuple(Column(**column) for column in json.loads(row["columns"]))
        found = DatasetRevisionRef(row["dataset_id"], row["id"], row["dataset_name"])
        return Revision(found, row["digest"], columns, row["n_rows"])
