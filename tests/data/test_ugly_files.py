"""Every ugly file ends in the table that it holds, or in an error that tells what to type."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from ugly_files import N_ROWS, UGLY_FILES, clean_table, written

from gomea_bn.data.table import Table, read_table
from gomea_bn.errors import GomeaBnError


def read_with_warnings(path: Path, **options: object) -> tuple[Table, str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = read_table(path, **options)  # type: ignore[arg-type]
    return table, " ".join(str(warning.message) for warning in caught)


@pytest.mark.parametrize("what", UGLY_FILES)
def test_ugly_files_are_read_or_tell_what_to_type(what, tmp_path):
    ugly = UGLY_FILES[what]
    path = written(ugly, tmp_path)
    if ugly.advice:
        with pytest.raises(GomeaBnError) as caught:
            read_table(path)
        assert ugly.advice in str(caught.value)
        assert str(path) in str(caught.value) or "Column '" in str(caught.value)
        if not ugly.options:
            return
    table, said = read_with_warnings(path, missing="drop" if ugly.missing else "error", **ugly.options)
    assert ugly.left_out in said
    dropped = sorted({row for rows in ugly.missing.values() for row in rows})
    assert list(table.dropped_rows) == dropped
    expected = clean_table().drop(index=dropped)
    columns = {column.name: column for column in table.columns}
    found = [name for name in expected if name in columns]
    if ugly.options.get("header") == "none":
        columns["Größe"], found = columns["x0"], ["Größe"]
    assert found
    for name in found:
        column = columns[name]
        values = column.values if column.levels is None else [column.levels[code] for code in column.values]
        assert list(values) == expected[name].tolist()


def test_ugly_files_hold_no_other_columns(tmp_path):
    others = {}
    for what, ugly in UGLY_FILES.items():
        if not ugly.advice:
            table, _ = read_with_warnings(
                written(ugly, tmp_path), missing="drop" if ugly.missing else "error", **ugly.options
            )
            others[what] = set(table.names) - set(clean_table())
    assert {what: names for what, names in others.items() if names} == {
        "dates": {"day [days since 1970-01-01]"},
        "German dates": {"day [days since 1970-01-01]"},
        "American dates": {"day [days since 1970-01-01]"},
        "empty columns and lines": {"notes"},
    }


@pytest.mark.parametrize("what", ["dates", "German dates", "American dates"])
def test_dates_are_days(what, tmp_path):
    table = read_table(written(UGLY_FILES[what], tmp_path))
    first = (np.datetime64("2021-01-01") - np.datetime64("1970-01-01")).astype(int)
    assert table.columns[3].values.tolist() == [first + 5.0 * i for i in range(N_ROWS)]
    assert "Dates and times are read as numbers: 'day' as 'day [days since 1970-01-01]'" in table.describe()
    assert "day" not in " ".join(read_table(written(UGLY_FILES[what], tmp_path), dates="drop").names)


def test_what_was_detected_is_said(tmp_path):
    text = read_table(written(UGLY_FILES["semicolons and decimal commas"], tmp_path)).describe()
    assert "Fields are separated by ';'; sep sets another separator." in text
    assert (
        "Decimal commas in 1 column ('Größe'), for example '190,41'; decimal sets the decimal mark." in text
    )
    text = read_table(written(UGLY_FILES["tabs under the wrong ending"], tmp_path)).describe()
    assert "Fields are separated by 'tab'" in text
