"""Networks of tables in pieces, against the score of tables in memory, and on every kind of source."""

from __future__ import annotations

import os
import re
import signal
import threading
from dataclasses import replace
from functools import partial
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from dask import delayed

from gomea_bn import BayesNetLearner, Checkpoint
from gomea_bn.data.pieces import files_digest, is_in_pieces, pieces_of
from gomea_bn.data.table import read_table
from gomea_bn.errors import GomeaBnError, GomeaBnWarning
from gomea_bn.large import incomplete_rows, learning
from gomea_bn.large.cells import Coding, coded_piece
from gomea_bn.large.climb import Climb
from gomea_bn.large.counters.local import LocalCounter
from gomea_bn.large.fitting import network_from_pieces
from gomea_bn.large.learning import learn_from_pieces, score_of_pieces
from gomea_bn.large.moves import Move
from gomea_bn.learning.learning_options import LearningOptions
from gomea_bn.learning.learning_problem import learning_problem, scored_variables, scoring_of
from gomea_bn.problems.cuts.policies import Policy
from gomea_bn.problems.scoring.family_scorer import Family, FamilyScorer
from gomea_bn.runtime import checkpoints, cluster
from gomea_bn.simulation.random_networks import random_network


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rows = random_network(5, kind="random", random_state=5).sample(6_000, random_state=1)
    rows["level"] = np.where(rows["X2"] > rows["X2"].median(), "high", "low")
    return rows


@pytest.fixture(scope="module")
def learner() -> BayesNetLearner:
    return BayesNetLearner(max_seconds=None, max_evaluations=1_500, sample_rows=1_000, random_state=2)


@pytest.fixture(scope="module")
def fit(frame, learner):
    return learn_from_pieces(learner, [frame.iloc[:2_500], frame.iloc[2_500:2_501], frame.iloc[2_501:]])


def test_the_seed_of_a_run_repeats_its_sample(frame):
    options: dict[str, Any] = {"max_seconds": None, "max_evaluations": 100, "sample_rows": 1_000}
    drawn = learn_from_pieces(BayesNetLearner(**options), [frame])
    again = learn_from_pieces(BayesNetLearner(**options, random_state=drawn.on_sample.seed_), [frame])
    assert again.on_sample.table_.to_frame().equals(drawn.on_sample.table_.to_frame())
    assert again.network == drawn.network


def score_in_memory(frame: pd.DataFrame, network, learner: BayesNetLearner) -> float:
    """The score of a network over all rows by the machine for tables in memory."""
    table = read_table(frame, missing="keep")
    options = replace(LearningOptions.of(learner, table.n_rows), curves="none")
    method, rule = scoring_of(table, options)
    variables, _ = scored_variables(table, options)
    variables = [
        replace(v, policies=(Policy(network.cut_points[v.name]),)) if v.policies else v for v in variables
    ]
    scorer = FamilyScorer(variables, method, rule)
    position = {name: v for v, name in enumerate(table.names)}
    families = [
        Family((position[name], 0), tuple((position[p], 0) for p in network.parents(name)))
        for name in table.names
    ]
    return float(scorer.score(families).sum()) + scorer.constant_score


def test_the_score_over_all_rows_is_that_of_a_table_in_memory(frame, fit, learner) -> None:
    # with a sample of all rows nothing is estimated
    whole = learn_from_pieces(replace(learner, sample_rows=6_000), [frame.iloc[:900], frame.iloc[900:]])
    assert whole.score == pytest.approx(score_in_memory(frame, whole.network, learner), abs=1e-6)
    # from a sample only the number of distinct values and the shapes are estimated
    assert fit.score == pytest.approx(score_in_memory(frame, fit.network, learner), rel=0.01)


def test_shaped_columns_have_the_score_of_a_table_in_memory(learner) -> None:
    generator = np.random.default_rng(4)
    x = generator.normal(size=3_000)
    y = np.where(generator.random(3_000) < 0.3, 0.0, x + generator.normal(scale=0.5, size=3_000))
    bells = pd.DataFrame({"x": x, "y": y})
    fit = learn_from_pieces(replace(learner, sample_rows=3_000), [bells.iloc[:1_000], bells.iloc[1_000:]])
    assert set(fit.network.shapes) == {"x", "y"}
    assert fit.network.shapes["y"].points
    assert fit.score == pytest.approx(score_in_memory(bells, fit.network, learner), abs=1e-6)


