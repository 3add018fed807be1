"""The memory that a search is said to take."""

import numpy as np
import pytest
from learning_inside import planned_bytes
from option_examples import table_options, table_problem

from gomea_bn import read_table


def table_of(n_rows: int):
    rng = np.random.default_rng(1)
    x = rng.normal(size=n_rows)
    return read_table({"x": x, "y": x + rng.normal(size=n_rows), "k": np.where(x > 0, "a", "b")})


@pytest.mark.parametrize("discretizer", ["optimal", "equal-frequency"])
def test_the_plan_covers_codes_and_table(discretizer):
    table = table_of(3_000)
    options = table_options(discretizer, max_bins=12)
    rows = table_problem(table, discretizer=discretizer, max_bins=12).scorer.rows
    least = rows.codes.nbytes + 2 * sum(column.values.nbytes for column in table.columns)
    assert least < planned_bytes(table, options, 1, 10**9) < 3 * least + 2**26


def test_the_plan_grows_with_rows_and_threads():
    options = table_options()
    short, long = table_of(1_000), table_of(4_000)
    assert planned_bytes(long, options, 1, 10**9) > planned_bytes(short, options, 1, 10**9)
    assert planned_bytes(long, options, 1, 1_000) < planned_bytes(long, options, 1, 10**9)
    assert planned_bytes(short, options, 4, 10**9) > planned_bytes(short, options, 1, 10**9)
