"""Fronts of networks in which columns follow curves: their values, what is shown of them, densities, files."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import conditionals_of
from learning_inside import front_problem, of_families
from review_examples import page_data

from gomea_bn import (
    BayesNetLearner,
    ExpertKnowledge,
    ExpertNetwork,
    GomeaBnError,
    ParetoBayesNetLearner,
    average_families,
    read_front,
    read_table,
    review_page,
    write_front,
)
from gomea_bn.algorithms.optimisation import evaluate_genotypes
from gomea_bn.network.recorded import left_out_loss
from gomea_bn.problems import best_curve_model, sizes_and_functions
from gomea_bn.texts import counted

QUICK: dict[str, Any] = {"max_evaluations": 6000, "max_seconds": None, "random_state": 1}


def rows(n: int, seed: int) -> pd.DataFrame:
    """Return a line, a parabola, a column that depends on three others, and a level of it."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    line = x + rng.normal(scale=0.3, size=n)
    bent = x**2 + rng.normal(scale=0.3, size=n)
    other = rng.normal(size=n)
    total = line + bent + other + rng.normal(scale=0.3, size=n)
    is_high = total + rng.logistic(scale=0.3, size=n) > 1
    return pd.DataFrame(
        {
            "x": x,
            "line": line,
            "bent": bent,
            "other": other,
            "sum": total,
            "high": np.where(is_high, "y", "n"),
        }
    )


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return rows(300, 1)


@pytest.fixture(scope="module")
def learner(frame: pd.DataFrame) -> ParetoBayesNetLearner:
    return ParetoBayesNetLearner(**QUICK).fit(frame)


def test_curves_fit_better_with_fewer_parameters(frame: pd.DataFrame, learner: ParetoBayesNetLearner) -> None:
    by_tables = ParetoBayesNetLearner(**QUICK, curves="none").fit(frame).front_
    misfit, complexity = by_tables.best("misfit").objectives.values()
    dominating = [c for c in learner.front_ if c.objectives["complexity"] < complexity / 2]
    assert min(c.objectives["misfit"] for c in dominating) < misfit - 0.3
    best, test = learner.front_.best("misfit").network, rows(2000, 2)
    alone = BayesNetLearner(**{**QUICK, "max_evaluations": 3000}).fit(frame).network_
    assert best.score(test) > by_tables.best("misfit").network.score(test) + 0.5
    assert best.score(test) > alone.score(test) - 0.05


def test_misfits_are_scores_by_tables_or_curves_and_complexities_count_their_coefficients() -> None:
    learner = ParetoBayesNetLearner(**QUICK)
    table = read_table(rows(300, 2)[["x", "line"]])
    problem = front_problem(learner, table, ["misfit", "complexity"], None, 1)
    alone, together = (problem.genotype(edges, [0, 0]) for edges in ([], [(0, 1)]))
    scores = problem.scorer.score(problem.families(together))
    values, _, _ = evaluate_genotypes(problem, np.array([alone, together]))
    (before, n_before), (after, n_after) = values.tolist()
    assert problem.follows_curves(together).tolist() == [False, True]
    bins = problem.scorer.rows.cardinality[problem.scorer.view_offset[:-1]]
    assert n_before == sum(bins - 1)
    # slopes, a centre and a width in place of the bins of the child, without a transformation or heavy tails
    variables = problem.scorer.variables
    sizes, _ = sizes_and_functions(variables)
    assert sizes is not None
    model = best_curve_model(variables, sizes)
    assert model is not None
    assert model.transform is None
    assert n_after == bins[0] - 1 + len(model.precisions) + 2
    first = problem.scorer.score(problem.families(alone))
    assert before - after == pytest.approx((scores.sum() - first.sum()) / 300)


def test_a_logit_has_coefficients_for_every_level_but_one() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=600)
    level = np.digitize(x + rng.logistic(scale=0.5, size=600), [-1.0, 1.0])
    table = read_table(pd.DataFrame({"x": x, "level": np.array(["a", "b", "c"])[level]}))
    problem = front_problem(ParetoBayesNetLearner(), table, ["misfit", "complexity"], None, 1)
    together = problem.genotype([(0, 1)], [0, 0])
    assert problem.follows_curves(together)[1]
    values, _, _ = evaluate_genotypes(problem, together[None])
    n_bins = int(problem.scorer.rows.cardinality[0])
    assert values[0, 1] == n_bins - 1 + 2 * 2


