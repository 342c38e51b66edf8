"""Datasets: what can be uploaded, what comes back, what is refused."""

from __future__ import annotations

import datetime as dt
import gc
import json
import sqlite3
import subprocess
import sys
import warnings

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_chalk.errors import DatasetError, EvaluationNotFoundError, MachineError
from pytest_chalk.evaluations import DatasetClient, DatasetRevisionRef, use_store
from pytest_chalk.store import duck
from pytest_chalk.store.database import Database

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(autouse=True)
def client(tmp_path):
    use_store(tmp_path / ".chalk")
    yield DatasetClient()
    use_store(None)


def round_trip(client, data, name="d"):
    return client.read(client.upload(name, data))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(values=st.lists(JSON, min_size=1, max_size=5))
def test_any_json_comes_back_as_it_was(client, values):
    found = [row["v"] for row in round_trip(client, [{"v": value} for value in values])]

    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {int, float}:  # numbers beside fractions are fractions
        assert found == values
    else:
        assert json.dumps(found) == json.dumps(values)


def test_rows_that_lack_columns_keep_all_columns(client):
    rows = [{"a": 1}, {"b": "x"}, {"a": 3, "c": [1]}]

    assert round_trip(client, rows) == [
        {"a": 1, "b": None, "c": None},
        {"a": None, "b": "x", "c": None},
        {"a": 3, "b": None, "c": [1]},
    ]


def test_a_mapping_of_columns_is_a_dataset_and_may_be_empty(client):
    assert round_trip(client, {"a": [1, 2], "b": ["x", None]})[1] == {"a": 2, "b": None}
    assert round_trip(client, {"a": [], "b": []}) == []


def test_dates_and_bytes_come_back_as_they_were(client):
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    row = {"day": dt.date(2026, 1, 2), "at": moment, "raw": b"\x00\xff"}

    assert round_trip(client, [row]) == [row]


def test_a_generator_of_rows_is_a_dataset(client):
    assert len(round_trip(client, ({"n": n} for n in range(3)))) == 3


def test_the_columns_of_a_csv_file_are_of_the_type_that_all_values_fit(client, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(
        "code,count,share,yes,mixed,gone,text\n"
        '007,1,1.5,true,1,,"a, ""b""\nc"\n'
        "012,-2,2,false,x,,NULL\n"
    )

    assert round_trip(client, path) == [
        {"code": "007", "count": 1, "share": 1.5, "yes": True, "mixed": "1", "gone": None,
         "text": 'a, "b"\nc'},
        {"code": "012", "count": -2, "share": 2.0, "yes": False, "mixed": "x", "gone": None,
         "text": "NULL"},
    ]  # fmt: skip


def test_json_lines_are_a_dataset_and_several_files_are_one(client, tmp_path):
    paths = [tmp_path / f"{n}.jsonl" for n in range(2)]
    for number, path in enumerate(paths):
        path.write_text(f'{{"n": {number}, "deep": {{"a": [1]}}}}\n\n{{"n": "{number}"}}\n')

    assert [row["n"] for row in round_trip(client, paths)] == [0, "0", 1, "1"]
    assert round_trip(client, str(paths[0]))[0]["deep"] == {"a": [1]}


def test_a_parquet_file_is_a_dataset(client, tmp_path):
    path = tmp_path / "data.parquet"
    pq.write_table(pa.Table.from_pylist([{"a": 1, "b": "y"}]), path)

    assert round_trip(client, path) == [{"a": 1, "b": "y"}]


def test_arrow_tables_and_data_frames_are_datasets_and_rows_become_them(client):
    columns = {"a": [1, None], "b": ["x", "y"]}
    rows = [{"a": 1, "b": "x"}, {"a": None, "b": "y"}]

    assert round_trip(client, pa.table(columns)) == rows
    assert round_trip(client, pd.DataFrame({"b": ["x", "y"]})) == [{"b": "x"}, {"b": "y"}]
    found = round_trip(client, rows)
    assert found.to_arrow().to_pylist() == rows
    assert found.to_pandas()["b"].tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ([], "no rows"),
        ({}, "no columns"),
        ([{}], "no columns"),
        ([{"a": 1}, 7], "row 1 is 7"),
        ([{"": 1}], "called ''"),
        ([{3: 1}], "called 3"),
        ([{"a": 1, "A": 2}], "'a' and 'A' clash"),
        ([{"File_Row_Number": 1}], "used to number rows"),
        ({"a": [1], "b": []}, "differ in length"),
        ([{"a": object()}], "column 'a', row 0"),
        ([{"a": {1, 2}}], "cannot be stored"),
        (7, "cannot be uploaded"),
        ("nowhere.csv", "no such file"),
    ],
)
def test_what_is_no_dataset_is_refused_with_its_reason(client, data, says):
    with pytest.raises(DatasetError, match=says):
        client.upload("d", data)
    with pytest.raises(EvaluationNotFoundError):
        client.read(DatasetRevisionRef(dataset_name="d"))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "a,b\n1,2,3\n", r"a\.csv:2.*3 fields and the header 2"),
        ("a.csv", "", "no columns"),
        ("a.csv", 'a\n"x', "no CSV"),
        ("a.jsonl", '{"a": 1}\n{"a": \n', r"a\.jsonl:2"),
        ("a.parquet", "no parquet", "cannot be read"),
        ("a.txt", "x", "kind is .txt"),
    ],
)
def test_a_file_that_cannot_be_read_names_its_place(client, tmp_path, name, text, says):
    path = tmp_path / name
    path.write_text(text)

    with pytest.raises(DatasetError, match=says):
        client.upload("d", path)