def test_all_rows_improve_the_network_of_the_sample(frame, fit, learner) -> None:
    record = fit.record
    assert record["n_rows"] == 6_000
    assert 1_000 <= record["sample_rows"] < 1_100
    assert {move["kind"] for move in record["moves"]} <= {"add", "remove", "reverse", "cuts"}
    assert all(move["nats"] > 0 for move in record["moves"])
    sample = score_in_memory(frame, fit.on_sample.network_, learner)
    assert score_in_memory(frame, fit.network, learner) > sample + 10
    assert fit.network.metadata["n_rows"] == 6_000
    for name in ("X1", "X4"):
        assert fit.network.support[name] == (frame[name].min(), frame[name].max())


def test_no_single_edge_improves_the_network(frame, fit, learner) -> None:
    network = fit.network
    score = score_in_memory(frame, network, learner)
    names = list(network.names)
    for parent in names:
        for child in names:
            if parent == child:
                continue
            edges = set(network.edges) ^ {(parent, child)}
            try:
                other = type(network).from_table(read_table(frame), edges, network.cut_points)
            except GomeaBnError:
                continue
            assert score_in_memory(frame, other, learner) < score + 1e-6


def test_the_score_of_a_network_over_all_rows_is_that_of_learning(frame, fit, learner) -> None:
    pieces = [frame.iloc[:3_000], frame.iloc[3_000:]]
    assert score_of_pieces(learner, pieces, fit.network) == pytest.approx(fit.score, abs=1e-7)
    assert score_of_pieces(learner, pieces, fit.on_sample.network_) < fit.score - 10


def test_tables_count_all_rows(frame, fit) -> None:
    counted = type(fit.network).from_table(
        read_table(frame), fit.network.edges, fit.network.cut_points, pseudo_count="auto"
    )
    for name in fit.network.names:
        np.testing.assert_allclose(fit.network.tables[name], counted.tables[name], rtol=0, atol=1e-12)


def test_files_threads_and_workers_give_one_network(frame, fit, learner, tmp_path) -> None:
    for k, (a, b) in enumerate([(0, 2_500), (2_500, 2_501), (2_501, 6_000)]):
        frame.iloc[a:b].to_parquet(tmp_path / f"part-{k}.parquet", row_group_size=700)
    (tmp_path / "_metadata.parquet").write_bytes(b"left out")
    fitted = replace(learner, n_jobs=3).fit(tmp_path)
    assert fitted.network_ == fit.network
    assert fitted.score_ == fit.score
    pattern = replace(learner).fit(str(tmp_path / "part-*.parquet"))
    assert pattern.network_ == fit.network


def test_arrow_files_are_tables_in_pieces(frame, tmp_path) -> None:
    with pa.OSFile(str(tmp_path / "rows.arrow"), "wb") as sink:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=2_000)
    pieces = pieces_of(tmp_path)
    assert [piece.n_rows() for piece in pieces] == [2_000, 2_000, 2_000]
    read = pd.concat([part for piece in pieces for part in piece.frames()], ignore_index=True)
    assert read["level"].tolist() == frame["level"].tolist()
    np.testing.assert_array_equal(read["X1"], frame["X1"])


def test_dask_frames_are_tables_in_pieces(frame, fit, learner) -> None:
    parts = [delayed(frame.iloc[a:b]) for a, b in ((0, 2_500), (2_500, 2_501), (2_501, 6_000))]
    rows = dd.from_delayed(parts, meta=frame.iloc[:0])
    assert is_in_pieces(rows)
    assert learn_from_pieces(learner, rows).network == fit.network


@pytest.mark.long
def test_a_worker_that_dies_is_replaced_and_nothing_is_counted_twice(frame, fit, learner, tmp_path) -> None:
    from distributed import Client, LocalCluster

    for k in range(12):
        frame.iloc[k * 500 : (k + 1) * 500].to_parquet(tmp_path / f"part-{k:02}.parquet")
    expected = learn_from_pieces(learner, tmp_path)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        victim = next(iter(client.run(os.getpid).values()))
        killed: list[int] = []

        def kill_at_the_first_count(line: str) -> None:
            if "counted" in line and not killed:
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

        found = learn_from_pieces(
            replace(learner, scheduler=cluster.scheduler_address), tmp_path, announce=kill_at_the_first_count
        )
    assert killed
    assert found.network == expected.network
    assert found.score == expected.score


