"""Cells, counts and cuts of tables in pieces, against the machines for tables in memory."""

import datetime as dt
import os
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_inside import Promises, view_key
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from gomea_bn import GomeaBnError, fit_shape, read_table
from gomea_bn.data import cells as data_cells
from gomea_bn.data import pieces as pieces_module
from gomea_bn.data import row_counters
from gomea_bn.data.cells import Coding, CountPlan, View
from gomea_bn.data.kernels import cells_of_values
from gomea_bn.data.pieces import FramePiece, TablePiece
from gomea_bn.data.row_counters import Coded, DaskCounter, LocalCounter
from gomea_bn.data.survey import Sample, sample_of, sampled_rows, survey
from gomea_bn.problems import family_score, score_rule, scoring_method
from gomea_bn.problems.cuts import (
    CodedColumn,
    CutColumn,
    CutLimits,
    CutProblem,
    IntervalScore,
    ParentSets,
    coded_bins,
)
from gomea_bn.problems.cuts.counted_cells import cuts_around, scaled_log_density
from gomea_bn.problems.cuts.interval_dp import candidate_boundaries


@pytest.fixture
def frame() -> pd.DataFrame:
    generator = np.random.default_rng(3)
    x = generator.normal(size=900)
    y = x + generator.normal(scale=0.4, size=900)
    return pd.DataFrame(
        {"x": x, "y": y, "z": np.where(y > 0.3, "high", "low"), "k": generator.integers(0, 3, 900)}
    )


def pieces(frame: pd.DataFrame, *ends: int) -> list[FramePiece]:
    starts = [0, *ends]
    bounds = enumerate(zip(starts, [*ends, len(frame)], strict=True))
    return [FramePiece(frame.iloc[a:b], position) for position, (a, b) in bounds]


def coding(frame: pd.DataFrame, n_cells: int = 40) -> Coding:
    quantiles = np.arange(1, n_cells) / n_cells
    return Coding(
        tuple(frame.columns),
        {name: np.unique(np.quantile(frame[name], quantiles)) for name in ("x", "y")},
        {"z": ("high", "low"), "k": (0, 1, 2)},
    )


def test_cells_are_the_bins_of_searchsorted_and_missing_values_have_their_own(frame) -> None:
    frame.loc[5, "x"] = np.nan
    frame.loc[7, "z"] = None
    cells = coding(frame.dropna())
    coded = cells(FramePiece(frame))
    (block,) = coded.blocks()
    expected = np.searchsorted(cells.boundaries["x"], frame["x"], side="left")
    expected[5] = 255
    assert_array_equal(block[0], expected)
    # a value equal to a boundary lies below it
    assert (np.searchsorted(cells.boundaries["y"], cells.boundaries["y"], side="left") == np.arange(39)).all()
    assert coded.n_missing.tolist() == [1, 0, 1, 0]
    dropped = Coding(**{**vars(cells), "drops_missing": True})(FramePiece(frame))
    assert dropped.n_rows == 898


def test_a_table_in_memory_has_the_cells_of_its_frame(frame) -> None:
    frame.loc[5, "x"] = np.nan
    frame.loc[7, "z"] = None
    frame = frame.iloc[:, [2, 0, 3, 1]]
    table = read_table(frame, missing="keep")
    shape: dict[str, Callable[..., float]] = {
        "y": partial(scaled_log_density, fit_shape(frame["y"].to_numpy()).shape)
    }
    cells = replace(coding(frame.dropna()), names=("x", "y", "z", "k"), log_densities=shape)
    pieces = [cells(piece) for piece in (TablePiece(table, 3, 700), FramePiece(frame[3:700]))]
    of_table, of_frame = pieces
    for block, expected in zip(of_table.blocks(), of_frame.blocks(), strict=True):
        assert_array_equal(block, expected)
    assert of_table.n_missing.tolist() == of_frame.n_missing.tolist() == [1, 0, 1, 0]
    assert of_table.log_densities == of_frame.log_densities
    assert of_table.log_densities["y"] != 0


@pytest.mark.parametrize("n_boundaries", [0, 1, 2, 3, 7, 100, 253, 254])
def test_values_are_bisected_as_numpy_does(n_boundaries: int) -> None:
    generator = np.random.default_rng(n_boundaries)
    boundaries = np.sort(generator.normal(size=n_boundaries))
    values = np.concatenate((boundaries, generator.normal(size=301), [np.nan, -np.inf, np.inf]))
    codes = np.empty(len(values), np.uint8)
    assert cells_of_values(values, boundaries, 255, np.empty(64, np.int32), codes) == 1
    expected = np.searchsorted(boundaries, values, side="left")
    expected[np.isnan(values)] = 255
    assert_array_equal(codes, expected)


