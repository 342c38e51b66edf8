"""Configs of tools: written for one run, read when the tool is made."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from pytest_chalk.errors import TaskDefinitionError
from pytest_chalk.tools.tool_base import ToolBase, ToolConfigWriter


class SearchConfig(BaseModel):
    limit: int = 5


class Search(ToolBase[SearchConfig]):
    config_schema = SearchConfig


@pytest.fixture(autouse=True)
def no_configs():
    ToolConfigWriter().clear()
    yield
    ToolConfigWriter().clear()


def test_without_a_config_the_defaults_hold():
    assert Search().config == SearchConfig(limit=5)


def test_a_tool_gets_what_was_written_under_its_class_name():
    assert Search().tool_name == "Search"

    ToolConfigWriter().write("Search", SearchConfig(limit=7)).write("Other", SearchConfig(limit=1))

    assert Search().config.limit == 7


def test_the_files_name_will_do_too():
    ToolConfigWriter().write(__name__.rpartition(".")[2], SearchConfig(limit=8))

    assert Search().config.limit == 8


def test_clear_forgets_what_was_written():
    ToolConfigWriter().write("Search", SearchConfig(limit=7))
    made_before = Search()

    ToolConfigWriter().clear()

    assert (Search().config.limit, made_before.config.limit) == (5, 7)


def test_a_tool_cannot_change_the_config_of_the_next():
    config = SearchConfig(limit=7)
    ToolConfigWriter().write("Search", config)

    Search().config.limit = 1
    config.limit = 2

    assert Search().config.limit == 7


def test_a_config_of_another_class_is_read_by_its_fields():
    class Copy(BaseModel):
        limit: int = 9

    ToolConfigWriter().write("Search", Copy())

    assert Search().config == SearchConfig(limit=9)


class Needy(ToolBase[Any]):
    class config_schema(BaseModel):  # noqa: N801
        key: str


def test_a_config_that_is_needed_and_missing_names_the_line_to_write():
    with pytest.raises(
        TaskDefinitionError, match=r"nothing wrote: key.*ToolConfigWriter\(\)\.write\('Needy'"
    ):
        Needy()


def test_a_config_that_does_not_fit_is_the_authors_to_mend():
    ToolConfigWriter().write("Needy", SearchConfig())

    with pytest.raises(TaskDefinitionError, match="does not fit: key"):
        Needy()


def test_a_tool_without_a_schema_is_told_to_have_one():
    class Bare(ToolBase[Any]):
        pass

    with pytest.raises(TaskDefinitionError, match="config_schema is None"):
        Bare()


def test_a_config_must_be_a_model():
    writer: Any = ToolConfigWriter()

    with pytest.raises(TaskDefinitionError, match=r"found \{'limit': 7\}"):
        writer.write("Search", {"limit": 7})
