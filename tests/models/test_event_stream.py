"""Reading a body that arrives in any pieces."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from pytest_chalk.models.event_stream import EventStream

BODY = b': ping\r\n\r\nevent: a\ndata: {"x": 1}\n\ndata:{"y": "\xc3\xa9"}\r\n\r\ndata: [DONE]\n\n'


def read(chunks):
    stream = EventStream()
    found = [payload for piece in chunks for payload in stream.feed(piece)]
    return [*found, *filter(None, [stream.last()])], stream


@given(st.lists(st.integers(0, len(BODY)), max_size=8))
def test_events_do_not_depend_on_where_the_network_cuts(cuts):
    edges = [0, *sorted(cuts), len(BODY)]

    payloads, stream = read([BODY[a:b] for a, b in itertools.pairwise(edges)])

    assert payloads == [b'{"x": 1}', b'{"y": "\xc3\xa9"}', b"[DONE]"]
    assert stream.whole() is None


def test_one_object_is_a_whole_reply():
    payloads, stream = read([b"\n ", b'{"a":\n', b"1}"])

    assert payloads == []
    assert stream.whole().strip() == b'{"a":\n1}'


def test_a_page_has_no_events_and_is_no_reply():
    payloads, stream = read([b"<html>\ndata: 1\n</html>"])

    assert payloads == []
    assert (stream.whole(), stream.first) == (None, b"<")


def test_the_last_event_may_lack_its_line_end():
    assert read([b"data: 1\n\nda", b"ta: 2"])[0] == [b"1", b"2"]
