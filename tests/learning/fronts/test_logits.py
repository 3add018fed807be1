"""Networks whose target follows a logit: what enters it, its loss, and its place in a front."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import lines_of
from scipy.optimize import minimize

from gomea_bn import ExpertKnowledge, read_front, read_table, write_front
from gomea_bn.front.choice import nondominated_rows
from gomea_bn.front.judged_rows import JudgedRows, counts_rows_of
from gomea_bn.front.predictions import prediction_summary
from gomea_bn.learning import ParetoBayesNetLearner
from gomea_bn.learning.fronts import logits
from gomea_bn.learning.fronts.logits import logit_networks
from gomea_bn.network.conditionals import ProbabilityScale
from gomea_bn.review.page_data import front_data

N_ROWS = 600
QUICK: dict[str, Any] = {
    "target": "y",
    "max_seconds": None,
    "max_evaluations": 1000,
    "random_state": 1,
    "single_share": 0.0,
}


def rows_of(n_rows: int = N_ROWS, seed: int = 3) -> pd.DataFrame:
    """Rows whose class follows a logit of a line, of a bend, and of one level; two columns tell nothing."""
    rng = np.random.default_rng(seed)
    a, b, noise = rng.normal(size=(3, n_rows))
    d, e = rng.choice([*"pqrs"], n_rows), rng.choice(["no", "yes"], n_rows)
    odds = 1.2 * a + 2.0 * np.maximum(b, 0.0) + 1.5 * (d == "q") - 1.2
    y = np.where(rng.random(n_rows) < 1 / (1 + np.exp(-odds)), "ill", "well")
    return pd.DataFrame({"a": a, "b": b, "d": d, "e": e, "noise": noise, "y": y})


def networks_of(frame: pd.DataFrame, **options: Any) -> list[Any]:
    table = read_table(frame, kinds={})
    names = [name for name in table.names if name != "y"]
    given: dict[str, Any] = {"fixed_cuts": {}, "shapes": {}, "pseudo_count": 1.0, "edge_cost": 0.0}
    return logit_networks(table, "y", names, **{**given, **options})


@pytest.fixture(scope="module")
def found():
    return networks_of(rows_of())


def loss_of(network, frame):
    answers = network.predict_proba(frame.drop(columns="y"), "y")
    own = answers.to_numpy()[np.arange(len(frame)), answers.columns.get_indexer(frame["y"])]
    return float(-np.log(own).mean())


def positions_of(network, name, values):
    known = network.conditionals
    return ProbabilityScale(known.scales[name], known.n_rows).of_values(values)


def test_columns_that_tell_something_enter_one_after_another(found):
    assert [one.n_parameters for one in found] == list(range(2, len(found) + 2))
    assert [one.loss for one in found[:4]] == sorted((one.loss for one in found[:4]), reverse=True)
    network = found[3].network
    assert set(network.parents("y")) == {"a", "b", "d"}
    assert not [edge for edge in network.edges if edge[1] != "y"]
    # one level has its own amount, which the others share
    logit = lines_of(network)["y"]
    of_a, of_b, of_d = logit.terms.functions
    amounts = (of_d.matrix @ logit.coefficients[0, -of_d.size :]).tolist()
    assert len(set(amounts)) == 2
    assert amounts.count(amounts[network.levels["d"].index("q")]) == 1
    # the bend of b is the fourth term
    assert (of_a.size, of_b.size) == (2, 3)
    assert logit.terms.n_free == 4


def test_the_answers_are_those_of_logistic_regression(found):
    frame = rows_of()
    network = found[3].network
    [logit] = lines_of(network).values()
    z = {name: positions_of(network, name, frame[name].to_numpy()) for name in logit.parents}
    knot = logit.terms.functions[1].knots[2]
    design = np.column_stack(
        [np.ones(N_ROWS), z["a"], z["b"], np.maximum(z["b"] - knot, 0.0), frame["d"] == "q"]
    )
    y = (frame["y"] == "well").to_numpy()

    best = regression(design, y)
    p = 1 / (1 + np.exp(-design @ best))
    # the logit is a little nearer to no effect
    assert network.predict_proba(frame, "y")["well"].to_numpy() == pytest.approx(p, abs=0.03)
    assert loss_of(network, frame) == pytest.approx(losses_of(design, y, best).mean(), abs=2e-3)


def test_the_loss_is_that_of_rows_which_are_left_out(found):
    one, new = found[3], rows_of(40_000, seed=9)
    frame = rows_of()
    # new rows are as hard as left-out ones, and known ones easier
    assert loss_of(one.network, frame) < one.loss
    assert one.loss == pytest.approx(loss_of(one.network, new), abs=0.04)


def test_every_edge_has_its_cost(found):
    dear = networks_of(rows_of(), edge_cost=3.0)
    for cheap, other in zip(found, dear, strict=True):
        assert other.loss - cheap.loss == pytest.approx(3.0 * len(cheap.network.edges) / N_ROWS)


def test_limits_hold(found):
    few = networks_of(rows_of(), most_parents=2)
    assert max(len(one.network.edges) for one in few) == 2
    # knots and levels of the two may enter
    assert few[-1].n_parameters > 3
    assert [one.n_parameters for one in networks_of(rows_of(), most_parameters=3)] == [2, 3]
    assert len(networks_of(rows_of(25))) <= 1


def test_some_of_many_rows_are_enough_in_any_order(monkeypatch):
    monkeypatch.setattr(logits, "_MOST_ROWS", 300)
    frame = rows_of()
    found, shuffled = networks_of(frame), networks_of(frame.sample(frac=1.0, random_state=1))
    assert found[0].network.conditionals.n_rows == 300
    assert [one.loss for one in found] == pytest.approx([one.loss for one in shuffled], abs=1e-12)
    # a part of all rows is left out of a logit of some of them
    judged = JudgedRows.of(read_table(frame, kinds={}), "y", [found[1].network]).judged(found[1].network)
    assert judged["loss"] == pytest.approx(loss_of(found[1].network, frame), abs=0.02)


def test_a_column_may_stand_in_its_units():
    rng = np.random.default_rng(0)
    x = rng.exponential(size=2000)
    y = np.where(rng.random(2000) < 1 / (1 + np.exp(2 - 1.5 * x)), "ill", "well")
    first = networks_of(pd.DataFrame({"x": x, "y": y}))[0].network
    z = positions_of(first, "x", np.array([0.5, 1.0, 1.5]))
    assert z[2] - z[1] == pytest.approx(z[1] - z[0], rel=1e-3)
    # another one on its normal scale
    y = np.where(rng.random(2000) < 1 / (1 + np.exp(-1.5 * np.log(x))), "ill", "well")
    first = networks_of(pd.DataFrame({"x": x**4, "y": y}))[0].network
    z = positions_of(first, "x", np.array([0.5, 1.0, 1.5]))
    assert z[2] - z[1] < 0.9 * (z[1] - z[0])


@pytest.mark.parametrize(("factor", "shift"), [(1e300, 0.0), (1e-300, 0.0), (64.0, 1e17)])
def test_huge_and_tiny_numbers_are_columns_like_others(found, factor, shift):
    frame = rows_of()
    scaled = networks_of(frame.assign(a=frame["a"] * factor + shift))
    assert scaled[3].loss == pytest.approx(found[3].loss, abs=0.03)


def test_columns_that_tell_nothing_hardly_enter():
    rng = np.random.default_rng(4)
    noise = pd.DataFrame(rng.normal(size=(N_ROWS, 12)), columns=[*"abcdefghijkl"])
    assert len(networks_of(noise.assign(y=rng.choice(["ill", "well"], N_ROWS)))) < 15


def test_what_other_parents_say_already_does_not_count_again():
    rng = np.random.default_rng(4)
    u, a, v = rng.normal(size=(3, 2000))
    y = np.where(rng.random(2000) < 1 / (1 + np.exp(-3 * u - 2 * v)), "ill", "well")
    # a alone tells nothing, but what c has besides u
    second = networks_of(pd.DataFrame({"a": a, "c": u + a, "v": v, "y": y}))[1].network
    assert second.parents("y") == ("a", "c")


def test_the_first_parents_have_two_bins_and_fixed_cuts_stay(found):
    last = found[-1].network
    assert all(len(cuts) <= 1 for cuts in last.cut_points.values())
    first = found[0].network
    [(parent, _)] = first.edges
    assert len(first.cut_points[parent]) == 1
    assert last.tables["y"].size <= 64
    fixed = networks_of(rows_of(), fixed_cuts={"a": np.array([-1.0, 0.5]), "noise": np.array([0.0])})
    for one in fixed:
        assert one.network.cut_points["a"].tolist() == [-1.0, 0.5]
        assert one.network.cut_points["noise"].tolist() == [0.0]
    # a row of the table is the mean of the answers to its rows
    frame = rows_of()
    low = frame[frame[parent] <= first.cut_points[parent][0]]
    assert first.tables["y"][0] == pytest.approx(first.predict_proba(low, "y").mean().to_numpy(), abs=0.01)


def test_large_shown_tables_keep_further_levels_out():
    rng = np.random.default_rng(1)
    names = [f"k{i}" for i in range(15)]
    frame = pd.DataFrame({name: rng.integers(0, 2, 4000).astype(str) for name in names})
    odds = sum((frame[name] == "1") * 1.0 for name in names) - 7.5
    x = rng.normal(size=4000)
    y = np.where(rng.random(4000) < 1 / (1 + np.exp(-odds - 0.5 * x)), "ill", "well")
    last = networks_of(frame.assign(x=x, y=y))[-1].network
    assert last.tables["y"].size == 2**14
    assert "x" in last.parents("y")


def front_of(frame, **options):
    return ParetoBayesNetLearner(**{**QUICK, **options}).fit(frame).front_


def logits_of(front):
    return [candidate for candidate in front if candidate.network.conditionals is not None]


@pytest.fixture(scope="module")
def front():
    return front_of(rows_of())


def test_networks_with_logits_stand_in_the_front_instead_of_those_they_dominate(front):
    assert len(nondominated_rows(front.values)) == len(front)
    assert front.values.tolist() == sorted(front.values.tolist())
    own = logits_of(front)
    assert len(own) >= 3
    for candidate in own:
        logit = lines_of(candidate.network)["y"]
        assert candidate.objectives["complexity"] == 1 + logit.terms.n_free
        assert candidate.network.names == tuple(rows_of().columns)
        assert candidate.network.metadata["seed"] == 1
    # tables of as many parameters lose more
    by_tables = front_of(rows_of(), knowledge=ExpertKnowledge(required_edges=[("a", "noise")]))
    assert not logits_of(by_tables)
    of_five = min(c.objectives["target"] for c in by_tables if c.objectives["complexity"] <= 5)
    assert min(c.objectives["target"] for c in own if c.objectives["complexity"] <= 5) < of_five - 0.01


def test_the_single_network_stays_in_the_front():
    front = front_of(rows_of(), single_share=0.5)
    assert front.single is not None
    assert front.single.network.conditionals is None
    assert logits_of(front)


@pytest.mark.parametrize(
    "options",
    [
        {"misfit": "in-sample", "pseudo_count": 1.0},
        {"objectives": ["target", "misfit", "complexity"]},
        {"target": "d"},
        {"target": "a"},
    ],
    ids=["in-sample", "other objective", "four levels", "number"],
)
def test_other_questions_have_tables_alone(options):
    assert not logits_of(front_of(rows_of(), max_evaluations=300, **options))


def test_rules_of_edges_and_parents_hold_for_logits():
    knowledge = ExpertKnowledge(forbidden_edges=[("a", "y")])
    for candidate in front_of(rows_of(), knowledge=knowledge, max_indegree=2, max_evaluations=300):
        assert ("a", "y") not in candidate.network.edges
        assert len(candidate.network.parents("y")) <= 2
    limited = front_of(rows_of(), max_complexity=4, max_evaluations=300)
    assert max(c.objectives["complexity"] for c in limited) <= 4


def test_gaps_are_summed_out_of_answers():
    frame = rows_of()
    gaps = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1).assign(y=frame["y"])
    best = front_of(gaps, single_share=0.3).best("target")
    assert best.network.conditionals is not None
    new = rows_of(2000, seed=5)
    known = loss_of(best.network, new)
    missing = loss_of(
        best.network, new.mask(np.random.default_rng(1).random(new.shape) < 0.3).assign(y=new["y"])
    )
    assert known < missing < 0.69


def test_rows_with_gaps_say_nothing_about_the_logit_without_a_part():
    frame = rows_of()
    gaps = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1).assign(y=frame["y"])
    front = front_of(gaps, single_share=0.3)
    summary = prediction_summary(front)
    entries = {entry["id"]: entry["loss"] for entry in summary["networks"]}
    losses = [
        (entries[one.index], one.objectives["target"]) for one in logits_of(front) if one.index in entries
    ]
    assert losses
    # other rows than those of the objective are complete
    assert all(loss == pytest.approx(objective, abs=0.08) for loss, objective in losses)


def test_predictions_leave_the_rows_of_a_part_out_of_the_logit(front):
    summary = prediction_summary(front)
    frame, y = rows_of(), (rows_of()["y"] == "well").to_numpy()
    entries = {entry["id"]: entry for entry in summary["networks"]}
    judged = [c for c in logits_of(front) if c.index in entries and c.objectives["complexity"] == 5]
    assert len(judged) == 1
    [candidate] = judged
    network = candidate.network
    z = {name: positions_of(network, name, frame[name].to_numpy()) for name in "ab"}
    knot = lines_of(network)["y"].terms.functions[1].knots[2]
    design = np.column_stack(
        [np.ones(N_ROWS), z["a"], z["b"], np.maximum(z["b"] - knot, 0.0), frame["d"] == "q"]
    ).astype(float)
    losses = left_out(design, y, JudgedRows.of(front.table, "y", [network]).parts)
    assert entries[candidate.index]["loss"] == pytest.approx(losses.mean(), abs=1.5e-3)
    halves = tuple(np.sort(np.random.default_rng(0).permutation(N_ROWS)[k::2]) for k in range(2))
    assert JudgedRows(front.table, "y", halves).judged(network)["loss"] == pytest.approx(
        left_out(design, y, halves).mean(), abs=1e-3
    )
    in_sample = losses_of(design, y, regression(design, y))
    assert losses.mean() - in_sample.mean() > 4e-3
    assert entries[candidate.index]["loss"] == pytest.approx(candidate.objectives["target"], abs=2e-3)
    assert entries[candidate.index]["loss_error"] == pytest.approx(losses.std() / np.sqrt(N_ROWS), rel=0.05)


def left_out(design, y, parts):
    """The losses of rows under logistic regression of the rows of other parts."""
    losses = np.empty(len(y))
    for part in parts:
        rest = np.setdiff1d(np.arange(len(y)), part)
        losses[part] = losses_of(design[part], y[part], regression(design[rest], y[rest]))
    return losses


def regression(design, is_well):
    """The coefficients of logistic regression."""

    def loss(beta: Any) -> float:
        return float(losses_of(design, is_well, beta).sum())

    return minimize(loss, np.zeros(design.shape[1])).x


def losses_of(design, is_well, beta):
    return np.logaddexp(0.0, np.where(is_well, -1.0, 1.0) * (design @ beta))


def test_a_logit_of_other_rows_is_not_judged(front):
    network = logits_of(front)[0].network
    table = read_table(rows_of(), kinds={})
    assert counts_rows_of(network, table, "y")
    assert not counts_rows_of(network, read_table(rows_of(seed=8), kinds={}), "y")
    # of more rows it has seen some
    assert counts_rows_of(network, read_table(rows_of(1000), kinds={}), "y")
    assert not counts_rows_of(network, table, "a")


def test_the_page_judges_logits_and_says_how_it_answers(front):
    own = logits_of(front)
    data = front_data(front, front, range(len(front)), None)
    assert f" {len(own)} networks' outcome follows a logistic regression, and answers" in data["origin"]
    assert data["question"]["note"] is None
    judged = [data["question"]["networks"][candidate.index] for candidate in own]
    assert any(entry is not None and entry["levels"][0]["auc"][0] > 0.75 for entry in judged)
    assert data["ids"][data["landmarks"][0]["id"]] in [candidate.index for candidate in own]
    alone = front_of(rows_of(), misfit="in-sample", pseudo_count=1.0, max_evaluations=100)
    assert "logit" not in front_data(alone, alone, range(len(alone)), None)["origin"]


def test_a_front_with_logits_is_written_and_read(front, tmp_path):
    write_front(tmp_path / "front", front)
    again = read_front(tmp_path / "front")
    new = rows_of(200, seed=5).drop(columns="y")
    for candidate, other in zip(front, again, strict=True):
        assert other.network == candidate.network
    chosen = again.recommended().candidate.network
    assert chosen.predict_proba(new, "y").equals(
        front.recommended().candidate.network.predict_proba(new, "y")
    )
