"""Scores of columns whose bins have a shape inside, and their cuts as real genes."""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import fixed, make_scorer
from search_examples import journal_of, unevaluated
from shape_oracles import slow_score, with_cuts

from gomea_bn import DiscretizedBayesNet, fit_shape, read_table
from gomea_bn.problems import (
    BoundaryProblem,
    FamilyScorer,
    LibraryGrowth,
    ScoredFamily,
    ScoredVariable,
    evaluate,
    evaluate_partial,
    score_rule,
    scoring_method,
    set_gene,
)
from gomea_bn.problems.cuts import CutLimits, Policy
from gomea_bn.problems.kernels.score import LEFT_OUT, LEFT_OUT_BEST, SMOOTHED, ScoreRule

METHODS = ("density-bic", "density-bd")
ROOT = ScoredFamily((0, 0))


def column(seed: int, n_rows: int = 200, *, tied: bool = False, points: bool = False) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    values = rng.gamma(2.0, size=n_rows) + 4 * (rng.random(n_rows) < 0.3)
    values = values.round(1) if tied else values
    return np.where(rng.random(n_rows) < 0.3, 0.0, values) if points else values


def shaped(
    name: str, values: NDArray[np.float64], *cuts: float, uniform: bool = False, chosen: bool = True
) -> ScoredVariable:
    """A continuous variable with its fitted shape; bins may also be uniform inside if `uniform`."""
    shape = replace(fit_shape(values), may_be_uniform=uniform)
    return with_cuts(ScoredVariable(name, values, 0, shape=shape), *cuts, chosen=chosen)


def quantile_cuts(values: NDArray[np.float64], n_bins: int) -> list[float]:
    distinct = np.unique(values)
    middles = (distinct[:-1] + distinct[1:]) / 2
    return np.unique(middles[np.linspace(0, len(middles) - 1, n_bins + 1).round().astype(int)[1:-1]]).tolist()


@given(st.integers(0, 10_000), st.sampled_from(METHODS), st.booleans(), st.booleans())
@settings(max_examples=60)
def test_scores_equal_their_twin(seed: int, method: str, tied: bool, uniform: bool) -> None:
    rng = np.random.default_rng(seed)
    values = [column(seed + k, 60, tied=tied, points=k == 1) for k in range(2)]
    variables = [
        shaped(f"v{k}", x, *quantile_cuts(x, int(rng.integers(1, 6))), uniform=uniform)
        for k, x in enumerate(values)
    ]
    variables.append(ScoredVariable("d", rng.integers(0, 3, 60).astype(np.int32), 3))
    families = [
        ScoredFamily((0, 0)),
        ScoredFamily((1, 0), ((0, 0),)),
        ScoredFamily((0, 0), ((1, 0), (2, 0))),
        ScoredFamily((2, 0), ((0, 0), (1, 0))),
    ]
    expected = [slow_score(variables, family, method) for family in families]
    assert make_scorer(variables, method).score(families) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(("method", "prior"), [*((m, "dirichlet") for m in METHODS), ("density-bd", "bdeu")])
@pytest.mark.parametrize("points", [False, True])
def test_a_root_scores_the_same_at_any_cuts_apart_from_their_costs(
    method: str, prior: str, points: bool
) -> None:
    values = column(1, points=points)
    n_gaps = len(np.unique(values)) - 1
    cost = 0.5 * math.log(n_gaps) if method == "density-bd" else 0.0
    for n_bins in range(1, 9):
        cuts = quantile_cuts(values, n_bins)
        for chosen in (True, False):
            scorer = make_scorer([shaped("x", values, *cuts, chosen=chosen)], method, prior=prior)
            assert scorer.score([ROOT])[0] == pytest.approx(-cost * len(cuts) * chosen, abs=1e-8)
            assert scorer.constant_score == fit_shape(values).log_likelihood