def test_missing_values_are_named_or_dropped(frame, learner) -> None:
    gaps = frame.copy()
    gaps.loc[[3, 4_000], "X3"] = np.nan
    gaps.loc[10, "X1"] = np.inf
    with pytest.raises(GomeaBnError, match="X1"):
        learn_from_pieces(learner, [gaps])
    gaps.loc[10, "X1"] = np.nan
    with pytest.raises(
        GomeaBnError,
        match=r"has missing values \(in a sample of [\d,]+ rows\) in 'X1' \(1\), 'X3' \(1\)",
    ):
        learn_from_pieces(replace(learner, missing="error"), [gaps.iloc[:3_000], gaps.iloc[3_000:]])
    dropped = learn_from_pieces(replace(learner, missing="drop"), [gaps.iloc[:3_000], gaps.iloc[3_000:]])
    assert dropped.record["n_rows"] == 5_997


def test_families_with_missing_values_have_the_score_of_a_table_in_memory(frame, learner) -> None:
    shares = np.linspace(0.0, 0.3, frame.shape[1])
    gaps = frame.mask(np.random.default_rng(0).random(frame.shape) < shares)
    fit = learn_from_pieces(replace(learner, sample_rows=6_000), [gaps.iloc[:900], gaps.iloc[900:]])
    assert fit.score == pytest.approx(score_in_memory(gaps, fit.network, learner), abs=1e-5)
    assert fit.network.edges
    assert fit.record["n_rows"] == 6_000
    # a few draws differ from other draws by less than 2 % in tables of hundreds of rows
    in_memory = type(fit.network).from_table(
        read_table(gaps, missing="keep"),
        fit.network.edges,
        fit.network.cut_points,
        pseudo_count="auto",
        shapes=fit.network.shapes,
    )
    for name in fit.network.names:
        np.testing.assert_allclose(fit.network.tables[name], in_memory.tables[name], atol=0.02)


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
        np.testing.assert_allclose(network.tables[name], expected.tables[name], atol=0.01)
    complete = chain["a"].dropna().to_numpy()
    of_available = np.bincount(np.searchsorted(cuts["a"], complete), minlength=4) / len(complete)
    # available cases have far too few large values
    assert network.tables["a"][3] > of_available[3] + 0.05
    assert network == fit(sample_rows=1_000, n_jobs=2)
    assert network.metadata["n_rows"] == 6_000
    assert fit(missing="drop").metadata["n_rows"] == len(complete)
    with pytest.raises(GomeaBnError, match=r"The table has missing values in 'a' \([\d,]+\)"):
        fit(missing="error", table_of=partial(read_table, missing="keep"))


def test_rows_are_completed_a_part_of_a_block_at_a_time(chain, monkeypatch) -> None:
    monkeypatch.setattr(incomplete_rows, "_ROWS_OF_CODES", 700)
    rows_at_once = []
    codes_of = incomplete_rows.CompletedCounts._codes

    def recorded(self, cells):
        rows_at_once.append(cells.shape[1])
        return codes_of(self, cells)

    monkeypatch.setattr(incomplete_rows.CompletedCounts, "_codes", recorded)
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
        np.testing.assert_allclose(network.tables[name], expected.tables[name], atol=0.01)


def test_no_cuts_or_edges_of_one_column_improve_a_network_of_incomplete_rows(letters, learner) -> None:
    gaps = letters.mask(np.random.default_rng(1).random(letters.shape) < 0.15)
    fit = learn_from_pieces(replace(learner, max_evaluations=300), [gaps.iloc[:1_500], gaps.iloc[1_500:]])
    score = score_in_memory(gaps, fit.network, learner)
    assert fit.score == pytest.approx(score, abs=1e-6)
    names = list(gaps)
    for pair in [(a, b) for a in names for b in names if a != b]:
        try:
            other = type(fit.network).from_table(
                read_table(gaps, missing="keep"), set(fit.network.edges) ^ {pair}, {}
            )
        except GomeaBnError:
            continue
        assert score_in_memory(gaps, other, learner) < score + 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"density": "averaged"}, "needs a table in memory"),
        ({"discretizer": "equal-frequency"}, "'optimal' alone"),
        ({"scoring_method": "density-bic"}, "continuous columns can be learned with .*'density-bd' alone"),
        ({"sample_rows": 10}, "sample_rows must be an integer of at least 1000"),
        ({"scheduler": "tcp://127.0.0.1:9"}, "No Dask scheduler answers"),
    ],
)
def test_options_that_do_not_apply_are_refused(frame, learner, monkeypatch, options, message) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    with pytest.raises(GomeaBnError, match=message):
        learn_from_pieces(replace(learner, **options), [frame])