def test_frames_of_a_piece_are_joined_to_blocks(frame, monkeypatch) -> None:
    monkeypatch.setattr(pieces_module, "BATCH_ROWS", 200)
    monkeypatch.setattr(data_cells, "BLOCK_ROWS", 450)
    coded = coding(frame)(FramePiece(frame))
    blocks = list(coded.blocks())
    assert [block.shape for block in blocks] == [(4, 400), (4, 400), (4, 100)]
    expected = np.searchsorted(coding(frame).boundaries["x"], frame["x"], side="left")
    assert_array_equal(np.concatenate(blocks, axis=1)[0], expected)


@pytest.mark.parametrize("most_bytes", [0, 1500, 2**30])
def test_counts_equal_those_of_numpy_for_any_pieces_threads_and_store(frame, most_bytes: int) -> None:
    cells = coding(frame)
    halves = np.arange(40) // 20
    x, y = View.of_codes(0, halves, 2), View.of_codes(1, np.arange(40), 40)
    z, k = View.of_codes(2, np.arange(2), 2), View.of_codes(3, np.arange(3), 3)
    wide = View.of_codes(0, np.arange(40), 40)
    plan = CountPlan([(x, z), (k, x, y), (z,), (wide, y, k, z, wide)])
    codes = {
        "x": np.searchsorted(cells.boundaries["x"], frame["x"], side="left"),
        "y": np.searchsorted(cells.boundaries["y"], frame["y"], side="left"),
        "z": (frame["z"] == "low").to_numpy().astype(int),
        "k": frame["k"].to_numpy(),
    }
    for n_threads, ends in ((1, ()), (3, (1, 300, 899))):
        with LocalCounter(pieces(frame, *ends), n_threads, most_bytes) as counter:
            assert counter.code(cells).n_rows == 900
            tables = plan.tables(counter.count(plan.count))
            again = plan.tables(counter.count(plan.count))
        members = (["x", "z"], ["k", "x", "y"], ["z"], ["x", "y", "k", "z", "x"])
        for table, second, names, family in zip(tables, again, members, (0, 1, 2, 3), strict=True):
            expected = np.zeros(plan.shapes[family], np.int64)
            columns = [codes[name] // 20 if name == "x" and family < 2 else codes[name] for name in names]
            np.add.at(expected, tuple(columns), 1)
            assert_array_equal(table, expected)
            assert_array_equal(second, expected)
    # the last family has more cells than the narrow counter numbers
    assert np.prod(plan.shapes[3]) > 65_536


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk_under_the_cells_is_one_line(frame, monkeypatch) -> None:
    monkeypatch.setattr(
        row_counters.tempfile, "mkstemp", lambda **_options: (os.open("/dev/full", os.O_WRONLY), "cells")
    )
    counter = LocalCounter([FramePiece(frame)], 1, most_bytes=0)
    with counter, pytest.raises(GomeaBnError, match=r"bytes of cells .*No space left.*TMPDIR"):
        counter.code(coding(frame))


def drawn(whole: list[FramePiece], n_rows: int, seed: int) -> Sample:
    positions = sampled_rows([len(piece.frame) for piece in whole], n_rows, seed=seed)
    return sample_of(whole, [survey(p, rows) for p, rows in zip(whole, positions, strict=True)], positions)


def test_a_sample_has_extreme_rows_and_every_rare_level(frame) -> None:
    frame["rare"] = "usual"
    frame.loc[[17, 640], "rare"] = ["seldom", "once"]
    whole = pieces(frame, 100, 101, 500)
    assert sum(map(len, sampled_rows([len(piece.frame) for piece in whole], 60, seed=4))) == 60
    sample = drawn(whole, 60, seed=4).rows
    assert 60 <= len(sample) < 80
    assert set(sample["rare"]) == {"usual", "seldom", "once"}
    for name in ("x", "y"):
        assert (sample[name].min(), sample[name].max()) == (frame[name].min(), frame[name].max())
    # every row of the sample is a row of the table, once
    merged = sample.merge(frame, on=["x", "y"])
    assert len(merged) == len(sample) == len(sample.drop_duplicates())
    everything = sampled_rows([3, 0, 4], 100, seed=1)
    assert [part.tolist() for part in everything] == [[0, 1, 2], [], [0, 1, 2, 3]]


def test_rows_of_a_sample_are_named_by_their_pieces(frame) -> None:
    whole = pieces(frame, 100, 101, 500)
    sample = drawn(whole, 60, seed=4)
    ends = np.cumsum([0, *(len(piece.frame) for piece in whole)])
    of_frame = frame.iloc[ends[sample.piece_of] + sample.position_in].reset_index(drop=True)
    pd.testing.assert_frame_equal(sample.rows, of_frame)
    last = len(sample.rows) - 1
    assert sample.named(np.array([0])) == f"row {sample.position_in[0]} of frame 0 (counted from 0)"
    two = sample.named(np.array([0, 1, last]))
    assert two.startswith(f"rows {sample.position_in[0]}, {sample.position_in[1]} of frame 0 and row ")
    assert two.endswith(f"{sample.position_in[last]} of frame 3 (counted from 0)")
    assert sample.named(np.arange(len(sample.rows))).endswith(f" and {last - 7} more (counted from 0)")


@pytest.mark.parametrize("values", [np.arange(2000.0), np.arange(2000), pd.date_range("2000", periods=2000)])
def test_a_piece_without_a_value_leaves_the_extremes_of_the_others(values):
    # the extreme values lie in the middle of the piece
    full = pd.DataFrame({"x": values[np.roll(np.arange(2000), 900)], "y": 0.0})
    untyped = pd.DataFrame({"x": np.full(9, None, object), "y": 0.0})
    positions = [np.array([5]), np.array([2])]
    parts = [untyped.iloc[[5]], full]
    sample = sample_of(pieces(full, 9), parts, positions).rows
    assert sample["x"].min() == values[0]
    assert sample["x"].max() == values[-1]


def sample_of_frame(frame: pd.DataFrame) -> pd.DataFrame:
    # a piece of up to 300 values would be kept as a whole
    return drawn(pieces(frame, 3, 4), 20, seed=1).rows


@pytest.mark.parametrize(
    "value_of",
    [
        lambda v: Decimal(f"{v:.6f}"),
        lambda v: dt.date(2000, 1, 1) + dt.timedelta(days=round(1e4 * v)),
        lambda v: pd.Timedelta(seconds=round(1e4 * v)),
        lambda v: f"{v:.6f}",
        # a text among the numbers of a column that may be declared continuous
        lambda v: "?" if 0.5 < v < 0.52 else f"{v:.6f}",
    ],
)
def test_a_sample_has_the_extremes_of_all_kinds_of_values(frame, value_of):
    frame["q"] = [value_of(v) for v in frame["x"]]
    frame.loc[7, "q"] = None
    # extremes of no other column
    sample = sample_of_frame(frame[["q"]])
    others = frame.drop(index=7)
    for row in (others["x"].idxmin(), others["x"].idxmax()):
        assert frame.loc[row, "q"] in sample["q"].tolist()


def test_a_sample_has_the_extremes_of_complete_rows(frame):
    frame.loc[frame["x"].nlargest(3).index, "y"] = np.nan
    sample = sample_of_frame(frame)
    assert sample["x"].max() == frame["x"].max()
    assert sample.dropna()["x"].max() == frame.dropna()["x"].max()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([("density-bic", False), ("density-bd", False), ("density-bd", True)]),
    st.sampled_from([None, "marginal", "auto"]),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([2, 60]),
)
def test_best_cuts_of_cells_are_those_of_rows(seed, scoring, shape, share, least) -> None:
    name, is_default = scoring
    rng = np.random.default_rng(seed)
    n = int(rng.integers(300, 600))
    y = np.round(rng.normal(size=n) * 3) / 3
    x, k = rng.integers(0, 3, n), rng.integers(0, 2, n)
    z = ((y + x + rng.normal(size=n)) > k).astype(np.int64)
    fitted = None
    if shape is not None:
        fitted = replace(fit_shape(y), may_be_uniform=shape == "auto")
    y[rng.random(n) < share] = np.nan
    for codes in (x, k, z):
        codes[rng.random(n) < share] = -1
    column = CutColumn.of_values(y)
    present = np.sort(rng.choice(len(column.cuts), 2, replace=False))
    # y has the parent x, and z the parents y and k
    discrete = [
        CodedColumn(c.astype(np.int32), m, bool((c < 0).any()), is_level=True)
        for c, m in ((x, 3), (z, 2), (k, 2))
    ]
    around = ParentSets([(1,), (), (0, 3), ()]).neighbourhood(0, [coded_bins(y, column.cuts), *discrete])
    method = scoring_method(name)
    rule = score_rule(method, n, n_variables=4, centred=is_default, equivalent=is_default)
    centre = coded_bins(y, column.cuts[present])
    of_rows = CutProblem.of_rows(column, replace(around, centre=centre), IntervalScore(method, rule), fitted)
    limits = CutLimits(1, 6, 0.02, least)

    cells = coded_bins(y, column.cuts)
    n_cells = cells.cardinality
    of_cell = np.bincount(cells.codes[cells.codes >= 0], minlength=n_cells)
    ends = column.low, column.high
    ranges = CutColumn.of_cells(column.cuts, ends, of_cell, np.ones(n_cells, np.int64), n)
    bins = [centre, *discrete]
    views = [view_of(v, c) for v, c in enumerate((cells, *discrete))]
    families = [(1, 0), (0, 3, 2)]
    # a table of logarithms that ends before the number of rows
    short = IntervalScore(method, rule._replace(x_log_x=rule.x_log_x[:20]))
    assert len(short.table) < n
    of_cells = cuts_around(
        ranges,
        present,
        [[views[v] for v in family] for family in families],
        [[view_of(v, bins[v]) for v in family] for family in families],
        [table_of([(cells, *discrete)[v] for v in family]) for family in families],
        rule,
        short,
        method.cut_cost * np.log(len(column.cuts)),
        fitted,
    )
    best, value, now = of_cells.best(limits, present)
    expected = of_rows.optimal(limits)
    assert expected is not None
    assert value == pytest.approx(expected.value, abs=1e-7)
    assert of_rows.value(column.cuts[best]) == pytest.approx(expected.value, abs=1e-7)
    for cuts in (column.cuts[present], column.cuts[best], column.cuts[:0], column.cuts):
        assert of_cells.value(cuts) == pytest.approx(of_rows.value(cuts), abs=1e-7)
    if now > -np.inf:
        assert now == pytest.approx(of_rows.value(column.cuts[present]), abs=1e-7)


