"""Files seen and changed as the student: what it cannot reach its tools do not, and none hangs."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_chalk.authoring.tool import ToolAnswer, ToolRefusalError
from pytest_chalk.sandbox import Box
from pytest_chalk.tools import replace_in_file as replace_module
from pytest_chalk.tools import student_files
from pytest_chalk.tools import view_lines_in_file as view_module
from pytest_chalk.tools.registry import Toolbox
from pytest_chalk.tools.student_files import StudentFiles
from pytest_chalk.tools.view_image_file import MAX_IMAGE_BYTES, image_type

Call = Callable[..., ToolAnswer]
Student = Callable[[str], str]
FILE_TOOLS = ["view_lines_in_file", "replace_in_file", "view_image_file"]


def only_with_uid(test):
    """Without a uid of its own the student may do what we may."""
    test = pytest.mark.parametrize("module_box", ["uid"], indirect=True)(test)
    return pytest.mark.skipif(os.geteuid() != 0, reason="needs root")(test)


PNG = b"\x89PNG\r\n\x1a\n" + b"rest"


@pytest.fixture
def tools(files_box: Box):
    toolbox = Toolbox.open("task 'x'", FILE_TOOLS, files_box)
    yield toolbox._tools
    toolbox.close()


@pytest.fixture
def view(tools) -> Call:
    return lambda path, first=1, last=1000, limit_s=None: tools["view_lines_in_file"].call(
        {"file_path": path, "from_line": first, "to_line": last}, time_limit_s=limit_s
    )


@pytest.fixture
def replace(tools) -> Call:
    return lambda path, old, new, **more: tools["replace_in_file"].call(
        {"file_path": path, "old": old, "new": new, **more}, time_limit_s=None
    )


@pytest.fixture
def view_image(tools) -> Call:
    return lambda path: tools["view_image_file"].call({"file_path": path}, time_limit_s=None)


@pytest.fixture(params=FILE_TOOLS)
def touch(request, view: Call, replace: Call, view_image: Call) -> Callable[[str], ToolAnswer]:
    """Calls each of the tools with a path."""
    return {
        "view_lines_in_file": view,
        "replace_in_file": lambda path: replace(path, "a", "b"),
        "view_image_file": view_image,
    }[request.param]


# --- what may be touched


@pytest.mark.parametrize(
    ("make", "why"),
    [
        ("true", "no such file"),
        ("mkdir f", "is a directory"),
        ("mkfifo f", "no regular file"),
        ("ln -s /dev/zero f", "no regular file"),
        ("ln -s /nowhere f", "no such file"),
        ("ln -s f f", "no such file"),
        ("ln -s data f", "is a directory"),
    ],
)
def test_what_is_no_regular_file_is_refused_at_once(
    touch: Callable[[str], ToolAnswer], student: Student, make: str, why: str
):
    student(make)
    started = time.monotonic()

    with pytest.raises(ToolRefusalError, match=why):
        touch("f")

    assert time.monotonic() - started < 3


@only_with_uid
def test_a_file_that_the_student_cannot_read_stays_secret(
    touch: Callable[[str], ToolAnswer], student: Student, tmp_path: Path
):
    secret = tmp_path / "secret.txt"
    secret.write_bytes(PNG + b"canary a")
    student(f"ln -s {secret} link")

    for path in (str(secret), "link"):
        with pytest.raises(ToolRefusalError, match="no such file, or you may not look") as refused:
            touch(path)
        assert "canary" not in str(refused.value)


@only_with_uid
def test_a_forbidden_folder_tells_nothing_about_what_is_in_it(view: Call, tmp_path: Path):
    (tmp_path / "present").write_text("x")

    told = []
    for name in ("present", "absent"):
        with pytest.raises(ToolRefusalError) as refused:
            view(str(tmp_path / name))
        told.append(str(refused.value).replace(name, ""))

    assert told[0] == told[1]


@only_with_uid
def test_a_file_without_permission_is_refused(
    touch: Callable[[str], ToolAnswer], files_box: Box, student: Student
):
    shared = files_box.paths.shared_dir / "locked"
    shared.write_text("a")
    shared.chmod(0o600)

    with pytest.raises(ToolRefusalError, match="permission denied"):
        touch(str(shared))


@only_with_uid
def test_a_file_that_may_only_be_read_is_not_written(
    view: Call, replace: Call, files_box: Box, student: Student
):
    shared = files_box.paths.shared_dir / "given.txt"
    shared.write_text("a\n")
    shared.chmod(0o644)

    with pytest.raises(ToolRefusalError, match="permission denied"):
        replace("shared/given.txt", "a", "b")

    assert view("shared/given.txt").text.startswith("a\n")
    assert shared.read_text() == "a\n"


def test_a_fifo_that_takes_the_files_place_does_not_hold_up(
    files_box: Box, student: Student, monkeypatch: pytest.MonkeyPatch
):
    student("mkfifo f")
    unchecked = {
        name: getattr(student_files, name).replace(student_files._CHECKS, "PATH=/usr/bin:/bin\n")
        for name in ("_READ", "_WRITE")
    }
    for name, script in unchecked.items():
        monkeypatch.setattr(student_files, name, script)
    files = StudentFiles(files_box, None)
    started = time.monotonic()

    assert files.read("f", max_bytes=10).content == b""
    with pytest.raises(ToolRefusalError, match="could not be written"):
        files.write("f", b"x", former=b"")

    assert time.monotonic() - started < 3


def test_a_file_that_is_swapped_all_the_time_never_hangs_or_breaks_a_call(
    view: Call, student: Student
):
    student(
        "echo ok > good; mkfifo fifo; ln -s good f; "
        "(while :; do ln -sfn fifo f; ln -sfn /dev/zero f; ln -sfn good f; done) "
        ">/dev/null 2>&1 &"
    )
    started = time.monotonic()

    for _ in range(15):
        try:
            assert view("f").text in {"ok\n[lines 1-1 of 1]", "[the file is empty]"}
        except ToolRefusalError:
            continue

    assert time.monotonic() - started < 10


def test_a_system_without_gnus_dd_will_do(
    view: Call, replace: Call, student: Student, monkeypatch: pytest.MonkeyPatch
):
    for name in ("_READ", "_WRITE"):
        script = getattr(student_files, name).replace("dd if=/dev/null", "false")
        monkeypatch.setattr(student_files, name, script)
    student("printf 'old\n' > f")

    replace("f", "old", "new")

    assert view("f").text == "new\n[lines 1-1 of 1]"


def test_a_call_is_over_at_its_time_limit(
    files_box: Box, student: Student, monkeypatch: pytest.MonkeyPatch
):
    student("echo x > f")
    monkeypatch.setattr(student_files, "_READ", "sleep 60")

    with pytest.raises(ToolRefusalError, match=r"within 0\.3 s"):
        StudentFiles(files_box, 0.3).read("f", max_bytes=10)


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800", "x" * 5000])
def test_a_path_that_is_none_is_refused(touch: Callable[[str], ToolAnswer], path: str):
    with pytest.raises(ToolRefusalError, match="file_path"):
        touch(path)


@pytest.mark.parametrize("name", ["-n", "$(touch pwned)", "a b", "ü", "*", "a'\"\\", "x\ny"])
def test_a_name_means_only_itself(
    view: Call, replace: Call, files_box: Box, student: Student, name: str
):
    path = files_box.paths.data_dir / name
    path.write_text("one\n")
    path.chmod(0o666)

    replace(str(path), "one", "two")

    assert view(f"data/{name}").text == "two\n[lines 1-1 of 1]"
    assert not (files_box.paths.workdir / "pwned").exists()


# --- view_lines_in_file


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        (1, 1, "a\n[lines 1-1 of 4]"),
        (2, 3, "b\n\n[lines 2-3 of 4]"),
        (4, 4, "d\n[lines 4-4 of 4]"),
        (3, 99, "\nd\n[lines 3-4 of 4]"),
    ],
)
def test_lines_are_counted_from_1_and_the_last_is_included(
    view: Call, student: Student, first: int, last: int, text: str
):
    student(r"printf 'a\nb\n\nd' > f")

    assert view("f", first, last).text == text


def test_beyond_the_end_the_number_of_lines_is_told(view: Call, student: Student):
    student(r"printf 'a\nb\n' > f")

    with pytest.raises(ToolRefusalError, match="it has 2 lines, there is no line 3"):
        view("f", 3, 4)


def test_an_empty_file_says_so(view: Call, student: Student):
    student(": > f")

    assert view("f").text == "[the file is empty]"


@pytest.mark.parametrize(
    ("first", "last", "why"),
    [(0, 5, "from_line"), (-1, 5, "from_line"), (5, 4, "before"), ("x", 1, "from_line")],
)
def test_line_numbers_that_make_no_sense_are_refused(view: Call, first, last, why: str):
    with pytest.raises(ToolRefusalError, match=why):
        view("f", first, last)


def test_too_many_lines_are_cut_visibly(view: Call, student: Student):
    student("seq 3000 > f")

    answer = view("f", 11, 3000)

    assert answer.text.startswith("11\n")
    assert answer.text.endswith(
        "\n1010\n[lines 11-1010 of 3000; at most 1000 lines are shown at once]"
    )


def test_a_very_long_line_is_cut_visibly(view: Call, student: Student):
    student("echo one > f; head -c 3000000 /dev/zero | tr '\\0' x >> f")

    answer = view("f")

    assert len(answer.text) < view_module.MAX_SHOWN_CHARS + 200
    assert "cut after 50000 characters, in line 2" in answer.text


def test_bytes_that_are_no_utf8_are_replaced_and_that_is_said(view: Call, student: Student):
    student(r"printf 'caf\351\n' > latin; printf 'really \357\277\275\n' > real")

    assert view("latin").text == (
        "caf\ufffd\n[lines 1-1 of 1; bytes that are no UTF-8 are shown as \ufffd]"
    )
    assert view("real").text == "really \ufffd\n[lines 1-1 of 1]"


def test_a_binary_file_is_refused(view: Call, replace: Call, student: Student):
    student(r"printf 'a\0b' > f")

    with pytest.raises(ToolRefusalError, match="binary"):
        view("f")
    with pytest.raises(ToolRefusalError, match="binary"):
        replace("f", "a", "b")


def test_a_huge_file_is_answered_quickly(view: Call, replace: Call, view_image, student: Student):
    student(
        "yes | head -c 17000000 > lines; truncate -s 10G lines; "
        r"printf '\211PNG\r\n\032\n' > png; truncate -s 10G png"
    )
    started = time.monotonic()

    assert view("lines", 5, 6).text == "y\ny\n[lines 5-6 of more than 8388608]"
    with pytest.raises(ToolRefusalError, match="beyond its first 16 MiB"):
        view("lines", 9_000_000, 9_000_001)
    with pytest.raises(ToolRefusalError, match="is larger than 10 MiB"):
        replace("lines", "y", "n")
    with pytest.raises(ToolRefusalError, match=r"larger than 3\.75 MiB"):
        view_image("png")

    assert time.monotonic() - started < 6


# --- replace_in_file


def test_the_one_occurrence_is_replaced_and_its_line_told(
    replace: Call, student: Student, files_box: Box
):
    student(r"printf 'a\nold\nc\n' > f; chmod 640 f; ln -s f link")

    answer = replace("link", "old", "new\nnew")

    assert answer.text == f"Replaced once in {files_box.paths.workdir}/link, line 2."
    assert student("cat f; stat -c %a f; readlink link") == "a\nnew\nnew\nc\n640\nf\n"


def test_several_occurrences_need_replace_all_and_are_counted(replace: Call, student: Student):
    student(r"printf 'x\nx x\ny\nx\n' > f")

    with pytest.raises(ToolRefusalError, match="old occurs 4 times, lines 1, 2, 4"):
        replace("f", "x", "z")
    assert student("cat f") == "x\nx x\ny\nx\n"

    assert "Replaced 4 times" in replace("f", "x", "z", replace_all=True).text
    assert student("cat f") == "z\nz z\ny\nz\n"


def test_occurrences_that_overlap_are_ambiguous(replace: Call, student: Student):
    student("printf aaa > f")

    with pytest.raises(ToolRefusalError, match="occurs 2 times"):
        replace("f", "aa", "b")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("", "x", "old: .*at least 1"),
        ("absent", "x", "does not occur"),
        ("one", "one", "the same"),
        ("one\ntwo", "x", r"end in \\r\\n"),
        ("one", "\ud800", "valid text"),
    ],
)
def test_a_replacement_that_cannot_be_made_is_refused(
    replace: Call, student: Student, old: str, new: str, why: str
):
    student(r"printf 'one\r\ntwo\r\n' > f")

    with pytest.raises(ToolRefusalError, match=why):
        replace("f", old, new)

    assert student("cat f") == "one\r\ntwo\r\n"


def test_a_file_in_another_encoding_keeps_its_other_bytes(replace: Call, student: Student):
    student(r"printf 'caf\351 old' > f")

    replace("f", "old", "new")

    assert student("od -An -tx1 f").split() == b"caf\xe9 new".hex(" ").split()
    with pytest.raises(ToolRefusalError, match="not UTF-8"):
        replace("f", "new", "n\u00e9w")


def test_all_of_a_file_can_be_deleted(replace: Call, student: Student):
    student("printf all > f")

    replace("f", "all", "")

    assert student("cat f; wc -c < f").strip() == "0"


def test_a_result_that_is_too_large_is_refused(
    replace: Call, student: Student, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(replace_module, "MAX_FILE_BYTES", 1000)
    student("printf aa > f")

    with pytest.raises(ToolRefusalError, match="would be larger"):
        replace("f", "a", "b" * 600, replace_all=True)


def test_a_write_that_fails_half_way_is_undone(
    files_box: Box, student: Student, monkeypatch: pytest.MonkeyPatch
):
    student("printf before > f")
    once = '[ "$(head -c 5)" = after ] && { printf af > "$1"; echo "dd: No space" >&2; exit 1; }\n'
    stdin_again = 'printf before > "$1"\n'
    monkeypatch.setattr(student_files, "_WRITE", once + stdin_again)

    with pytest.raises(ToolRefusalError, match=r"No space\. It is as it was\."):
        StudentFiles(files_box, None).write("f", b"after", former=b"before")

    assert student("cat f") == "before"


# --- view_image_file


def test_an_image_comes_back_as_a_part_of_the_message(view_image: Call, student: Student):
    student(r"printf '\211PNG\r\n\032\nrest' > picture.txt")

    answer = view_image("picture.txt")

    (part,) = answer.parts
    assert part == {
        "type": "image_url",
        "image_url": {"url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}"},
    }
    assert answer.text.endswith("/picture.txt: image/png, 12 bytes")
    assert answer.details["media_type"] == "image/png"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\0\0\0\0WAVE", None),
        (b"<svg>", None),
        (b"", None),
    ],
)
def test_an_image_is_known_by_its_first_bytes(content: bytes, kind: str | None):
    assert image_type(content) == kind


def test_what_is_no_image_is_refused(view_image: Call, student: Student):
    student("echo text > photo.png")

    with pytest.raises(ToolRefusalError, match="no JPEG, PNG, GIF or WebP"):
        view_image("photo.png")


def test_an_image_stays_below_what_providers_take():
    assert len(base64.b64encode(b"x" * MAX_IMAGE_BYTES)) <= 5 * 1_048_576


# --- all of them


def test_unknown_and_missing_arguments_are_answered(files_box: Box):
    (tool,) = Toolbox.open("task 'x'", ["view_lines_in_file"], files_box)._tools.values()

    with pytest.raises(ToolRefusalError) as refused:
        tool.call({"path": "f", "from_line": 1}, time_limit_s=None)

    assert "file_path: Field required" in str(refused.value)
    assert "path: Extra inputs are not permitted" in str(refused.value)
    assert "It takes file_path, from_line, to_line." in str(refused.value)


def test_file_tools_leave_no_descriptor_open(view: Call, student: Student):
    student("echo x > f")
    view("f")
    before = len(list(Path("/proc/self/fd").iterdir()))

    for _ in range(5):
        view("f")

    assert len(list(Path("/proc/self/fd").iterdir())) == before