def test_files_of_different_columns_are_named(frame, learner, tmp_path) -> None:
    with pytest.raises(GomeaBnError, match="has no files that end in"):
        learner.fit(tmp_path)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.rename(columns={"X3": "Y3"}).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(GomeaBnError, match=r"lacks the column 'X3' and has 1 further column: 'Y3'"):
        learner.fit(tmp_path)
    frame[frame.columns[::-1]].to_parquet(tmp_path / "b.parquet")
    with pytest.raises(GomeaBnError, match="another order"):
        learner.fit(tmp_path)
    (tmp_path / "b.parquet").write_bytes(b"no table")
    with pytest.raises(GomeaBnError, match="not a readable Parquet file"):
        learner.fit(tmp_path)


def test_rules_about_edges_hold_on_all_rows(frame, fit, learner) -> None:
    from gomea_bn import ExpertKnowledge

    absent = next(
        (a, b)
        for a in fit.network.names
        for b in fit.network.names
        if a != b and not {(a, b), (b, a)} & set(fit.network.edges)
    )
    forbidden = fit.network.edges[0]
    knowledge = ExpertKnowledge(required_edges=[absent], forbidden_edges=[forbidden], max_indegree=2)
    cuts = {"X1": [float(frame["X1"].median())]}
    ruled = learn_from_pieces(replace(learner, knowledge=knowledge, cut_points=cuts), [frame])
    assert absent in ruled.network.edges
    assert forbidden not in ruled.network.edges
    assert max(len(ruled.network.parents(name)) for name in ruled.network.names) <= 2
    assert ruled.network.cut_points["X1"].tolist() == cuts["X1"]


def test_all_rows_join_only_the_pairs_that_a_limit_leaves_on_the_sample(frame, fit, learner) -> None:
    limited = learn_from_pieces(replace(learner, max_candidates=1), [frame])
    options = LearningOptions.of(replace(learner, max_candidates=1, curves="none"), len(frame))
    pairs = learning_problem(limited.on_sample.table_, options).pairs
    assert pairs is not None
    names = limited.network.names
    assert all(pairs[names.index(parent), names.index(child)] for parent, child in limited.network.edges)
    assert len(limited.network.edges) < len(fit.network.edges)


def test_ctrl_c_keeps_a_network_of_all_rows(frame, learner, monkeypatch) -> None:
    before = Climb.improve
    calls = []

    def interrupted(self, *, edges: bool) -> float:
        calls.append(edges)
        os.kill(os.getpid(), signal.SIGINT)
        return before(self, edges=edges)

    assert threading.current_thread() is threading.main_thread()
    monkeypatch.setattr(learning.Climb, "improve", interrupted)
    stopped = learn_from_pieces(learner, [frame])
    assert calls == [False]
    assert stopped.record["stopped_by"] == "interrupt"
    assert stopped.record["moves"] == []
    assert stopped.network.metadata["n_rows"] == 6_000