@pytest.mark.parametrize("shape", ["auto", "marginal"])
def test_misfits_have_the_units_of_densities(frame: pd.DataFrame, shape: str) -> None:
    # the unit of a column must not decide, and a shape is part of the density
    moved = frame[["x", "line"]].assign(line=lambda rows: np.exp(3 * rows["line"]) * 1e4)
    front = ParetoBayesNetLearner(**{**QUICK, "max_evaluations": 800}, shape=shape).fit(moved).front_
    best = front.best("misfit")
    assert "line" in best.network.metadata["curves"] or "x" in best.network.metadata["curves"]
    assert best.objectives["misfit"] == pytest.approx(-best.network.score(moved), abs=0.6)


def test_tables_of_many_parents_are_shown_in_few_bins() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(400, 9))
    frame = pd.DataFrame(values, columns=[f"p{i}" for i in range(9)])
    frame["sum"] = values.sum(axis=1) + rng.normal(scale=0.2, size=400)
    knowledge = ExpertKnowledge(required_edges=[(f"p{i}", "sum") for i in range(9)])
    options: dict[str, Any] = {"knowledge": knowledge, "max_indegree": 9, "max_complexity": 1e6}
    front = ParetoBayesNetLearner(**{**QUICK, "max_evaluations": 1000}, **options).fit(frame).front_
    network = front.network_parts(0).network()
    assert "sum" in network.metadata["curves"]
    assert 2**10 <= network.tables["sum"].size <= 4096
    assert network.cardinality("sum") <= 6


def test_every_network_is_readable(frame: pd.DataFrame, learner: ParetoBayesNetLearner) -> None:
    followed, most = set(), 0.0
    for index, candidate in enumerate(learner.front_):
        parts = learner.front_.network_parts(index)
        network = parts.network() if index % 9 else candidate.network
        curves = network.metadata.get("curves", {})
        followed |= set(curves)
        for name, of_name in curves.items():
            assert of_name["nats"] >= 0
            most = max(most, of_name["nats"])
            assert set(of_name["table_parents"]) <= set(network.parents(name))
            for member in (name, *network.parents(name)):
                assert network.cardinality(member) > 1
        assert max(table.size for table in network.tables.values()) <= 4096
        assert (network.conditionals is not None) == (index % 9 == 0)
    assert followed >= {"line", "sum", "high"}
    assert most > 30