def view_of(v: int, column: CodedColumn) -> View:
    n_codes = column.cardinality
    return View.of_codes(
        v, np.arange(n_codes), n_codes, has_missing=column.has_missing, is_level=column.is_level
    )


def table_of(columns: list[CodedColumn]) -> NDArray[np.int64]:
    """Count rows one by one; a missing value has the last code."""
    table = np.zeros([column.cardinality + column.has_missing for column in columns], np.int64)
    for row in zip(*(column.codes.tolist() for column in columns), strict=True):
        table[row] += 1
    return table


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 3),
    st.lists(st.integers(0, 80), max_size=4),
    st.sampled_from([0, 200, 2**30]),
)
def test_any_pieces_of_a_table_with_gaps_have_the_counts_of_its_rows(
    seed, n_threads, ends, most_bytes
) -> None:
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {"x": rng.normal(size=80), "y": rng.exponential(size=80), "z": rng.integers(0, 3, 80)}
    )
    rows = rows.mask(rng.random(rows.shape) < rng.choice([0.0, 0.3]))
    cuts = {name: np.sort(rng.normal(size=rng.integers(0, 6))) for name in ("x", "y")}
    columns = [coded_bins(rows[name].to_numpy(), cuts[name]) for name in ("x", "y")]
    columns.append(CodedColumn(rows["z"].fillna(-1).to_numpy(np.int32), 3, bool(rows["z"].isna().any())))
    families = [(0,), (0, 1), (2, 0), (1, 2, 0)]
    plan = CountPlan([[view_of(v, columns[v]) for v in family] for family in families])
    with LocalCounter(pieces(rows, *sorted(ends)), n_threads, most_bytes) as counter:
        coded = counter.code(Coding(tuple(rows.columns), cuts, {"z": (0, 1, 2)}))
        tables = plan.tables(counter.count(plan.count))
    assert coded.n_missing.tolist() == rows.isna().sum().tolist()
    for table, family in zip(tables, families, strict=True):
        assert_array_equal(table, table_of([columns[v] for v in family]))


