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
    texts = [
        file.read_text(encoding="utf-8") for file in ([path] if path.is_file() else path.rglob("test_*.py"))
    ]
    of_twins = re.compile(rf"^from ({'|'.join(TWINS)}) import", re.MULTILINE)
    assert texts
    assert any("@given" in text or of_twins.search(text) for text in texts)
