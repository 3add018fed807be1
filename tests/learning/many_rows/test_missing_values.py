"""Missing values of tables in pieces, against tables in memory."""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from pieces_examples import median_cuts, score_in_memory

from gomea_bn import BayesNetLearner, ExpertKnowledge, GomeaBnError, GomeaBnWarning, read_table
from gomea_bn.learning.cuts.given_cuts import network_from_pieces
from gomea_bn.network import counting_pieces as counting


def test_missing_values_are_named_or_dropped(frame, learner) -> None:
    gaps = frame.copy()
    gaps.loc[[3, 4_000], "X3"] = np.nan
    gaps.loc[10, "X1"] = np.inf
    with pytest.raises(GomeaBnError, match="X1"):
        replace(learner).fit([gaps])
    gaps.loc[10, "X1"] = np.nan
    with pytest.raises(
        GomeaBnError, match=r"has missing values \(in a sample of [\d,]+ rows\) in 'X1' \(1\), 'X3' \(1\)"
    ):
        replace(learner, missing="error").fit([gaps.iloc[:3_000], gaps.iloc[3_000:]])
    dropped = replace(learner, missing="drop").fit([gaps.iloc[:3_000], gaps.iloc[3_000:]])
    assert dropped.network_.metadata["all_rows"]["n_rows"] == 5_997


def test_families_with_missing_values_have_the_score_of_a_table_in_memory(frame, learner) -> None:
    shares = np.linspace(0.0, 0.3, frame.shape[1])
    gaps = frame.mask(np.random.default_rng(0).random(frame.shape) < shares)
    fit = replace(learner, sample_rows=6_000).fit([gaps.iloc[:900], gaps.iloc[900:]])
    assert fit.score_ == pytest.approx(score_in_memory(gaps, fit.network_, learner), abs=1e-5)
    assert fit.network_.edges
    assert fit.network_.metadata["all_rows"]["n_rows"] == 6_000
    # a few draws differ from other draws by less than 2 % in tables of hundreds of rows
    in_memory = type(fit.network_).from_table(
        read_table(gaps, missing="keep"),
        fit.network_.edges,
        fit.network_.cut_points,
        pseudo_count="auto",
        shapes=fit.network_.shapes,
    )
    for name in fit.network_.names:
        np.testing.assert_allclose(fit.network_.tables[name], in_memory.tables[name], atol=0.02)


@pytest.fixture(scope="module")
def chain() -> pd.DataFrame:
    """Rows of a chain a, b, c, in which a is mostly missing where c is large."""
    generator = np.random.default_rng(3)
    a = generator.normal(size=6_000)
    b = a + generator.normal(scale=0.5, size=6_000)
    rows = pd.DataFrame(
        {"a": a, "b": b, "c": np.where(b + generator.normal(scale=0.3, size=6_000) > 0, 2, 1)}
    )
    rows.loc[(rows["c"] == 2) & (generator.random(6_000) < 0.8), "a"] = np.nan
    return rows


@pytest.mark.parametrize("pseudo_count", ["auto", 1.0])
def test_tables_of_incomplete_rows_are_expectations_as_in_memory(chain, pseudo_count) -> None:
    graph, cuts = [("a", "b"), ("b", "c")], {"a": [-1.0, 0.0, 1.0], "b": [-1.0, 0.0, 1.0]}
    pieces = [chain.iloc[:2_500], chain.iloc[2_500:2_501], chain.iloc[2_501:]]
    fit = partial(network_from_pieces, pieces, graph, cuts, pseudo_count=pseudo_count, shape="uniform")
    network = fit(sample_rows=1_000)
    expected = type(network).from_table(
        read_table(chain, missing="keep"), graph, cuts, pseudo_count=pseudo_count
    )
    for name in network.names:
        np.testing.assert_allclose(network.tables[name], expected.tables[name], atol=0.015)
    complete = chain["a"].dropna().to_numpy()
    of_available = np.bincount(np.searchsorted(cuts["a"], complete), minlength=4) / len(complete)
    # available cases have far too few large values
    assert network.tables["a"][3] > of_available[3] + 0.05
    assert network == fit(sample_rows=1_000, n_jobs=2)
    assert network.metadata["n_rows"] == 6_000
    assert fit(missing="drop").metadata["n_rows"] == len(complete)
    with pytest.raises(GomeaBnError, match=r"The table has missing values in 'a' \([\d,]+\)"):
        fit(missing="error", table_of=partial(read_table, missing="keep"))


