"""Cuts refined after the search: never a lower score, limits and interrupts, both methods."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_inside import automatic_bins
from processor_time import at_most
from refinement_examples import METHODS, example, quantile_network, slow_refined_score
from typer.testing import CliRunner
from wrong_input import untyped

from gomea_bn import DiscretizedBayesNet, GomeaBnError, GomeaBnWarning, read_table, refine_boundaries
from gomea_bn.cli import main
from gomea_bn.data import Table
from gomea_bn.learning import BayesNetLearner
from gomea_bn.learning.cuts import refinement
from gomea_bn.metrics import kl_divergence
from gomea_bn.network.recorded import EDGE_PROBABILITIES, STABILITY_WORDS
from gomea_bn.problems.cuts import bin_codes
from gomea_bn.runtime import Progress
from gomea_bn.simulation import random_network


@given(st.integers(0, 1000), st.sampled_from(METHODS), st.sampled_from(["fixed", "free"]), st.integers(1, 6))
@settings(max_examples=25)
def test_score_never_drops_and_is_that_of_the_result(
    seed: int, method: str, bin_counts: str, n_bins: int
) -> None:
    truth, frame = example(seed, n_rows=150, n_variables=4)
    frame = frame.round(dict.fromkeys(truth.cut_points, 2))  # ties
    network = quantile_network(
        truth, read_table(frame, kinds=dict.fromkeys(truth.cut_points, "continuous")), n_bins
    )
    result = refine_boundaries(network, frame, "dp", bin_counts, scoring_method=method, max_bins=5)
    assert result.score_after >= result.score_before
    assert result.score_before == pytest.approx(slow_refined_score(network, frame, method), abs=1e-7)
    assert result.score_after == pytest.approx(slow_refined_score(result.network, frame, method), abs=1e-7)
    assert result.network.edges == network.edges
    assert result.stopped_by == "fixpoint"
    for name in network.cut_points:
        if bin_counts == "fixed":
            assert result.network.cardinality(name) == network.cardinality(name)
        else:
            assert result.network.cardinality(name) <= max(5, network.cardinality(name))
    scores = [result.score_before, *(-entry.objective for entry in result.history)]
    assert (np.diff(scores) > 0).all()
    assert scores[-1] == pytest.approx(result.score_after)


def test_result_is_a_fixpoint_and_a_second_run_changes_nothing() -> None:
    truth, frame = example(3)
    table = read_table(frame)
    for bin_counts in ("fixed", "free"):
        first = refine_boundaries(quantile_network(truth, table), frame, "dp", bin_counts)
        again = refine_boundaries(first.network, frame, "dp", bin_counts)
        assert first.score_after > first.score_before
        assert again.history == []
        assert again.score_after == again.score_before == pytest.approx(first.score_after)
        assert again.network == first.network


def test_free_bins_bring_the_network_close_to_the_truth() -> None:
    truth, frame = example(5, n_rows=4000, n_variables=6)
    coarse = quantile_network(truth, read_table(frame), 3)
    refined = refine_boundaries(coarse, frame, "dp", "free").network
    before = kl_divergence(truth, coarse, random_state=1).mean
    after = kl_divergence(truth, refined, random_state=1).mean
    assert after < 0.1 * before
    for name, cuts in truth.cut_points.items():
        assert refined.cut_points[name] == pytest.approx(cuts, abs=0.05)


def test_floors_hold_for_chosen_bins_and_narrower_own_bins_may_stay() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": np.concatenate([np.full(400, 3.0), rng.uniform(0, 10, 400)])})
    table = read_table(frame)
    plain = DiscretizedBayesNet.from_table(table, [], {"x": [5.0]})
    refined = refine_boundaries(plain, frame, "dp", "free", min_width=0.05, min_bin_count=30).network
    edges = [refined.support["x"][0], *refined.cut_points["x"], refined.support["x"][1]]
    assert np.diff(edges).min() >= 0.05 * (edges[-1] - edges[0])
    assert np.bincount(bin_codes(table.columns[0].values, refined.cut_points["x"])).min() >= 30
    narrow = DiscretizedBayesNet.from_table(table, [], {"x": [3.0 - 1e-6, 3.0 + 1e-6]})
    unchanged = refine_boundaries(narrow, frame, "dp", "free", min_width=0.05)
    assert unchanged.network == narrow
    assert unchanged.score_after == unchanged.score_before


def test_only_the_named_variables_move() -> None:
    truth, frame = example(3)
    network = quantile_network(truth, read_table(frame))
    name, *others = network.cut_points
    assert others
    refined = refine_boundaries(network, frame, "dp", "free", variables=[name]).network
    for other in network.cut_points:
        assert np.array_equal(refined.cut_points[other], network.cut_points[other]) == (other != name)


def test_free_bins_stop_where_a_table_would_outgrow_a_million_cells() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: pd.Categorical(rng.integers(0, 60, 2000).astype(str)) for name in "abc"})
    frame["x"] = rng.integers(0, 10, 2000) + 0.1 * rng.random(2000)  # ten narrow peaks
    table = read_table(frame, max_levels=60)
    network = DiscretizedBayesNet.from_table(table, [(name, "x") for name in "abc"], {"x": [5.0]})
    crowded = refine_boundaries(network, frame, "dp", "free", scoring_method="density-bd").network
    assert crowded.cardinality("x") <= 1_000_000 // 60**3
    alone = DiscretizedBayesNet.from_table(table, [], {"x": [5.0]})
    assert (
        refine_boundaries(alone, frame, "dp", "free", scoring_method="density-bd").network.cardinality("x")
        == 19
    )


def test_further_starts_repeat_with_the_seed_and_never_harm() -> None:
    truth, frame = example(8, n_rows=400)
    network = quantile_network(truth, read_table(frame), 6)
    once = refine_boundaries(network, frame, "dp", "free")
    runs = [refine_boundaries(network, frame, "dp", "free", starts=4, random_state=2) for _ in range(2)]
    assert runs[0].network == runs[1].network
    assert runs[0].score_after >= once.score_after
    fixed = refine_boundaries(network, frame, "dp", "fixed", starts=3, random_state=2)
    assert [fixed.network.cardinality(n) for n in network.names] == [
        network.cardinality(n) for n in network.names
    ]


def interrupt(_progress: Progress) -> bool:
    signal.raise_signal(signal.SIGINT)
    return False


@pytest.mark.parametrize("method", ["dp", "rv-gomea"])
@pytest.mark.parametrize(
    ("callback", "max_seconds", "reason"),
    [(lambda _: True, 60.0, "callback"), (interrupt, 60.0, "interrupt"), (None, 1e-6, "max_seconds")],
)
def test_stopped_run_keeps_the_best_so_far(
    method: str, callback: Callable[[Progress], bool] | None, max_seconds: float, reason: str
) -> None:
    truth, frame = example(3)
    network = quantile_network(truth, read_table(frame))
    refine_boundaries(network, frame, method, max_seconds=1e-6)  # compiles
    with at_most(5):
        result = refine_boundaries(
            network, frame, method, max_seconds=max_seconds, callback=callback, random_state=1
        )
    assert result.stopped_by == reason
    assert result.score_after >= result.score_before
    assert result.score_after == pytest.approx(
        slow_refined_score(result.network, frame, "density-bic"), abs=1e-7
    )


def test_progress_counts_steps_and_cycles() -> None:
    truth, frame = example(3)
    seen: list[Progress] = []
    refine_boundaries(
        quantile_network(truth, read_table(frame)), frame, "dp", "free", callback=lambda p: seen.append(p)
    )
    assert [p.n_eval for p in seen] == list(range(1, len(seen) + 1))
    assert seen[0].n_generations == 1
    assert seen[-1].n_generations > 1
    assert [p.best for p in seen] == sorted((p.best for p in seen), reverse=True)


def test_table_frame_and_file_give_the_same_network(tmp_path: Path) -> None:
    truth, frame = example(4)
    table = read_table(frame)
    network = quantile_network(truth, table)
    frame.to_csv(tmp_path / "rows.csv", index=False, float_format="%.17g")
    results = [
        refine_boundaries(network, data, "dp", "free").network
        for data in (table, frame, tmp_path / "rows.csv")
    ]
    assert results[0] == results[1] == results[2]


def test_levels_unseen_in_the_rows_stay_levels() -> None:
    frame = pd.DataFrame({"c": ["a", "b"] * 50, "x": np.linspace(0, 1, 100)})
    frame["c"] = pd.Categorical(frame["c"], categories=["z", "b", "a"])
    network = DiscretizedBayesNet.from_table(read_table(frame), [("c", "x")], {"x": [0.3]})
    refined = refine_boundaries(network, frame.astype({"c": object}), "dp", "free").network
    assert refined.levels == {"c": ("z", "b", "a")}
    assert refined.tables["x"].shape[0] == 3


def test_metadata_says_what_was_done_and_keeps_the_rest() -> None:
    truth, frame = example(4)
    network = quantile_network(truth, read_table(frame))
    result = refine_boundaries(network, frame, scoring_method="density-bd", pseudo_count=2.0)
    metadata = result.network.metadata
    assert metadata["scoring_method"] == "density-bd"
    assert metadata["score"] == result.score_after
    assert metadata["refinement"]["method"] == "dp"
    assert result.network.pseudo_count == 2.0


def test_words_about_former_cuts_do_not_stay() -> None:
    truth, frame = example(4, n_rows=200)
    network = quantile_network(truth, read_table(frame)).with_metadata(
        **{STABILITY_WORDS: ["The cut stays."], "note": "kept"}
    )
    first = refine_boundaries(network, frame)
    assert first.score_after > first.score_before
    assert STABILITY_WORDS not in first.network.metadata
    assert first.network.metadata["note"] == "kept"
    unchanged = refine_boundaries(first.network.with_metadata(**{STABILITY_WORDS: ["It stays."]}), frame)
    assert unchanged.network.metadata[STABILITY_WORDS] == ["It stays."]


def test_probabilities_over_former_bins_do_not_stay() -> None:
    truth, frame = example(4, n_rows=200)
    record = {EDGE_PROBABILITIES: {"pairs": []}}
    network = quantile_network(truth, read_table(frame)).with_metadata(**record)
    with pytest.warns(
        GomeaBnWarning, match="no probabilities of edges: those of the network are for its former"
    ):
        refined = refine_boundaries(network, frame).network
    assert EDGE_PROBABILITIES not in refined.metadata
    # the same cuts, and no warning
    unchanged = refine_boundaries(refined.with_metadata(**record), frame).network
    assert unchanged.metadata[EDGE_PROBABILITIES] == record[EDGE_PROBABILITIES]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "simplex"}, "method must be one of .*'dp'.*'rv-gomea'.* got 'simplex'"),
        ({"bin_counts": "some"}, "bin_counts must be one of 'fixed', 'free' or None, got 'some'"),
        ({"method": "rv-gomea", "bin_counts": "free"}, "keeps the number of bins"),
        ({"scoring_method": "bic"}, "must be 'density-bic' or 'density-bd'"),
        ({"scoring_method": "nonsense"}, "scoring_method must be one of"),
        ({"penalty": "much"}, "penalty must be .*got 'much'"),
        ({"max_bins": 0}, "max_bins must be an integer"),
        ({"max_bins": "many"}, "max_bins must be an integer from 1 to 255, or 'auto', got 'many'"),
        ({"min_width": 2.0}, r"min_width must be .*got 2\.0"),
        ({"max_seconds": -1.0}, "max_seconds must be a finite number above 0 or None, got -1.0"),
        ({"random_state": -1}, "random_state must be .*got -1"),
        ({"starts": 0}, "starts must be an integer of at least 1"),
        ({"variables": ["X99"]}, "no continuous variable 'X99'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    truth, frame = example(4, n_rows=60)
    with pytest.raises(GomeaBnError, match=message):
        refine_boundaries(quantile_network(truth, read_table(frame)), frame, **options)
    with pytest.raises(GomeaBnError, match="network must be a DiscretizedBayesNet, got str"):
        refine_boundaries(untyped("network.json"), frame)


def test_rows_that_do_not_fit_the_network_are_refused() -> None:
    frame = pd.DataFrame({"c": ["a", "b"] * 20, "x": np.linspace(0, 1, 40)})
    network = DiscretizedBayesNet.from_table(read_table(frame), [("c", "x")], {"x": [0.3, 0.8]})
    cases: list[tuple[Any, str]] = [
        (frame[["c"]], "'x'"),
        (frame.assign(x=0.5), "Column 'x' is constant"),
        (frame[frame.x < 0.5], "Column 'x' has values from .* cut point 0.8 is outside of"),
        (
            frame.assign(x=frame.x.clip(upper=0.8)),
            "Column 'x' has values from .* cut point 0.8 is outside of",
        ),
        (frame.assign(c="new"), "unknown level 'new'"),
        (frame.assign(x=np.where(frame.x > 0.1, frame.x, np.inf)), "infinite value"),
        (frame.assign(x=np.nan), "Column 'x' has no values, but is continuous"),
        (frame.head(1), "at least 2 rows, got 1"),
        ([1, 2], "A table must be a Table, .*got list"),
    ]
    for data, message in cases:
        with pytest.raises(GomeaBnError, match=message):
            refine_boundaries(network, data)


def test_command_reads_refines_writes_and_reports(tmp_path: Path) -> None:
    truth, frame = example(4)
    network = quantile_network(truth, read_table(frame))
    network.to_json(tmp_path / "in.json")
    frame.to_csv(tmp_path / "rows.csv", index=False, float_format="%.17g")
    files = [str(tmp_path / "in.json"), str(tmp_path / "rows.csv"), "--out", str(tmp_path / "out.json")]
    text = CliRunner().invoke(main, ["refine", *files, "--bin-counts", "free", "--penalty", "40"]).stdout
    written = DiscretizedBayesNet.from_json(tmp_path / "out.json")
    result = refine_boundaries(network, frame, "dp", "free", penalty=40.0)
    assert written == result.network
    assert "Stopped by fixpoint" in text
    assert f"{result.score_before:.3f} -> {result.score_after:.3f} nats" in text
    assert any(network.cardinality(name) != written.cardinality(name) for name in network.cut_points)
    for name in network.cut_points:
        assert f"{name}: {network.cardinality(name)} -> {written.cardinality(name)} bins" in text


def test_rv_gomea_comes_close_to_the_dynamic_programme_and_keeps_the_counts() -> None:
    truth, frame = example(3)
    network = quantile_network(truth, read_table(frame))
    exact = refine_boundaries(network, frame, "dp", "fixed")
    refined = refine_boundaries(network, frame, "rv-gomea", "fixed", max_seconds=1.5, random_state=1)
    assert refined.network.edges == network.edges
    assert [refined.network.cardinality(n) for n in network.names] == [
        network.cardinality(n) for n in network.names
    ]
    assert refined.score_after == pytest.approx(
        slow_refined_score(refined.network, frame, "density-bic"), abs=1e-7
    )
    assert refined.score_after - refined.score_before > 0.8 * (exact.score_after - exact.score_before)


def test_rv_gomea_repeats_with_the_seed() -> None:
    truth, frame = example(2, n_rows=100, n_variables=3)
    network = quantile_network(truth, read_table(frame), 2)
    runs = [refine_boundaries(network, frame, "rv-gomea", random_state=4) for _ in range(2)]
    assert runs[0].network == runs[1].network
    assert runs[0].stopped_by == "patience"
    assert runs[0].score_after >= runs[0].score_before


@pytest.mark.parametrize("method", ["dp", "rv-gomea"])
def test_without_a_cut_that_may_move_the_network_comes_back(method: str) -> None:
    frame = pd.DataFrame({"x": np.linspace(0, 1, 40)})
    bare = DiscretizedBayesNet.from_table(read_table(frame), [], {"x": []})
    cut = DiscretizedBayesNet.from_table(read_table(frame), [], {"x": [0.31]})
    assert refine_boundaries(bare, frame, method).network == bare
    assert refine_boundaries(cut, frame, method, variables=[]).network == cut


def test_where_rv_gomea_finds_no_cuts_within_the_limits_the_network_comes_back() -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"x": np.concatenate((rng.normal(size=30), rng.normal(20, 1, size=10)))})
    network = DiscretizedBayesNet.from_table(read_table(frame), [], {"x": [15.0]})
    refined = refine_boundaries(network, frame, "rv-gomea", min_bin_count=25, random_state=1)
    assert refined.network.cut_points["x"].tolist() == [15.0]
    assert refined.score_after == refined.score_before
    free = refine_boundaries(network, frame, "rv-gomea", random_state=1)
    assert free.score_after > free.score_before


@pytest.mark.sample(1)
@pytest.mark.parametrize("scoring_method", ["density-bic", "density-bd"])
def test_cuts_that_the_user_fixed_stay_and_cost_nothing(scoring_method: str) -> None:
    rng = np.random.default_rng(8)
    x = rng.normal(size=300)
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(scale=0.3, size=300)})
    learner = BayesNetLearner(
        scoring_method=scoring_method,
        cut_points={"x": [-0.5, 0.5]},
        max_bins=3,
        shape="uniform",
        max_evaluations=3000,
        random_state=1,
    ).fit(frame)
    result = refine_boundaries(learner.network_, frame, bin_counts="free", scoring_method=scoring_method)
    assert result.score_before == pytest.approx(learner.score_, abs=1e-9)
    assert result.network.cut_points["x"].tolist() == [-0.5, 0.5]
    assert result.network.cut_points["y"].tolist() != learner.network_.cut_points["y"].tolist()
    moved = refine_boundaries(
        learner.network_, frame, bin_counts="free", scoring_method=scoring_method, variables=["x"]
    )
    assert moved.network.cut_points["x"].tolist() != [-0.5, 0.5]


def test_a_learned_network_is_refined_by_its_own_score_and_smoothing():
    """A network under the Bayesian score is far from what the penalised one wants."""
    frame = random_network(4, random_state=2).sample(300, 2)
    learner = BayesNetLearner(
        max_evaluations=1500,
        max_seconds=None,
        cut_cost=0.7,
        curves="none",
        random_state=1,
    ).fit(frame)
    result = refine_boundaries(learner.network_, frame, bin_counts="free")
    assert result.score_before == pytest.approx(learner.score_, abs=1e-8)
    assert result.network.metadata["scoring_method"] == "density-bd"
    assert result.network.pseudo_count == "auto"
    discrete = BayesNetLearner(scoring_method="bdeu", max_evaluations=300, random_state=1).fit(
        pd.DataFrame(np.random.default_rng(1).integers(0, 3, (60, 3)), columns=list("abc"))
    )
    assert refine_boundaries(discrete.network_, discrete.table_).network == discrete.network_


@pytest.mark.long
def test_the_price_of_a_cut_is_remembered_also_if_it_is_nothing():
    frame = random_network(4, random_state=3).sample(200, 3)
    learner = BayesNetLearner(max_evaluations=800, max_seconds=None, cut_cost=0, random_state=1).fit(frame)
    assert learner.network_.metadata["cut_cost"] == 0
    assert learner.network_.metadata["edge_cost"] > 0
    same = refine_boundaries(learner.network_, frame)
    assert same.score_before == pytest.approx(learner.score_, abs=1e-8)
    assert same.network.metadata["cut_cost"] == 0
    penalised = refine_boundaries(learner.network_, frame, scoring_method="density-bic").network
    assert "cut_cost" not in penalised.metadata
    assert "edge_cost" not in penalised.metadata
    bayesian = refine_boundaries(penalised, frame, scoring_method="density-bd")
    assert bayesian.network.metadata["cut_cost"] == 0.5


def steps(n_steps: int, n_rows: int) -> Table:
    """A column in as many clear steps of its parent."""
    rng = np.random.default_rng(n_steps)
    x = rng.uniform(size=n_rows)
    return read_table(pd.DataFrame({"x": x, "y": np.floor(x * n_steps) + 0.2 * rng.uniform(size=n_rows)}))


def network_of_steps(table: Table, n_bins: int) -> DiscretizedBayesNet:
    """A network whose cuts are next to the steps."""
    x = (np.arange(1, n_bins) + 0.3) / n_bins
    return DiscretizedBayesNet.from_table(table, [("x", "y")], {"x": x, "y": np.arange(1, n_bins) - 0.3})


def test_free_numbers_of_bins_grow_with_the_rows_as_in_learning() -> None:
    table = steps(20, 3000)
    start = network_of_steps(table, 20)
    refined = refine_boundaries(start, table, bin_counts="free")
    assert refined.network.cardinality("y") > 20
    most = automatic_bins(3000)
    assert refine_boundaries(start, table, bin_counts="free", max_bins=most).network == refined.network
    few = refine_boundaries(start, table, bin_counts="free", max_bins=15)
    assert refined.score_after > few.score_after + 100


def test_a_network_with_more_bins_keeps_them_where_they_pay() -> None:
    table = steps(28, 4000)
    assert automatic_bins(4000) < 28
    start = network_of_steps(table, 28)
    refined = refine_boundaries(start, table, bin_counts="free")
    assert refined.network.cardinality("y") == 28
    assert refined.score_after > refined.score_before + 1000
    assert refine_boundaries(start, table, bin_counts="free", max_bins=28).network == refined.network


@pytest.mark.parametrize("n_rows", [100, 3000])
def test_a_discretizer_may_make_as_many_bins_as_a_learner_allows(
    monkeypatch: pytest.MonkeyPatch, n_rows: int
) -> None:
    table = steps(4, n_rows)
    seen = []

    def recorded(name: str, **options: int) -> object:
        seen.append(options["max_bins"])
        return proposer(name, **options)

    proposer = refinement.proposer
    monkeypatch.setattr(refinement, "proposer", recorded)
    refine_boundaries(network_of_steps(table, 4), table, "equal-frequency")
    assert seen == [automatic_bins(n_rows)]