def test_candidates_are_all_boundaries_or_spread_ones_with_those_near_the_cuts() -> None:
    present = np.array([0, 77, 200])
    assert_array_equal(candidate_boundaries(254, 900, present), np.arange(254))
    some = candidate_boundaries(254, 10_000, present)
    assert 77 <= len(some) <= 77 + 3 * len(present)
    assert {0, 1, 76, 77, 78, 199, 200, 201, 253} <= set(some.tolist())
    assert np.diff(some).max() <= 4
    assert len(candidate_boundaries(254, 10**9, present)) >= 8


def test_the_key_of_bins_depends_on_their_cuts_alone() -> None:
    coarse, fine = np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0, 1.5, 2.0, 3.0, 4.0])

    def key(boundaries, *cuts: float, column: int = 3) -> bytes:
        indices = np.searchsorted(boundaries, cuts)
        codes = np.searchsorted(indices, np.arange(len(boundaries) + 1), side="left")
        return view_key(View.of_codes(column, codes, len(cuts) + 1), boundaries)

    assert key(coarse, 1.0, 3.0) == key(fine, 1.0, 3.0)
    assert (
        len({key(coarse, 1.0, 3.0), key(coarse, 2.0, 3.0), key(coarse), key(coarse, 1.0, 3.0, column=4)}) == 4
    )


