"""The list of `make quick`."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
ENTRIES = (TESTS / "quick.txt").read_text(encoding="utf-8").split()
TWINS = {path.stem for path in (TESTS / "twins").glob("*.py")}


def test_entries_are_in_order_and_named_once():
    assert sorted(set(ENTRIES)) == ENTRIES
    # a folder contains its files
    assert not [(a, b) for a in ENTRIES for b in ENTRIES if b.startswith(f"{a}/")]


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_has_properties_or_twins(entry):
    path = TESTS.parent / entry
    files = [path] if path.is_file() else [*path.rglob("test_*.py")]
    assert files
    # twins stand in files of their own, or in the file
    of_twins = re.compile(rf"^from ({'|'.join(TWINS)}) import|^def (slow|twin)_", re.MULTILINE)
    texts = {file.name: file.read_text(encoding="utf-8") for file in files}
    assert not [name for name, text in texts.items() if "@given" not in text and not of_twins.search(text)]
