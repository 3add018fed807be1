import gzip
from pathlib import Path

import pytest
from wrong_input import untyped

from gomea_bn import GomeaBnError
from gomea_bn.runtime import field_of, file_text, read_json
from gomea_bn.runtime.files import SIZE_VARIABLE, check_fields, load_json, unpacked

TEXT = '{"format": "gomea-bn network", "format_version": 1, "é": 2}'


def read(source, **options):
    return read_json(source, "a network", "gomea-bn network", **options)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_plain_and_compressed_files_are_read_with_and_without_a_byte_order_mark(tmp_path, pack, mark):
    path = tmp_path / "net.json"
    path.write_bytes(pack(mark + TEXT.encode()))
    content, where = read(path)
    assert content == {"format": "gomea-bn network", "format_version": 1, "é": 2}
    assert where == f"File '{path}'"


def test_text_that_begins_with_a_brace_is_read_as_it_is():
    content, where = read("  \n" + TEXT)
    assert (content["é"], where) == (2, "JSON text")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "is not a network: wanted \"format\": 'gomea-bn network', got list. Do this."),
        ('{"format": "gomea-bn front"}', "got 'gomea-bn front'. Do this."),
        (TEXT.replace("1", "2"), "has format_version 2; this release reads 1. A newer file needs"),
        (TEXT.replace("1", "true"), "has format_version True"),
        (TEXT.replace("2", "Infinity"), "is not JSON: Infinity is not a JSON number."),
        (TEXT.replace("2", "NaN"), "is not JSON: NaN is not a JSON number."),
        (TEXT.replace("2", '[{"a": 1, "b": 2, "a": 3}]'), "is not JSON: duplicate key 'a'."),
        (TEXT[:-1], "is not JSON: Expecting"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_other_content_is_refused_by_the_name_of_the_file(tmp_path, text, message):
    path = tmp_path / "net.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(GomeaBnError) as caught:
        read(path, advice="Do this.")
    assert str(caught.value).startswith(f"File '{path}' ")
    assert message in str(caught.value)


def test_the_limit_on_size_counts_the_decompressed_bytes(tmp_path):
    path = tmp_path / "net.json"
    size = len(TEXT.encode())
    for content in (TEXT.encode(), gzip.compress(TEXT.encode(), mtime=0)):
        path.write_bytes(content)
        assert read(path, max_bytes=size)[0]["é"] == 2
    path.write_bytes(gzip.compress(bytes(10**6)))
    with pytest.raises(GomeaBnError, match=r"is larger than 10,000 bytes; it is not a network\."):
        read(path, max_bytes=10_000)
    with pytest.raises(
        GomeaBnError, match=r"^JSON text of 59 characters is not a network; the limit is 58\."
    ):
        read(TEXT, max_bytes=58)


def test_an_environment_variable_sets_the_limit_of_all_files(tmp_path, monkeypatch):
    path = tmp_path / "net.json"
    content = TEXT.encode()
    for stored in (content, gzip.compress(content, mtime=0)):
        path.write_bytes(stored)
        monkeypatch.setenv(SIZE_VARIABLE, str(len(content)))
        assert read(path)[0]["é"] == 2
        monkeypatch.setenv(SIZE_VARIABLE, str(len(content) - 1))
        with pytest.raises(
            GomeaBnError, match=f"larger than {len(content) - 1} bytes; .*{SIZE_VARIABLE} sets"
        ):
            read(path)
        with pytest.raises(GomeaBnError, match=r"^The front is larger than"):
            unpacked(gzip.compress(content), "The front")
    monkeypatch.setenv(SIZE_VARIABLE, str(len(content)))
    assert unpacked(gzip.compress(content), "The front") == content


@pytest.mark.parametrize("wrong", ["", "0", "-1", "1e9", "²", "9" * 30])
def test_wrong_limits_are_refused(tmp_path, monkeypatch, wrong):
    (tmp_path / "net.json").write_text(TEXT)
    monkeypatch.setenv(SIZE_VARIABLE, wrong)
    with pytest.raises(GomeaBnError, match=f"{SIZE_VARIABLE} must be a positive number of bytes"):
        read(tmp_path / "net.json")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a file without an end")
def test_a_file_without_an_end_is_refused():
    with pytest.raises(GomeaBnError, match="'/dev/zero' is a device or a pipe, not a file"):
        read("/dev/zero")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "is not UTF-8 text: invalid start byte at byte 0."),
        (gzip.compress(b"{}", mtime=0)[:-4], "cannot be read: Compressed file ended"),
        (b"\x1f\x8b no gzip", "cannot be read: Unknown compression method"),
    ],
)
def test_files_without_text_are_refused(tmp_path, content, message):
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(GomeaBnError) as caught:
        file_text(path, "a network")
    assert str(caught.value).startswith(f"File '{path}' {message}")


def test_sources_that_are_neither_a_readable_file_nor_text_are_refused(tmp_path):
    for source, message in (
        (tmp_path / "none", "none' does not exist"),
        (tmp_path, "cannot be read: Is a directory"),
        ("a\0b", "cannot be read: embedded null byte"),
        (3, "Reading a network needs a path or JSON text, got int"),
    ):
        with pytest.raises(GomeaBnError, match=message):
            read(source)
    with pytest.raises(GomeaBnError, match="Reading a network needs a path, got 3"):
        file_text(untyped(3), "a network")


def test_fields_are_checked_by_name_and_type():
    entry = {"a": 1, "b": None}
    assert field_of(entry, "a", int, "x") == 1
    with pytest.raises(GomeaBnError, match=r"^x: wanted a list under 'a', got int"):
        field_of(entry, "a", list, "x")
    with pytest.raises(GomeaBnError, match=r"wanted text under 'b', got NoneType"):
        field_of(entry, "b", str, "x")
    with pytest.raises(GomeaBnError, match=r"wanted an object under 'c', got none"):
        field_of(entry, "c", dict, "x")
    check_fields(entry, "x", ["a"], ["b", "c"])
    with pytest.raises(
        GomeaBnError, match=r"^x has the unknown field 'b'; fields are a, bb\. Did you mean 'bb'"
    ):
        check_fields(entry, "x", ["a"], ["bb"])
    with pytest.raises(GomeaBnError, match=r"^x lacks the field 'c'"):
        check_fields(entry, "x", ["a", "b", "c"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "its values are nested too deeply"),
        ("9" * 5000, "an integer has more than 4,300 digits"),
    ],
)
def test_json_beyond_the_limits_of_python_is_named(text, words):
    with pytest.raises(GomeaBnError, match=words):
        load_json(text, "The text")
