"""The ledger of cells: what was committed comes back, whatever range of rows is asked for."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_chalk.schemas.evaluation import CellColumn
from pytest_chalk.store.cell_ledger import TRACED, CellLedger, Chunk
from pytest_chalk.store.database import Database

N_ROWS = 12
CELLS = st.dictionaries(
    st.tuples(st.integers(0, N_ROWS - 1), st.integers(0, 2)),
    st.tuples(
        st.none() | st.floats(allow_nan=False) | st.text() | st.lists(st.integers(), max_size=2),
        st.none() | st.text(),
        st.none() | st.text(),
    ),
    max_size=20,
)


@pytest.fixture
def ledger(tmp_path):
    database = Database(tmp_path)
    with database.writing() as writer:
        writer.write("INSERT INTO chunks (run_id, start, stop) VALUES ('unused', 0, 1)")
    return CellLedger(tmp_path, database)


def as_columns(cells):
    columns = {}
    for (row, position), (value, error, metadata) in cells:
        columns.setdefault(position, CellColumn()).add(row, value, error, metadata)
    return columns


def hold(ledger, run_id, owner):
    with ledger._database.writing() as writer:
        writer.write(
            "INSERT INTO chunks (run_id, start, stop, state, owner) VALUES (?, 0, ?, 'leased', ?)",
            (run_id, N_ROWS, owner),
        )
    return [Chunk(0, N_ROWS)]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cells=CELLS, cut=st.integers(0, 20), start=st.integers(0, N_ROWS), count=st.integers(0, 6))
def test_cells_that_were_committed_come_back_by_range(ledger, cells, cut, start, count):
    run_id = str(hash((tuple(cells), cut, start, count)))
    listed = list(cells.items())
    held = hold(ledger, run_id, "me")
    for part in (listed[:cut], listed[cut:]):
        ledger.commit(run_id, "me", as_columns(part), held=held)

    found = ledger.cells(run_id, start, start + count)

    wanted = {key: cell for key, cell in cells.items() if start <= key[0] < start + count}
    assert {(c.row, c.position): (c.value, c.error, c.metadata) for c in found} == wanted
    assert len(found) == len(wanted)
    with ledger._database.writing() as writer:
        writer.write("DELETE FROM cells")
        writer.write("DELETE FROM chunks")


def test_the_kinds_of_outputs_are_known_without_reading_cells(ledger):
    held = hold(ledger, "run", "me")

    ledger.commit("run", "me", as_columns([((0, 0), (1, None, None))]), held=held)
    ledger.commit("run", "me", as_columns([((1, 0), ("x", None, "[]"))]), held=held)
    ledger.commit("run", "me", as_columns([((1, 1), ([], None, "{}"))]), held=held)

    assert ledger.kinds("run") == {"i", "s", TRACED}


def test_cells_of_a_chunk_that_was_lost_are_left_to_others(ledger):
    columns = as_columns([((0, 0), (1, None, None)), ((5, 0), (2, None, None))])

    ledger.commit("run", "me", columns, held=[Chunk(0, 3)])  # nobody holds it any more

    assert [cell.row for cell in ledger.cells("run", 0, N_ROWS)] == [5]