def test_ctrl_c_during_a_pass_makes_only_moves_that_raise_the_score(frame, learner, monkeypatch) -> None:
    before, make = Climb._pass, Climb._make
    at_once_of_moves = []

    def interrupted(self, *, edges: bool, breadth: int) -> list[Move]:
        moves = before(self, edges=edges, breadth=breadth)
        os.kill(os.getpid(), signal.SIGINT)
        return moves

    def noted(self, moves, *, at_once: bool) -> int:
        at_once_of_moves.append(at_once)
        return make(self, moves, at_once=at_once)

    monkeypatch.setattr(Climb, "_pass", interrupted)
    monkeypatch.setattr(Climb, "_make", noted)
    stopped = learn_from_pieces(learner, [frame])
    # the first moves of cuts are all made at once as a rule, and taken back by the next pass if they lose
    assert at_once_of_moves == [False]
    gains = [move["nats"] for move in stopped.record["moves"]]
    assert gains
    of_sample = score_of_pieces(learner, [frame], stopped.on_sample.network_)
    assert stopped.score == pytest.approx(of_sample + sum(gains), abs=1e-6)
    at_once_of_moves.clear()
    gaps = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1)
    stopped = learn_from_pieces(learner, [gaps])
    assert (at_once_of_moves, stopped.record["moves"]) == ([], [])


@pytest.mark.parametrize("n_counts", [0, 1, 6, 9])
def test_a_killed_run_goes_on_without_counting_again(
    frame, fit, learner, tmp_path, monkeypatch, n_counts: int
) -> None:
    monkeypatch.setattr(checkpoints, "_MOST_SHARE", 1.0)
    pieces = [frame.iloc[:2_500], frame.iloc[2_500:2_501], frame.iloc[2_501:]]
    before, counted = LocalCounter.count, []

    def killed(self, plan):
        if len(counted) == n_counts:
            raise RuntimeError("killed")
        counted.append(plan)
        return before(self, plan)

    monkeypatch.setattr(LocalCounter, "count", killed)
    with pytest.raises(RuntimeError, match="killed"):
        learn_from_pieces(learner, pieces, checkpoint=Checkpoint(tmp_path, every=0))
    first = len(counted)
    n_counts, counted = -1, []
    resumed = learn_from_pieces(learner, pieces, checkpoint=Checkpoint(tmp_path, every=0, resume=True))
    assert resumed.network == fit.network
    assert resumed.score == fit.score
    assert resumed.record["moves"] == fit.record["moves"]
    assert resumed.record["passes"] == fit.record["passes"]
    # the rows of cells are counted before the first pass, and once more for every coding
    assert len(counted) + first <= fit.record["passes"] + fit.record["readings"]
    assert resumed.record["readings"] <= fit.record["readings"] + 2
    # what has ended gives its result again; its tables are counted
    n_counts, counted = -1, []
    again = learn_from_pieces(learner, pieces, checkpoint=Checkpoint(tmp_path, resume=True))
    assert again.network == fit.network
    assert len(counted) == 1


def test_a_checkpoint_of_other_rows_or_options_is_refused(frame, learner, tmp_path) -> None:
    short = replace(learner, max_evaluations=100, random_state=None)
    first = learn_from_pieces(short, [frame], checkpoint=tmp_path)
    again = Checkpoint(tmp_path, resume=True)
    assert learn_from_pieces(short, [frame], checkpoint=again).network == first.network
    with pytest.raises(GomeaBnError, match="option max_evaluations was 100, and is now 200"):
        learn_from_pieces(replace(short, max_evaluations=200), [frame], checkpoint=again)
    with pytest.raises(GomeaBnError, match="the table has other values"):
        learn_from_pieces(short, [frame.iloc[1:]], checkpoint=again)
    frame.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(GomeaBnError, match="names, sizes and times of the files was"):
        learn_from_pieces(short, tmp_path, checkpoint=again)


def test_a_second_ctrl_c_keeps_the_network_of_the_sample(frame, learner, monkeypatch) -> None:
    def interrupted(self, coding):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(LocalCounter, "code", interrupted)
    stopped = learn_from_pieces(learner, [frame])
    assert stopped.record["stopped_by"] == "interrupt"
    assert stopped.record["tables_of"] == "sample"
    assert stopped.network.edges == stopped.on_sample.network_.edges
    assert stopped.network.metadata["n_rows"] == stopped.record["sample_rows"]
    assert stopped.network.metadata["all_rows"] == stopped.record


@pytest.fixture(scope="module")
def letters() -> pd.DataFrame:
    generator = np.random.default_rng(3)
    a = generator.integers(0, 3, 4_000)
    b = np.where(generator.random(4_000) < 0.8, a, 0)
    c = np.where(generator.random(4_000) < 0.6, b, 1)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": generator.integers(0, 2, 4_000)}).astype(str)