def test_the_clock_ends_the_passes_that_complete_rows_with_a_warning(chain) -> None:
    # a gap of a column without children needs no pass
    learner = BayesNetLearner(
        max_seconds=0.01,
        sample_rows=1_000,
        knowledge=ExpertKnowledge(required_edges=[("a", "b")]),
        random_state=1,
    )
    with pytest.warns(GomeaBnWarning, match="counted from the rows that have values in all columns"):
        learner.fit(chain)
    assert learner.network_.metadata["all_rows"]["stopped_by"] == "max_seconds"


def test_rows_are_completed_a_part_of_a_block_at_a_time(chain, monkeypatch) -> None:
    monkeypatch.setattr(counting, "ROWS_IN_CACHE", 700)
    rows_at_once = []
    codes_of = counting._codes

    def recorded(views, cells):
        rows_at_once.append(cells.shape[1])
        return codes_of(views, cells)

    monkeypatch.setattr(counting, "_codes", recorded)
    lines: list[str] = []
    network = network_from_pieces(
        [chain], [("a", "b")], {"a": [0.0], "b": [0.0]}, shape="uniform", announce=lines.append
    )
    # five passes over 6,000 rows in one block
    assert rows_at_once == [*[700] * 8, 400] * 5
    assert [line for line in lines if "pass 5 of 5" in line] == lines[-1:]
    expected = type(network).from_table(
        read_table(chain, missing="keep"), [("a", "b")], {"a": [0.0], "b": [0.0]}, pseudo_count="auto"
    )
    for name in network.names:
        np.testing.assert_allclose(network.tables[name], expected.tables[name], atol=0.015)


@pytest.mark.long
def test_no_cuts_or_edges_of_one_column_improve_a_network_of_incomplete_rows(letters, learner) -> None:
    gaps = letters.mask(np.random.default_rng(1).random(letters.shape) < 0.15)
    fit = replace(learner, max_evaluations=300).fit([gaps.iloc[:1_500], gaps.iloc[1_500:]])
    score = score_in_memory(gaps, fit.network_, learner)
    assert fit.score_ == pytest.approx(score, abs=1e-6)
    names = list(gaps)
    for pair in [(a, b) for a in names for b in names if a != b]:
        try:
            other = type(fit.network_).from_table(
                read_table(gaps, missing="keep"), set(fit.network_.edges) ^ {pair}, {}
            )
        except GomeaBnError:
            continue
        assert score_in_memory(gaps, other, learner) < score + 1e-6


def test_columns_of_lists_are_refused_and_gaps_outside_the_sample_named(frame, learner, capsys) -> None:
    nested = frame.assign(both=[[1, 2]] * len(frame))
    with pytest.raises(
        GomeaBnError, match=r"^In a sample of 1,\d\d\d of 6,000 rows: Column 'both' must hold numbers"
    ):
        replace(learner).fit([nested])
    with pytest.raises(GomeaBnError, match=r"^Column 'both' must hold numbers"):
        replace(learner, sample_rows=6_000).fit([nested])
    gap = frame.copy()
    gap.loc[5_432, "X2"] = np.nan
    with pytest.raises(GomeaBnError, match=r"missing values \(in a sample .*'X2' \(1\)"):
        replace(learner, missing="error", verbose=True).fit([gap])
    assert "Searching" not in capsys.readouterr().err


def test_symbols_of_missing_values_are_those_of_tables_in_memory(frame) -> None:
    texts = frame.assign(X1=frame["X1"].astype(str))
    texts.loc[::7, "X1"] = "?"
    texts.loc[::11, "level"] = "NA"
    numbers = frame.copy()
    numbers.loc[::7, "X1"] = np.nan
    numbers["level"] = numbers["level"].astype(object)
    numbers.loc[::11, "level"] = None
    cuts = median_cuts(frame)
    with pytest.warns(GomeaBnWarning, match="read as missing values in a column: 'level'"):
        network = network_from_pieces([texts[:2_500], texts[2_500:]], [], cuts, missing="drop")
    assert network == network_from_pieces([numbers], [], cuts, missing="drop")


def test_texts_of_numbers_in_some_pieces_are_the_levels_of_the_others(frame, learner) -> None:
    codes = np.random.default_rng(2).integers(1, 4, len(frame))
    texts = frame[["X1"]].assign(code=codes.astype(str).astype(object))
    # one symbol of a missing value makes numbers of the column in its piece
    texts.loc[len(texts) - 3, "code"] = "?"
    pieces = [texts[:2_500], texts[2_500:]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GomeaBnWarning)
        network = replace(learner, density="bins", missing="drop").fit(pieces).network_
    assert network.levels["code"] == (1, 2, 3)
    assert network.counts["code"].sum() == len(frame) - 1
