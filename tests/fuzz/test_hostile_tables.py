"""Any table is read, or refused by a message; whatever is learned from it is a network that holds its rows."""

import copy
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from consistency import check_message, check_network, check_table, seeds
from hostile_tables import csv_bytes, table_case

from gomea_bn import BayesNetLearner, GomeaBnError, read_table

_DISCRETIZERS = ("optimal", "equal-frequency", "equal-width", "k-means", "mdl")


def read(source, options):
    """Return the table of a source, or None if it is refused by a message."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            table = read_table(source, **options)
    except GomeaBnError as error:
        check_message(error)
        return None
    check_table(table, options.get("missing", "error"))
    return table


def check_case(seed, folder, *, learns):
    """Read a table from memory and from a file, and learn from it."""
    rng = np.random.default_rng(seed)
    case = table_case(rng)
    former = case.frame.copy(deep=True)
    options = copy.deepcopy(case.options)
    table = read(case.frame, case.options)
    assert case.options == options or "nan" in repr(options)
    pd.testing.assert_frame_equal(case.frame, former)
    if seed % 4 == 0:
        path = folder / "rows.csv"
        path.write_bytes(content := csv_bytes(case, rng))
        of_file = read(path, case.options)
        assert path.read_bytes() == content
        table = table if table is not None else of_file
    if table is None or not learns:
        return
    pseudo_counts: list[Any] = [0, 1.0, "auto"]
    learner = BayesNetLearner(
        str(rng.choice(_DISCRETIZERS, p=[0.5, 0.2, 0.1, 0.1, 0.1])),
        shape=str(rng.choice(["auto", "uniform", "marginal"])),
        missing=str(rng.choice(["available", "drop"])),
        max_evaluations=int(rng.integers(1, 150)),
        max_seconds=5,
        pseudo_count=pseudo_counts[int(rng.integers(3))],
        random_state=seed,
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            learner.fit(table)
    except GomeaBnError as error:
        check_message(error)
        return
    check_network(learner.network_, learner.table_)
    text = learner.network_.to_json()
    assert type(learner.network_).from_json(text).to_json() == text
    if table.n_missing == 0:
        assert (
            np.isfinite(learner.network_.log_density(learner.table_.to_frame())).all()
            or not learner.pseudo_count
        )


@pytest.mark.sample(1)
@pytest.mark.parametrize("block", range(4))
def test_any_table_is_read_or_refused(block, tmp_path):
    for seed in range(100 * block, 100 * block + 100):
        check_case(seed, tmp_path, learns=False)


# rows that are impossible with an edge and without it; whole numbers beyond int64; the largest numbers
@pytest.mark.parametrize("seed", [2100, 12600, 51480])
def test_tables_that_have_failed_before(tmp_path, seed):
    check_case(seed, tmp_path, learns=True)


@pytest.mark.long
def test_any_table_is_learned_from_or_refused(tmp_path):
    for seed in seeds("tables"):
        check_case(seed, tmp_path, learns=seed % 16 == 0)