@pytest.mark.parametrize("score", [None, "bdeu", "bic", "aic", "k2", "density-bd"])
def test_discrete_tables_have_every_score(letters, learner, score) -> None:
    discrete = replace(learner, scoring_method=score, max_evaluations=300)
    fit = learn_from_pieces(discrete, [letters.iloc[:1_500], letters.iloc[1_500:]])
    assert fit.record["n_rows"] == 4_000
    assert fit.score == pytest.approx(score_in_memory(letters, fit.network, discrete), rel=1e-12)
    assert {frozenset(edge) for edge in fit.network.edges} >= {frozenset("ab"), frozenset("bc")}


def test_values_in_names_of_folders_are_columns(frame, tmp_path) -> None:
    for year, code in ((2023, "01"), (2024, "x%2Fy"), (2025, "__HIVE_DEFAULT_PARTITION__")):
        folder = tmp_path / f"year={year}" / f"code={code}"
        folder.mkdir(parents=True)
        frame.iloc[:20].to_parquet(folder / "rows.parquet")
    read = [next(piece.frames()) for piece in pieces_of(tmp_path)]
    assert [part["year"].unique().tolist() for part in read] == [[2023], [2024], [2025]]
    assert [part["code"].unique().tolist() for part in read[:2]] == [["01"], ["x/y"]]
    assert read[2]["code"].isna().all()
    assert list(next(pieces_of(tmp_path)[0].frames(["X1", "year"]))) == ["X1", "year", "code"]
    matched = next(pieces_of(str(tmp_path / "year=20*" / "*" / "*.parquet"))[0].frames())
    assert list(matched) == [*frame.columns, "year", "code"]
    assert list(next(pieces_of(str(tmp_path / "year=2024" / "*" / "*.parquet"))[0].frames()))[-1] == "code"
    frame.iloc[:20].to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(GomeaBnError, match="'year', 'code'"):
        pieces_of(tmp_path)


def test_links_are_followed_once_and_a_broken_one_is_an_error(frame, tmp_path) -> None:
    (tmp_path / "far").mkdir()
    frame.iloc[:20].to_parquet(tmp_path / "far" / "rows.parquet")
    near = tmp_path / "near"
    near.mkdir()
    (near / "linked").symlink_to(tmp_path / "far")
    (near / "itself").symlink_to(near)
    assert [piece.n_rows() for piece in pieces_of(near)] == [20]
    (near / "gone.parquet").symlink_to(tmp_path / "gone.parquet")
    with pytest.raises(GomeaBnError, match=r"gone.parquet' is not a readable Parquet file"):
        pieces_of(near)
    with pytest.raises(GomeaBnError, match=r"gone.parquet' cannot be read"):
        files_digest(near)


def test_files_that_change_during_the_run_are_an_error(frame, learner, tmp_path, monkeypatch) -> None:
    frame.to_parquet(tmp_path / "rows.parquet")
    before = learning._Fit._read_sample

    def then_written(self) -> None:
        before(self)
        frame.iloc[:3_000].to_parquet(tmp_path / "rows.parquet")

    monkeypatch.setattr(learning._Fit, "_read_sample", then_written)
    with pytest.raises(GomeaBnError, match="have changed while they were read"):
        learner.fit(tmp_path)


def test_files_that_change_while_tables_are_counted_are_an_error(frame, fit, tmp_path) -> None:
    frame.to_parquet(tmp_path / "rows.parquet")

    def write_at_the_end(line: str) -> None:
        if line.endswith("rows read."):
            frame.iloc[:3_000].to_parquet(tmp_path / "more.parquet")

    network = fit.network
    with pytest.raises(GomeaBnError, match="have changed while they were read"):
        network_from_pieces(
            tmp_path, network.edges, network.cut_points, sample_rows=1_000, announce=write_at_the_end
        )


def test_a_damaged_file_is_named(frame, learner, tmp_path) -> None:
    frame.to_parquet(tmp_path / "rows.parquet", compression="gzip")
    content = bytearray((tmp_path / "rows.parquet").read_bytes())
    content[100:20_000] = bytes(19_900)
    (tmp_path / "rows.parquet").write_bytes(bytes(content))
    with pytest.raises(GomeaBnError, match=r"rows.parquet' cannot be read"):
        learner.fit(tmp_path)