@pytest.mark.parametrize("uniform", [False, True])
def test_scores_leave_out_the_likelihood_of_a_shape_that_all_cuts_have(uniform: bool) -> None:
    """Other bins may be uniform, so that the likelihood of the shape decides; one with a point may not."""
    values = [column(seed, points=seed == 2) for seed in (1, 2)]
    variables = [shaped(f"v{k}", x, *quantile_cuts(x, 3), uniform=uniform) for k, x in enumerate(values)]
    discrete = ScoredVariable("d", np.tile([0, 1], 100).astype(np.int32), 2)
    likelihoods = [v.shape.log_likelihood for v in variables]
    expected = likelihoods[1] if uniform else sum(likelihoods)
    for method in METHODS:
        assert make_scorer([*variables, discrete], method).constant_score == pytest.approx(expected)
    rule = ScoreRule(SMOOTHED, 0.0, 1.5, np.zeros(1), np.zeros(1))
    misfits = FamilyScorer([*variables, discrete], scoring_method("density-bic"), rule)
    assert misfits.constant_score == 0.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("transform", [np.exp, np.cbrt, lambda x: x**3, lambda x: np.argsort(np.argsort(x))])
def test_shaped_scores_depend_on_ranks_alone(
    method: str, transform: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> None:
    """A transform changes the constant score, and nothing else: no code, and no bit of a score."""
    original = [column(seed, 300) for seed in (1, 2)]
    original[1] = original[1] + original[0]
    families = [
        ScoredFamily((1, 0)),
        ScoredFamily((1, 0), ((0, 0),)),
        ScoredFamily((1, 1)),
        ScoredFamily((1, 1), ((0, 1),)),
    ]
    scores, codes = [], []
    for values in (original, [np.asarray(transform(x), np.float64) for x in original]):
        variables = []
        for name, x in zip("ab", values):
            policies = tuple(Policy(np.array(quantile_cuts(x, n_bins))) for n_bins in (3, 5))
            variables.append(replace(shaped(name, x), policies=policies))
        scorer = make_scorer(variables, method)
        scores.append(scorer.score(families).tolist())
        codes.append(scorer.rows.codes.tolist())
        assert scorer.is_shaped.all()
    assert codes[0] == codes[1]
    assert scores[0] == scores[1]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_the_better_measure_counts(method: str, seed: int) -> None:
    values = column(seed)
    chosen = set()
    for n_bins in (1, 2, 4, 8, 40):
        cuts = quantile_cuts(values, n_bins)
        both = shaped("x", values, *cuts, uniform=True)
        alone = [replace(both, shape=None), shaped("x", values, *cuts)]
        scorers = [make_scorer([v], method) for v in alone]
        uniform, with_shape = (s.score([ROOT])[0] + s.constant_score for s in scorers)
        scorer = make_scorer([both], method)
        assert scorer.constant_score == 0.0
        assert scorer.score([ROOT])[0] == pytest.approx(max(uniform, with_shape), abs=1e-9)
        assert scorer.is_shaped[0] == (with_shape > uniform)
        chosen.add(bool(scorer.is_shaped[0]))
    assert True in chosen


def test_repeated_values_in_narrow_bins_are_never_uniform() -> None:
    """Only bins with more than two rows per distinct value, narrower than the resolution, count as too fine."""
    inner = np.repeat([5.0, 5.001, 5.002], [8, 2, 2])
    values = np.concatenate((np.linspace(0, 10, 101), inner))
    shape = replace(fit_shape(values), resolution=0.5)
    variable = ScoredVariable("x", values, 0, shape=replace(shape, log_likelihood=-1e6))
    for cuts, is_shaped in (
        ((4.95, 5.0005), True),
        ((4.95, 5.46), False),
        # two rows per value
        ((5.0005, 5.04), False),
        ((), False),
    ):
        scorer = make_scorer([with_cuts(variable, *cuts)], "density-bic")
        assert bool(scorer.is_shaped[0]) == is_shaped


def test_columns_with_points_are_always_shaped() -> None:
    values = column(3, points=True)
    variable = shaped("x", values, *quantile_cuts(values, 3), uniform=True)
    assert variable.shape.shape.points
    variable = replace(variable, shape=replace(variable.shape, log_likelihood=-1e9))
    assert make_scorer([variable]).is_shaped.tolist() == [True]


@pytest.mark.parametrize("uniform", [False, True])
def test_policies_that_enter_later_are_measured_alike(uniform: bool) -> None:
    values = column(4)
    method = scoring_method("density-bd")
    rule = score_rule(method, len(values))
    start = shaped("x", values, 2.0, uniform=uniform)
    scorer = FamilyScorer([start], method, rule, growth=LibraryGrowth(8, 60))
    for n_bins in (2, 3, 50):
        cuts = quantile_cuts(values, n_bins)
        index = scorer.enter(0, np.array(cuts))
        alone = FamilyScorer([with_cuts(start, *cuts)], method, rule)
        assert scorer.score([ScoredFamily((0, index))]) == alone.score([ROOT])
        assert scorer.is_shaped[scorer.view(0, index)] == alone.is_shaped[0]


@pytest.mark.parametrize("uniform", [False, True])
def test_misfits_are_the_densities_of_the_network(uniform: bool) -> None:
    """Misfits count like the network that has the same pseudo-count and shapes, on columns scaled to [0, 1]."""
    rng = np.random.default_rng(2)
    x, y = column(1), column(2, points=True)
    d = (x + rng.normal(size=200) > 3).astype(np.int32)
    frame = pd.DataFrame({"x": x, "y": y, "d": np.where(d, "yes", "no")})
    table = read_table(frame, kinds={"x": "continuous", "y": "continuous"})
    cuts = {"x": quantile_cuts(x, 4), "y": quantile_cuts(y, 3)}
    variables = [
        shaped("x", x, *cuts["x"], uniform=uniform),
        shaped("y", y, *cuts["y"], uniform=uniform),
        ScoredVariable("d", table.columns[2].values, 2),
    ]
    method = scoring_method("density-bic")
    rule = ScoreRule(SMOOTHED, 0.0, 1.5, np.zeros(1), np.zeros(1))
    scorer = FamilyScorer(variables, method, rule)
    shapes = {v.name: v.shape.shape for k, v in enumerate(variables[:2]) if scorer.is_shaped[scorer.view(k)]}
    network = DiscretizedBayesNet.from_table(
        table, [("x", "y"), ("y", "d"), ("x", "d")], cuts, pseudo_count=1.5, shapes=shapes
    )
    families = [ScoredFamily((0, 0)), ScoredFamily((1, 0), ((0, 0),)), ScoredFamily((2, 0), ((0, 0), (1, 0)))]
    # a point has a probability in any unit
    scaled = 200 * math.log(np.ptp(x)) + (
        ~np.isin(y, variables[1].shape.shape.point_values)
    ).sum() * math.log(np.ptp(y))
    assert scorer.score(families).sum() == pytest.approx(network.log_density(frame).sum() + scaled, abs=1e-6)
    assert "y" in shapes


@pytest.mark.parametrize("kind", [LEFT_OUT, LEFT_OUT_BEST])
@pytest.mark.parametrize("points", [False, True])
def test_misfits_that_leave_rows_out_charge_the_parameters_of_a_shape(kind: int, points: bool) -> None:
    x = column(2, points=points)
    variable = shaped("x", x, uniform=False)
    method = scoring_method("density-bic")
    scores = [
        FamilyScorer([variable], method, ScoreRule(rule, 0.0, 1.0, np.zeros(1), np.zeros(1))).score([ROOT])[0]
        for rule in (kind, SMOOTHED)
    ]
    # a single bin has probability 1, so that the shape alone counts
    assert scores[0] == pytest.approx(variable.shape.log_likelihood, abs=1e-9)
    assert scores[0] < scores[1] - 1.0


def boundary_problem(seed: int, method: str, *, uniform: bool, limits: CutLimits) -> BoundaryProblem:
    rng = np.random.default_rng(seed)
    x, y = column(seed, 150), column(seed + 1, 150, points=True)
    z = column(seed + 2, 150, tied=True)
    variables = [
        shaped("x", x, *quantile_cuts(x, 3), uniform=uniform),
        shaped("y", y, *quantile_cuts(y, 3), uniform=uniform),
        shaped("z", z, *quantile_cuts(z, 4), uniform=uniform),
        ScoredVariable("d", rng.integers(0, 2, 150).astype(np.int32), 2),
        replace(shaped("w", x[::-1].copy(), uniform=uniform), policies=(fixed(x, 1.0, 2.0),)),
    ]
    chosen = scoring_method(method)
    rule = score_rule(chosen, 150, n_variables=5)
    return BoundaryProblem(variables, [[], [0], [0, 3], [1], []], chosen, rule, limits)


@pytest.mark.sample(1)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("uniform", [False, True])
def test_kernels_plain_evaluation_and_the_scorer_agree(method: str, uniform: bool) -> None:
    problem = boundary_problem(1, method, uniform=uniform, limits=CutLimits(min_width=0.05))
    shapes = [v.shape for v in problem.variables if v.shape is not None and v.shape.may_be_shaped]
    assert len(shapes) >= 1
    assert problem.constant_score == pytest.approx(sum(shape.log_likelihood for shape in shapes))
    data, rng = problem.kernel_data(1)[0], np.random.default_rng(1)
    solution, journal = unevaluated(problem, problem.sample(rng, 1)[0]), journal_of(problem)
    evaluate(data, solution, journal, rng)
    for _ in range(60):
        for gene in rng.choice(problem.n_variables, rng.integers(1, 4), replace=False):
            set_gene(solution, journal, gene, rng.uniform(problem.lower[gene], problem.upper[gene]))
        evaluate_partial(data, solution, journal, rng)
        journal.counts[:] = 0
        genotype = np.asarray(solution.genotype, np.float64)
        objectives, violation = problem.evaluate(genotype)
        assert solution.objectives == pytest.approx(objectives, abs=1e-7)
        assert solution.violation[0] == pytest.approx(violation, abs=1e-12)
        cuts = problem.cut_points(genotype)
        if any(len(np.unique(c)) < len(c) for c in cuts.values()):
            continue
        slow = [
            with_cuts(v, *cuts[k].tolist(), chosen=v.policies[0].chosen) if k in cuts else v
            for k, v in enumerate(problem.variables)
        ]
        families = [
            ScoredFamily((v, 0), tuple((p, 0) for p in of_v)) for v, of_v in enumerate(problem.parents)
        ]
        edges = sum(map(len, problem.parents)) * (math.log(4) if method == "density-bd" else 0.0)
        measures = [v.shape.measures == (True,) if v.shape else None for v in problem.variables]
        expected = sum(slow_score(slow, f, method, shaped=measures[f.child[0]]) for f in families) - edges
        assert -solution.objectives[0] == pytest.approx(expected, abs=1e-7)


def test_the_measure_of_the_first_cuts_stays() -> None:
    """Otherwise kernels, which do not compare measures, would score other solutions than the plain evaluation."""
    problem = boundary_problem(4, "density-bic", uniform=True, limits=CutLimits())
    assert {v.shape.measures for v in problem.variables if v.shape is not None} <= {(True,), (False,)}
    assert problem.variables[1].shape.measures == (True,)
    assert problem.variables[3].shape is None
    first = problem.variables[0]
    for cuts in ((0.5, 1.0), (5.0, 6.0), (1.0, 1.0001)):
        shaped_inside = make_scorer([with_cuts(first, *cuts)]).is_shaped[0]
        assert shaped_inside == (first.shape.measures == (True,))


@pytest.mark.parametrize("may_be_shaped", [False, True])
def test_repeated_values_give_bins_a_least_width_if_they_are_uniform(may_be_shaped: bool) -> None:
    limits = CutLimits(min_width=0.4 if may_be_shaped else 1e-3)
    given = boundary_problem(2, "density-bic", uniform=False, limits=limits)
    variables = [
        replace(v, shape=replace(v.shape, may_be_uniform=not may_be_shaped, may_be_shaped=may_be_shaped))
        if v.shape is not None and not v.shape.shape.points
        else v
        for v in given.variables
    ]
    problem = BoundaryProblem(variables, given.parents, given.method, given.rule, limits)
    # z has about ten rows per value, and x has no repeated values
    first = problem._columns.first_gene
    genotype = problem.sample(np.random.default_rng(0), 1)[0]
    genotype[first[0] : first[1]] = [40.5, 60.5]
    genotype[first[2] : first[3]] = [10.5, 11.5, 20.5]
    column_z = problem.variables[2]
    assert column_z.shape is not None
    edges = np.concatenate(
        ([column_z.values.min()], problem.cut_points(genotype)[2], [column_z.values.max()])
    )
    expected = 0.0
    for k, (a, b) in enumerate(itertools.pairwise(edges)):
        values = column_z.values[((column_z.values > a) | (k == 0)) & (column_z.values <= b)]
        if len(values) > 2 * len(np.unique(values)) and b - a < column_z.shape.resolution:
            expected += 1 - (b - a) / column_z.shape.resolution
    assert expected > 0
    assert problem.evaluate(genotype)[1] == pytest.approx(0.0 if may_be_shaped else expected)