def test_the_frame_has_what_built_networks_keep_and_lose(frame: pd.DataFrame, tmp_path: Any) -> None:
    front = ParetoBayesNetLearner(**{**QUICK, "max_evaluations": 2000}).fit(frame).front_
    before = front.to_frame()
    assert before[["n_parameters", "left_out_loss"]].isna().all(axis=None)
    built = [0, len(front) // 2, len(front) - 1]
    networks = [front.network(index) for index in built]
    after = front.to_frame()
    others = [name for name in before if name not in ("n_parameters", "left_out_loss")]
    pd.testing.assert_frame_equal(before[others], after[others])
    assert after.index[after["n_parameters"].notna()].tolist() == built
    for index, network in zip(built, networks, strict=True):
        assert after["n_parameters"][index] == network.n_parameters
        assert counted(network.n_parameters, "free parameter") in network.summary().splitlines()[0]
        losses = [mean for _, mean, _ in conditionals_of(network).log_losses.values()]
        assert after["left_out_loss"][index] == pytest.approx(sum(losses))
        # rows that are left out are harder than known ones, and averages of cuts better than one set of them
        assert -network.score(frame) < after["left_out_loss"][index] < after["misfit"][index]
    # a folder keeps networks that were built, and parts of a front know them
    write_front(tmp_path / "front", front, networks=0)
    again = read_front(tmp_path / "front").to_frame()
    for name in ("n_parameters", "left_out_loss"):
        assert again[name][built].tolist() == after[name][built].tolist()
    thinned = front.thin(3)
    # the folder built networks with a role
    known = front.to_frame()["n_parameters"][list(thinned.original_index)]
    assert thinned.to_frame()["n_parameters"].isna().tolist() == known.isna().tolist()
    page = page_data(review_page(thinned))
    shown = [thinned.network(index) for index in page["ids"]]
    assert page["n_parameters"] == [network.n_parameters for network in shown]
    assert page["left_out_loss"] == pytest.approx([left_out_loss(network) for network in shown])


def test_networks_of_the_same_rows_share_models_of_families(
    frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    front = ParetoBayesNetLearner(**{**QUICK, "max_evaluations": 2000}).fit(frame).front_
    made: list[tuple[str, ...]] = []

    def noted(family: Any, *others: Any) -> Any:
        made.append(tuple(variable.name for variable in family))
        return best_curve_model(family, *others)

    monkeypatch.setattr(of_families, "best_curve_model", noted)
    networks = [front.network(index) for index in range(0, len(front), 3)]
    wanted = {(*network.parents(name), name) for network in networks for name in network.names}
    n_families = sum(bool(network.parents(name)) for network in networks for name in network.names)
    assert len(made) == len(set(made)) == len({family for family in wanted if len(family) > 1}) < n_families
    # and are those of networks that share nothing
    table = read_table(frame)
    for network in networks[:3]:
        alone = average_families(network.of_tables(), table, random_state=1)
        assert conditionals_of(alone) == conditionals_of(network)


@pytest.mark.parametrize("least", [120, 160])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_shown_cuts_keep_the_limits_of_bins(frame: pd.DataFrame, least: int, share: float) -> None:
    options: dict[str, Any] = {"min_bin_count": least, "single_share": share}
    front = ParetoBayesNetLearner(**{**QUICK, "max_evaluations": 1500}, **options).fit(frame).front_
    for index in range(0, len(front), 5):
        for name, cuts in front.network_parts(index).network().cut_points.items():
            counts = np.bincount(np.searchsorted(cuts, frame[name], side="left"), minlength=len(cuts) + 1)
            assert counts.min() >= least


def test_a_column_that_a_table_needs_keeps_its_cuts() -> None:
    rng = np.random.default_rng(6)
    x = rng.random(600)
    # a logit of smooth curves has no jumps
    inside = (x > 0.42) & (x < 0.5)
    frame = pd.DataFrame(
        {"x": x, "inside": np.where(inside, "y", "n"), "line": x + rng.normal(scale=0.1, size=600)}
    )
    front = ParetoBayesNetLearner(**QUICK, single_share=0.0).fit(frame).front_
    network = front.network_parts(front.best("misfit").index).network()
    assert "inside" not in network.metadata["curves"] != {}
    assert {"x", "inside"} in map(set, network.edges)
    for jump in (0.42, 0.5):
        assert np.abs(network.cut_points["x"] - jump).min() < 0.01


def test_files_hold_the_conditionals_of_networks_with_a_role(frame: pd.DataFrame, tmp_path: Any) -> None:
    learner = ParetoBayesNetLearner(**{**QUICK, "max_evaluations": 2000}).fit(frame)
    front = learner.front_
    write_front(tmp_path / "front", front, networks=0)
    again = read_front(tmp_path / "front")
    roles = {front.knee().index, front.recommended().candidate.index, front.best("misfit").index}
    for role in roles:
        assert again.network(role) == front.network(role)
        assert again.network(role).conditionals is not None
    bare = next(i for i in range(len(again)) if again.network(i).conditionals is None)
    assert average_families(again.network(bare), frame, random_state=1) == front.network(bare)
    # the folder has no rows, and knows how much the least misfit may be off
    found, wanted = again.recommended(), front.recommended()
    assert (found.candidate.index, found.reason, found.detail) == (
        wanted.candidate.index,
        wanted.reason,
        wanted.detail,
    )
    assert again.thin(5).recommended().detail == wanted.detail


def test_an_expert_a_target_and_a_misfit_in_sample_judge_tables(frame: pd.DataFrame) -> None:
    expert = ExpertNetwork.from_edges([("x", "line")])
    tried: list[dict[str, Any]] = [
        {"expert": expert},
        {"target": "bent"},
        {"misfit": "in-sample", "pseudo_count": 1.0},
    ]
    for options in tried:
        front = ParetoBayesNetLearner(**{**QUICK, "max_evaluations": 300}, **options).fit(frame).front_
        network = front.network(0)
        assert network.conditionals is None
        assert "curves" not in network.metadata
    # an expert whose distance is no objective changes nothing
    named = ParetoBayesNetLearner(
        **{**QUICK, "max_evaluations": 1500}, expert=expert, objectives=["misfit", "complexity"]
    )
    assert named.fit(frame).front_.best("misfit").network.conditionals is not None


def test_gaps_and_threads(frame: pd.DataFrame) -> None:
    holes = frame.copy()
    holes.loc[::7, "line"] = np.nan
    fronts = [
        ParetoBayesNetLearner(**{**QUICK, "max_evaluations": 1500}, n_jobs=n).fit(holes).front_
        for n in (1, 2)
    ]
    assert fronts[0].run_hash == fronts[1].run_hash
    network = fronts[0].best("misfit").network
    assert network.conditionals is not None
    assert np.isfinite(network.score(rows(100, 5)))


def test_a_wrong_value_of_curves_is_an_error(frame: pd.DataFrame) -> None:
    with pytest.raises(GomeaBnError, match="curves must be one of 'auto', 'none'"):
        ParetoBayesNetLearner(curves="some").fit(frame)


def test_misfits_of_counts_are_near_their_densities():
    rng = np.random.default_rng(3)
    x = rng.normal(size=600)
    frame = pd.DataFrame({"count": rng.poisson(np.exp(1 + 0.5 * x)), "x": x, "other": rng.poisson(3, 600)})
    front = ParetoBayesNetLearner(
        knowledge=ExpertKnowledge(required_edges=[("x", "count")]),
        max_evaluations=400,
        max_seconds=None,
        random_state=1,
    ).fit(frame)
    for candidate in front.front_:
        misfit = -candidate.network.log_density(frame).mean()
        assert candidate.objectives["misfit"] == pytest.approx(misfit, abs=0.12)


def chessboard(n_squares: int) -> tuple[pd.DataFrame, dict[str, list[float]]]:
    """Return a chessboard, and cuts: curves of a and b see nothing of it, and its table has four cells a square."""
    rng = np.random.default_rng(6)
    a, b = rng.random((2, 400)) * n_squares
    is_black = (a.astype(int) + b.astype(int)) % 2 == 0
    frame = pd.DataFrame({"a": a, "b": b, "y": is_black + rng.normal(scale=0.05, size=400)})
    inner = [float(cut) for cut in range(1, n_squares)]
    return frame, {"a": inner, "b": inner, "y": [0.5]}


def test_a_built_column_follows_the_curves_that_the_objective_counts() -> None:
    # the table fits better than curves, but has more cells than a quarter of the rows
    frame, cuts = chessboard(14)
    options: dict[str, Any] = {
        "cut_points": cuts,
        "knowledge": ExpertKnowledge(required_edges=[("a", "y"), ("b", "y")]),
        "max_complexity": 1e6,
    }
    front = ParetoBayesNetLearner(**{**QUICK, "max_evaluations": 300}, **options).fit(frame).front_
    for candidate in front:
        network = candidate.network
        assert "y" in network.metadata["curves"]
        assert network.n_parameters < 50 + 3 * candidate.objectives["complexity"]


@pytest.mark.parametrize(("n_squares", "has_table"), [(2, True), (13, True), (14, False)])
def test_large_tables_have_to_fit_better_than_curves(n_squares: int, has_table: bool) -> None:
    frame, cuts = chessboard(n_squares)
    learner = ParetoBayesNetLearner(cut_points=cuts)
    problem = front_problem(learner, read_table(frame), ["misfit", "complexity"], None, 1)
    parents = problem.genotype([(0, 2), (1, 2)], [0, 0, 0])
    (_, complexity), *_ = evaluate_genotypes(problem, parents[None])[0].tolist()
    of_table = n_squares**2 + 2 * (n_squares - 1)
    assert (complexity == of_table) == has_table