def test_columns_of_lists_are_refused_and_gaps_outside_the_sample_named(frame, learner) -> None:
    nested = frame.assign(both=[[1, 2]] * len(frame))
    with pytest.raises(
        GomeaBnError, match=r"^In a sample of 1,\d\d\d of 6,000 rows: Column 'both' must hold numbers"
    ):
        learn_from_pieces(learner, [nested])
    with pytest.raises(GomeaBnError, match=r"^Column 'both' must hold numbers"):
        learn_from_pieces(replace(learner, sample_rows=6_000), [nested])
    searched = []
    gap = frame.copy()
    gap.loc[5_432, "X2"] = np.nan
    with pytest.raises(GomeaBnError, match=r"missing values \(in a sample .*'X2' \(1\)"):
        learn_from_pieces(replace(learner, missing="error"), [gap], announce=searched.append)
    assert not any("Searching" in line for line in searched)


def test_warnings_from_a_sample_say_so(frame, learner) -> None:
    odd = frame.assign(same=5.0, key=[f"row {k}" for k in range(len(frame))])
    with pytest.warns(GomeaBnWarning) as of_sample:
        learn_from_pieces(learner, [odd])
    texts = [str(warning.message) for warning in of_sample]
    assert len(texts) == 2
    for text, end in zip(
        texts,
        (
            r"Left out 1 column: 'key' \(a different text in every row\).*",
            ".*: 'same' is 5.0 in all 1,?0.. rows.",
        ),
        strict=True,
    ):
        assert re.fullmatch(rf"In a sample of 1,0\d\d of 6,000 rows: {end}", text)
    with pytest.warns(GomeaBnWarning) as of_all:
        network_from_pieces([odd.drop(columns="key")], [], fit_cuts(frame))
    assert [str(warning.message)[:8] for warning in of_all] == ["1 column"]


def fit_cuts(frame: pd.DataFrame) -> dict[str, list[float]]:
    """One cut at the median of every column of numbers."""
    return {name: [float(frame[name].median())] for name in map(str, frame.select_dtypes("number"))}


def test_symbols_of_missing_values_are_those_of_tables_in_memory(frame) -> None:
    texts = frame.assign(X1=frame["X1"].astype(str))
    texts.loc[::7, "X1"] = "?"
    texts.loc[::11, "level"] = "NA"
    numbers = frame.copy()
    numbers.loc[::7, "X1"] = np.nan
    numbers["level"] = numbers["level"].astype(object)
    numbers.loc[::11, "level"] = None
    cuts = fit_cuts(frame)
    with pytest.warns(GomeaBnWarning, match="read as missing values in a column: 'level'"):
        network = network_from_pieces([texts[:2_500], texts[2_500:]], [], cuts, missing="drop")
    assert network == network_from_pieces([numbers], [], cuts, missing="drop")


def test_errors_outside_the_sample_name_the_file(frame, tmp_path) -> None:
    frame[:3_000].to_parquet(tmp_path / "a.parquet")
    wrong = frame[3_000:].assign(level=["low", "middle", *frame["level"][3_002:]])
    wrong["level"] = wrong["level"].astype("category")
    wrong.to_parquet(tmp_path / "b.parquet")
    coding = Coding(("level",), {}, {"level": ("high", "low")})
    (_, piece) = pieces_of(tmp_path)
    with pytest.raises(
        GomeaBnError, match=r"^In 3,000 rows of file '.*b.parquet': Column 'level' has .*row 1"
    ):
        coded_piece(piece, coding)


def test_given_bins_are_counted_from_all_rows(frame, fit) -> None:
    network = fit.network
    pieces = [frame.iloc[:1_700], frame.iloc[1_700:]]
    counted = network_from_pieces(pieces, network.edges, network.cut_points, sample_rows=1_000)
    for name in network.names:
        np.testing.assert_array_equal(counted.tables[name], network.tables[name])
    assert counted.support == network.support
    assert counted.metadata["n_rows"] == 6_000
    even = network_from_pieces(pieces, [], network.cut_points, pseudo_count=2.0, shape="uniform", n_jobs=2)
    expected = type(network).from_table(read_table(frame), [], network.cut_points, pseudo_count=2.0)
    assert even == expected
