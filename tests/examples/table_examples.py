"""Small tables: rows of truncated Gaussians, and patients."""

from typing import Any

import numpy as np
import pandas as pd

from gomea_bn import read_table
from gomea_bn.data import Table


def column_of(values: Any, name: str = "x", **options: Any) -> Any:
    """Return the column of some values in a table with a second column."""
    rows = pd.DataFrame({name: values, "other": np.linspace(0, 1, len(values))})
    return read_table(rows, **options).columns[0]


def assert_same_table(table: Table, expected: Table) -> None:
    """Compare names, levels and values."""
    assert table.names == expected.names
    for column, other in zip(table.columns, expected.columns, strict=True):
        assert column.levels == other.levels
        np.testing.assert_array_equal(column.values, other.values)


def truncated_gaussians(seed, n, n_configurations=4, borders=(0.0, 1.0, 2.5, 3.0, 5.0), spread=4.0):
    """Rows of truncated Gaussians between borders, weighed by a configuration; values and codes."""
    rng = np.random.default_rng(seed)
    edges = np.asarray(borders)
    codes = rng.integers(0, n_configurations, n)
    weights = rng.dirichlet(np.ones(len(edges) - 1), n_configurations)
    k = (np.cumsum(weights, axis=1)[codes] < rng.random(n)[:, None]).sum(axis=1)
    low, high = edges[k], edges[k + 1]
    values = np.full(n, np.inf)
    while (outside := (values <= low) | (values >= high)).any():
        values[outside] = rng.normal((low + high) / 2, (high - low) / spread)[outside]
    return values, codes


def curved_rows(seed=0, n_rows=150):
    """Return columns that follow curves of each other, one of them with ties, and a discrete one."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n_rows)
    b = np.sin(2 * a) + rng.normal(scale=0.4, size=n_rows)
    c = (a * 0.7 + b**2 + rng.normal(scale=0.6, size=n_rows)).round(1)
    d = np.where(c + rng.normal(size=n_rows) > 0.5, "high", "low")
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d})


def copied_codes(rng, n_rows, n_levels, share, n_columns=3):
    """Return columns of which each follows the one before it in a share of the rows."""
    columns = [rng.integers(0, n_levels, n_rows)]
    while len(columns) < n_columns:
        fresh = rng.integers(0, n_levels, n_rows)
        columns.append(np.where(rng.random(n_rows) < share, columns[-1], fresh))
    return columns


def patients(n=60, seed=0):
    """Return a frame with two continuous and two discrete columns."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 80, n).round(1)
    return pd.DataFrame(
        {
            "age": age,
            "smoker": rng.choice(["no", "yes"], n),
            "bp": age + rng.normal(80, 15, n).round(1),
            "stage": rng.integers(1, 4, n),
        }
    )