def test_moves_that_lost_much_and_cuts_without_moves_around_them_are_not_counted_again() -> None:
    promises = Promises()
    assert promises.may_gain(1, 2, 10.0)
    assert promises.may_recut(1)
    promises.gains[1, 2], promises.gains[2, 1] = -11.0, -9.0
    assert not promises.may_gain(1, 2, 10.0)
    assert promises.may_gain(2, 1, 10.0)
    promises.note_priced([1, 2])
    promises.note_move([1], 0.6)
    assert not promises.may_recut(1)
    promises.note_move([1, 3], 0.6)
    assert [promises.may_recut(column) for column in (1, 2, 3)] == [True, False, True]
    promises.forget_prices()
    assert promises.may_recut(2)


def test_the_sum_of_log_densities_is_that_of_the_shape(frame) -> None:
    values = np.where(frame["k"] == 1, 0.25, frame["x"])
    shape = fit_shape(values).shape
    assert shape.points
    with_gap = np.append(values, np.nan)
    smooth = values[values != 0.25]
    expected = shape.log_density(values).sum() + len(smooth) * np.log(shape.high - shape.low)
    assert scaled_log_density(shape, with_gap) == pytest.approx(expected, rel=1e-12)


def test_the_score_of_a_table_is_the_marginal_likelihood_of_the_scorer() -> None:
    counts = np.random.default_rng(0).integers(0, 30, (2, 3, 4))
    counts[1, 2] = 0
    method = scoring_method("density-bd")
    rule = score_rule(method, 2000)
    score = IntervalScore(method, rule)
    assert_allclose(
        family_score(counts, rule), score.of_counts(counts.reshape(6, 4), 6.0, [False] * 3), rtol=1e-12
    )


def rows_at(position: int, piece: Coded) -> NDArray[np.int64]:
    """Return the number of rows of a piece at its position among five, int64 (5,)."""
    return piece.n_rows * (np.arange(5) == position)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_arrays_of_pieces_are_added(frame, n_threads: int) -> None:
    with LocalCounter(pieces(frame, 100, 101, 500, 700), n_threads, 0) as local:
        local.code(coding(frame))
        assert_array_equal(local.total(rows_at), [100, 1, 399, 200, 200])


def test_workers_count_what_threads_count_in_a_task_a_thread(frame) -> None:
    from distributed import Client, LocalCluster

    whole, cells = pieces(frame, 100, 101, 500, 700), coding(frame)
    plan = CountPlan([(View.of_codes(1, np.arange(40), 40), View.of_codes(2, np.arange(2), 2))])
    with LocalCounter(whole, 1, 2**30) as local:
        local.code(cells)
        expected = local.count(plan.count)
    with (
        LocalCluster(n_workers=2, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        counter = DaskCounter(client, whole)
        assert counter.sizes() == [100, 1, 399, 200, 200]
        coded = counter.code(cells)
        assert (coded.n_rows, coded.n_missing.tolist()) == (900, [0, 0, 0, 0])
        tasks = counter._pieces_of_threads()
        assert sorted(p.key for _, some in tasks for p in some) == sorted(p.key for p in counter._coded)
        assert len(tasks) <= 4
        assert_array_equal(counter.count(plan.count), expected)
        assert_array_equal(counter.total(rows_at), [100, 1, 399, 200, 200])
