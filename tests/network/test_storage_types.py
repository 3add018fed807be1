"""The storage of columns comes back from rows that are filled, and kinds and levels from rows that are drawn."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gomea_bn import DiscretizedBayesNet, read_table

N = 24
NUMBERS = np.arange(N)
WHOLE = NUMBERS**2 // 3
MOMENTS = pd.Timestamp("2024-03-30 22:00") + pd.to_timedelta(NUMBERS * 1800, unit="s")
COLUMNS = {
    "float64": pd.Series(NUMBERS / 4),
    "float32": pd.Series(NUMBERS / 4, dtype="float32"),
    "Float64": pd.Series(NUMBERS / 4, dtype="Float64"),
    "Int64": pd.Series(WHOLE, dtype="Int64"),
    "UInt8": pd.Series(WHOLE, dtype="UInt8"),
    "few numbers": pd.Series(NUMBERS % 3, dtype="Int32"),
    "datetime64": pd.Series(MOMENTS),
    "datetime64 in a zone": pd.Series(MOMENTS.tz_localize("UTC").tz_convert("Europe/Berlin")),
    "timedelta64": pd.Series(pd.to_timedelta(NUMBERS, unit="s")),
    "boolean": pd.Series(NUMBERS % 2 == 0, dtype="boolean"),
    "string": pd.Series([f"t{k}" for k in NUMBERS % 3], dtype="string"),
    "object": pd.Series([f"t{k}" for k in NUMBERS % 3], dtype=object),
    "category": pd.Series(pd.Categorical(["b", "a", "b", "a"] * 6, categories=["b", "a", "unused"])),
    "ordered": pd.Series(pd.Categorical(["low", "high"] * 12, categories=["low", "mid", "high"], ordered=True)),
    "numbers as categories": pd.Series(pd.Categorical([3, 1, 2, 2] * 6, categories=[3, 2, 1])),
}  # fmt: skip
OF_ARROW: dict[Any, Any] = {
    "int64[pyarrow]": pd.Series(WHOLE),
    "double[pyarrow]": pd.Series(NUMBERS / 4),
    "bool[pyarrow]": pd.Series(NUMBERS % 2 == 0),
    "string[pyarrow]": pd.Series([f"t{k}" for k in NUMBERS % 3]),
    "timestamp[us, tz=Asia/Tokyo][pyarrow]": pd.Series(MOMENTS.tz_localize("Asia/Tokyo")),
}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    pytest.importorskip("pyarrow")
    return pd.DataFrame({**COLUMNS, **{name: values.astype(name) for name, values in OF_ARROW.items()}})


@pytest.fixture(scope="module")
def network(rows) -> DiscretizedBayesNet:
    table = read_table(rows)
    inner = {column.name: [] for column in table.columns if column.is_continuous}
    return DiscretizedBayesNet.from_table(table, [], inner)


@settings(max_examples=15)
@given(
    gaps=st.lists(st.integers(0, N - 1), max_size=N - 1, unique=True), how=st.sampled_from(["draw", "mode"])
)
def test_filled_columns_have_the_storage_that_they_had(rows, network, gaps, how):
    given_rows = rows.copy()
    for position in range(rows.shape[1]):
        column = rows.iloc[:, position].copy()
        column.iloc[gaps] = pd.NA if column.dtype == object else None
        given_rows.isetitem(position, column)
    filled = network.impute(given_rows, how, random_state=1)
    assert not filled.isna().any(axis=None)
    kept = np.setdiff1d(NUMBERS, gaps)
    for name in rows:
        dtype = given_rows[name].dtype
        assert filled[name].dtype == dtype, (name, filled[name].dtype)
        pd.testing.assert_series_equal(filled[name].iloc[kept], rows[name].iloc[kept])


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_drawn_columns_are_read_as_the_columns_were(rows, network, seed):
    table, drawn = read_table(rows), network.sample(60, seed)
    again = {
        column.name: column for column in read_table(drawn, missing="keep", kinds=kinds(table, drawn)).columns
    }
    assert list(drawn) == list(rows)
    for column in table.columns:
        read = again[column.name]
        assert read.levels == column.levels, column.name
        assert (read.ordered, read.is_integer, read.time_zone) == (
            column.ordered,
            column.is_integer,
            column.time_zone,
        )


def kinds(table, drawn):
    """Return the kinds of numbers, of which a draw may have few values."""
    of_numbers = [
        column.name
        for column in table.columns
        if column.is_continuous and column.name in drawn and drawn[column.name].dtype.kind in "iuf"
    ]
    return dict.fromkeys(of_numbers, "continuous")
