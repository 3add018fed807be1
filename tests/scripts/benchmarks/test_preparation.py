"""Times before the search, printed per number of rows."""

from __future__ import annotations

import re

import preparation
import pytest


def test_a_line_per_number_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    preparation.main(["--rows", "60", "120", "--variables", "3"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["60 rows", "120 rows"]
    for line in lines:
        assert re.search(r"shapes \d+ ms, the rest \d+ ms a column$", line)


def test_both_parts_take_time() -> None:
    assert min(preparation.milliseconds(3, 60)) > 0