def damage(path, at):
    """Overwrite a part of a file that is not its footer."""
    content = bytearray(path.read_bytes())
    content[at : at + 60] = b"\xff" * 60
    path.chmod(0o600)
    path.write_bytes(content)


@pytest.mark.parametrize("at", [8, 1000])
def test_a_parquet_file_with_a_broken_page_is_refused_though_its_footer_is_whole(
    client, tmp_path, at
):
    path = tmp_path / "data.parquet"
    rows = [{"n": n, "text": f"text {n * 7919 % 1000}"} for n in range(2_000)]
    pq.write_table(pa.Table.from_pylist(rows), path)
    damage(path, at)

    with pytest.raises(DatasetError, match=r"data\.parquet.*cannot be read"):
        client.upload("d", path)
    with pytest.raises(EvaluationNotFoundError):
        client.read(DatasetRevisionRef(dataset_name="d"))


def test_a_file_of_the_store_that_is_damaged_is_the_machines_fault(client, tmp_path):
    ref = client.upload("d", [{"n": n, "text": f"text {n}"} for n in range(2_000)])
    (path,) = (tmp_path / ".chalk/datasets").iterdir()
    damage(path, 1000)

    with pytest.raises(MachineError, match="is damaged"):
        client.read(ref)


def test_a_second_upload_is_the_next_revision_and_the_first_stays(client):
    first = client.upload("d", [{"a": 1}])
    second = client.upload("d", [{"a": 2}])

    assert first.dataset_id == second.dataset_id
    assert first.revision_id != second.revision_id
    assert client.read(first) == [{"a": 1}]
    assert client.read(first.revision_id) == [{"a": 1}]
    assert client.read(DatasetRevisionRef(dataset_name="d")) == [{"a": 2}]


def test_the_same_content_is_the_same_revision_and_the_latest_again(client, tmp_path):
    first = client.upload("d", [{"a": 1}])
    client.upload("d", [{"a": 2}])

    assert client.upload("d", [{"a": 1}]) == first
    assert client.read(DatasetRevisionRef(dataset_name="d")) == [{"a": 1}]
    assert client.upload("other", [{"a": 1}]).revision_id != first.revision_id
    assert len(list((tmp_path / ".chalk/datasets").iterdir())) == 2


def test_a_file_that_is_gone_is_named(client, tmp_path):
    ref = client.upload("d", [{"a": 1}])
    for path in (tmp_path / ".chalk/datasets").iterdir():
        path.unlink()

    with pytest.raises(DatasetError, match="not there any more"):
        client.read(ref)


def test_without_duckdb_the_extra_is_named(client, monkeypatch):
    monkeypatch.setattr(duck, "_SHARED", {})
    monkeypatch.setitem(sys.modules, "duckdb", None)

    with pytest.raises(DatasetError, match=r"pip install 'pytest-chalk\[evaluations\]'"):
        client.upload("d", [{"a": 1}])


def test_what_is_kept_is_for_us_alone_and_not_for_git(client, tmp_path):
    client.upload("d", [{"a": 1}])

    base = tmp_path / ".chalk"
    assert base.stat().st_mode & 0o777 == 0o700
    assert "*" in (base / ".gitignore").read_text()
    modes = {path.stat().st_mode & 0o077 for path in base.rglob("*") if path.name != ".gitignore"}
    assert modes <= {0}


def test_a_store_that_nobody_has_any_more_is_closed_without_a_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        database = Database(tmp_path / "one")
        connection = database._connection
        del database
        gc.collect()

    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


FORK = """
import os
from pathlib import Path
from pytest_chalk.store.database import Database

database = Database(Path("one"))
if os.fork() == 0:
    with database.writing() as writer:
        writer.write("INSERT INTO workers VALUES ('child', 1)")
    raise SystemExit
print(os.waitstatus_to_exitcode(os.wait()[1]))
print([row["id"] for row in database.query("SELECT id FROM workers")])
"""


def test_a_forked_child_uses_a_connection_of_its_own(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-c", FORK], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert ran.stdout.splitlines() == ["0", "['child']"]
