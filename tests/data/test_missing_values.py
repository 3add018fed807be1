"""Missing values in a table: how columns hold them, and that whoever cannot use them says so."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gomea_bn import (
    BayesNetEnsemble,
    BayesNetLearner,
    DiscretizedBayesNet,
    ExpertNetwork,
    GomeaBnError,
    ParetoBayesNetLearner,
    read_table,
    refine_boundaries,
    simulated_expert,
)
from gomea_bn.data import Table
from gomea_bn.data.column_summary import column_summary
from gomea_bn.data.columns import MISSING_CODE, encode_levels
from gomea_bn.data.table import table_digest
from gomea_bn.discretization import K2, EqualFrequency
from gomea_bn.metrics import histogram_baseline
from gomea_bn.network.rows import table_for
from gomea_bn.plots import density_bins
from gomea_bn.problems.cuts import MAX_CARDINALITY

N = 20


def complete_frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "height": rng.normal(size=N),
            "rooms": np.arange(N) % 3,
            "town": np.array(["b", "a"], dtype=object)[np.arange(N) % 2],
        }
    )


def frame_with_gaps() -> pd.DataFrame:
    frame = complete_frame()
    frame.loc[[2, 5], "height"] = np.nan
    frame.loc[[5, 9, 11], "rooms"] = np.nan
    frame.loc[0, "town"] = None
    return frame


def table_with_gaps() -> Table:
    return read_table(frame_with_gaps(), missing="keep")


def test_missing_values_are_nan_or_the_code_of_missing_values():
    table, whole = table_with_gaps(), read_table(complete_frame())
    gaps = {"height": [2, 5], "rooms": [5, 9, 11], "town": [0]}
    for column, other in zip(table.columns, whole.columns, strict=True):
        rows = gaps[column.name]
        assert np.flatnonzero(column.is_missing).tolist() == rows
        assert column.n_missing == len(rows)
        assert column.levels == other.levels
        assert column.values.dtype == other.values.dtype
        np.testing.assert_array_equal(column.observed, np.delete(other.values, rows))
        assert not column.values.flags.writeable
    height, rooms, town = table.columns
    assert np.isnan(height.values[[2, 5]]).all()
    assert rooms.values[[5, 9, 11]].tolist() == [MISSING_CODE] * 3
    assert town.values[0] == MISSING_CODE
    assert table.n_missing == 6
    assert table.n_rows == N
    assert table.dropped_rows == ()
    assert rooms.reason == "integers, 3 distinct (at most 10); 3 levels; 3 missing values"
    assert "Missing: 6 values in 3 columns." in table.describe()


def test_a_complete_table_is_the_same_however_missing_values_are_treated():
    tables = [read_table(complete_frame(), missing=missing) for missing in ("error", "drop", "keep")]
    assert len({table_digest(table) for table in tables}) == 1
    assert [table.n_missing for table in tables] == [0, 0, 0]
    assert tables[2].complete_rows() is tables[2]
    assert tables[2].describe() == tables[0].describe()
    column = tables[0].columns[0]
    assert column.observed is column.values


def test_no_level_has_the_code_of_missing_values_as_a_byte():
    assert np.array([MISSING_CODE], np.int32).astype(np.uint8)[0] == MAX_CARDINALITY


def test_complete_rows_are_those_that_dropping_keeps():
    dropped = read_table(frame_with_gaps(), missing="drop")
    rows = table_with_gaps().complete_rows()
    assert rows.dropped_rows == dropped.dropped_rows == (0, 2, 5, 9, 11)
    assert table_digest(rows) == table_digest(dropped)


@given(first=st.sets(st.integers(0, N - 1), max_size=6), second=st.sets(st.integers(0, N - 1), max_size=6))
def test_dropping_twice_names_the_rows_of_the_source(first, second):
    frame = complete_frame()
    frame.loc[list(first), "height"] = np.nan
    once = read_table(frame, missing="drop")
    source_rows = [row for row in range(N) if row not in first]
    values = once.columns[0].values.copy()
    values[[source_rows.index(row) for row in second - first]] = np.nan
    columns = (type(once.columns[0])("height", values, None, ""), *once.columns[1:])
    twice = Table(columns, once.n_rows, once.dropped_rows).complete_rows()
    assert twice.dropped_rows == tuple(sorted(first | second))
    assert twice.n_rows == N - len(first | second)


def test_a_frame_keeps_missing_values():
    frame = table_with_gaps().to_frame()
    assert frame.isna().to_numpy().tolist() == frame_with_gaps().isna().to_numpy().tolist()
    assert [column.n_missing for column in read_table(frame, missing="keep").columns] == [2, 3, 1]


def test_taken_rows_keep_missing_values():
    part = table_with_gaps().take(np.array([5, 0, 3]))
    assert [column.is_missing.tolist() for column in part.columns] == [
        [True, False, False],
        [True, False, False],
        [False, True, False],
    ]


def test_a_column_with_one_observed_value_is_constant():
    frame = complete_frame().assign(town=["q", None] * 10, height=[2.5, np.nan] * 10)
    with pytest.warns(UserWarning, match=r"'height' is 2\.5, 'town' is 'q'"):
        table = read_table(frame, missing="keep")
    assert [column.is_constant for column in table.columns] == [True, False, True]
    assert table.n_varying == 1


def test_infinite_values_are_not_missing():
    frame = frame_with_gaps()
    frame.loc[[4, 7], "height"] = [np.inf, -np.inf]
    with pytest.raises(GomeaBnError, match="'height' has 2 infinite values in rows 4, 7") as caught:
        read_table(frame, missing="keep")
    assert "'town'" not in str(caught.value)


def test_the_summary_of_a_column_counts_its_missing_values():
    height, rooms, town = column_summary(table_with_gaps())
    assert sum(height["histogram"]["counts"]) == N - 2
    assert (height["n_missing"], rooms["n_missing"], town["n_missing"]) == (2, 3, 1)
    assert sum(rooms["counts"]) == N - 3
    assert all("n_missing" not in summary for summary in column_summary(read_table(complete_frame())))


def network() -> DiscretizedBayesNet:
    return DiscretizedBayesNet.from_table(read_table(complete_frame()), [], {"height": [0.0]})


def discrete_table() -> Table:
    return read_table(frame_with_gaps().drop(columns="height"), missing="keep")


@pytest.mark.parametrize(
    ("what", "use"),
    [
        ("The learner", lambda table: BayesNetLearner(max_evaluations=10, missing="error").fit(table)),
        ("The learner", lambda table: ParetoBayesNetLearner(max_evaluations=10, missing="error").fit(table)),
        ("The learner", lambda table: BayesNetEnsemble(BayesNetLearner(missing="error"), n_networks=2).fit(table)),
        ("EqualFrequency", lambda table: EqualFrequency().fit(table)),
        ("K2", lambda table: K2().fit(discrete_table())),
        ("The network", lambda table: table_for(network(), table)),
        ("Refinement by 'mdl'", lambda table: refine_boundaries(network(), table, "mdl")),
        ("The expert's network", lambda table: ExpertNetwork.from_network(network()).fitted(table)),
        ("simulated_expert", lambda table: simulated_expert(network(), table=table)),
        ("histogram_baseline", lambda table: histogram_baseline(table)),
    ],
)  # fmt: skip
def test_whoever_cannot_use_missing_values_names_them(what, use):
    with pytest.raises(GomeaBnError, match=f"^{what}.* needs a table without missing values") as caught:
        use(table_with_gaps())
    message = str(caught.value)
    assert "Column 'rooms' has 3 missing values in rows 5, 9, 11 (counted from 0)." in message
    # only learners and discretizers have the option
    has_option = what in ("The learner", "EqualFrequency")
    others = 'method="dp"' if "mdl" in what else "table.complete_rows()"
    assert ('missing="drop"' if has_option else others) in message
    assert ("missing=" in message) == has_option


def test_plots_draw_the_values_that_are_there():
    table = table_with_gaps()
    for column in ("height", "town"):
        whole = density_bins(network(), column, table=table)
        some = density_bins(network(), column, table=table.to_frame()[[column]].dropna())
        pd.testing.assert_frame_equal(whole, some)
        assert "data" in set(whole["source"])


def test_learners_and_discretizers_drop_incomplete_rows_of_a_table():
    learner = BayesNetLearner(missing="drop", max_evaluations=10, random_state=0).fit(table_with_gaps())
    assert learner.table_.n_rows == N - 5
    assert learner.table_.dropped_rows == (0, 2, 5, 9, 11)
    discretizer = EqualFrequency(missing="drop").fit(table_with_gaps())
    assert discretizer.table_.dropped_rows == (0, 2, 5, 9, 11)


@pytest.mark.parametrize("made", [BayesNetLearner(missing="keep"), EqualFrequency(missing="keep")])
def test_learners_and_discretizers_do_not_keep_missing_values(made):
    for source in (frame_with_gaps(), table_with_gaps()):
        with pytest.raises(GomeaBnError, match="missing"):
            made.fit(source)


def test_missing_values_have_no_level():
    with pytest.raises(GomeaBnError, match="'town' has 1 missing value in row 0"):
        encode_levels(frame_with_gaps()["town"], "town", ("a", "b"))
