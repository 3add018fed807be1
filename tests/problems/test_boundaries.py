"""The problem of refined cuts: evaluation against plain counting, genes, floors, interactions."""

import numpy as np
import pytest
from refinement_examples import METHODS, example, quantile_network
from search_examples import journal_of, unevaluated

from gomea_bn.learning.cuts import RefinementSession
from gomea_bn.network.rows import table_for
from gomea_bn.problems import BoundaryProblem, evaluate, evaluate_partial, set_gene, undo
from gomea_bn.problems.cuts import CutLimits


def boundary_problem(
    seed: int, method: str = "density-bic", limits: CutLimits | None = None, n_rows: int = 300
) -> BoundaryProblem:
    truth, frame = example(seed, n_rows=n_rows)
    frame = frame.round(dict.fromkeys(truth.cut_points, 2))
    table = table_for(truth, frame)
    session = RefinementSession(quantile_network(truth, table, 4), table, method, "bic", None)
    variables = session.scored_variables(session.network_cuts)
    return BoundaryProblem(
        variables, session.graph.parents, session.method, session.rule, limits or CutLimits()
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("method", METHODS)
def test_partial_full_and_plain_evaluation_agree(method: str) -> None:
    problem = boundary_problem(6, method, CutLimits(min_width=0.05, min_bin_count=5))
    data = problem.kernel_data(1)[0]
    rng = np.random.default_rng(1)
    solution, journal = unevaluated(problem, problem.sample(rng, 1)[0]), journal_of(problem)
    assert evaluate(data, solution, journal, rng) == problem.n_terms
    touched = set()
    for _ in range(150):
        for gene in rng.choice(problem.n_variables, rng.integers(1, 4), replace=False):
            set_gene(solution, journal, gene, rng.uniform(problem.lower[gene], problem.upper[gene]))
        touched.add(evaluate_partial(data, solution, journal, rng))
        objectives, violation = problem.evaluate(np.asarray(solution.genotype))
        assert solution.objectives == pytest.approx(objectives, abs=1e-7)
        assert solution.violation[0] == pytest.approx(violation, abs=1e-12)
        if rng.random() < 0.5:
            undo(solution, journal)
            assert evaluate_partial(data, solution, journal, rng) == 0
            assert solution.objectives == pytest.approx(
                problem.evaluate(np.asarray(solution.genotype))[0], abs=1e-7
            )
        journal.counts[:] = 0
    assert min(touched) < problem.n_terms


def test_genes_are_floored_sorted_and_bounded() -> None:
    problem = boundary_problem(6)
    rng = np.random.default_rng(2)
    assert (problem.lower == 0).all()
    x = problem.sample(rng, 1)[0]
    cuts = problem.cut_points(x)
    v, positions = next((v, positions) for v, positions in cuts.items() if len(positions) == 3)
    values = np.asarray(problem.variables[v].values)
    distinct = np.unique(values)
    first = sum(len(cuts[w]) for w in cuts if w < v)
    genes = x[first : first + 3]
    middles = (distinct[1:] + distinct[:-1]) / 2
    assert positions == pytest.approx(middles[np.floor(genes).astype(int)])
    assert problem.upper[first] == len(distinct) - 2
    mixed = x.copy()
    mixed[first : first + 3] = genes[::-1]
    assert problem.evaluate(mixed)[0] == problem.evaluate(x)[0]
    assert problem.cut_points(problem.encode(cuts))[v] == pytest.approx(positions)
    assert problem.cut_points(problem.upper)[v] == pytest.approx(np.full(3, middles[-1]))


def test_equal_cuts_and_bins_below_the_floors_are_infeasible() -> None:
    problem = boundary_problem(6, limits=CutLimits(min_width=0.1, min_bin_count=3))
    good = problem.encode({v: np.array([0.25, 0.5, 0.75]) for v in problem.cut_points(problem.lower)})
    assert problem.evaluate(good)[1] == 0
    equal = good.copy()
    equal[0] = equal[1]
    # an empty bin without width misses all of both floors
    assert problem.evaluate(equal)[1] == pytest.approx(2.0)
    narrow = good.copy()
    narrow[0] = narrow[1] - 2
    assert 0 < problem.evaluate(narrow)[1] < 1


def test_a_bin_misses_the_share_of_rows_that_it_lacks() -> None:
    problem = boundary_problem(6, limits=CutLimits(min_width=0.0, min_bin_count=50))
    genotype = problem.encode({v: np.array([0.25, 0.5, 0.75]) for v in problem.cut_points(problem.lower)})
    missing = 0.0
    for v, cuts in problem.cut_points(genotype).items():
        rows = np.bincount(np.searchsorted(cuts, problem.variables[v].values), minlength=len(cuts) + 1)
        missing += float(np.maximum(1 - rows / 50, 0).sum())
    assert missing % 1 > 0
    assert problem.evaluate(genotype)[1] == pytest.approx(missing)


def test_interactions_are_pairs_of_cuts_in_one_family() -> None:
    problem = boundary_problem(6)
    cuts = problem.cut_points(problem.lower)
    owner = [v for v, positions in cuts.items() for _ in positions]
    families = [{*parents, v} for v, parents in enumerate(problem.parents)]
    expected = {
        (g, h)
        for g in range(len(owner))
        for h in range(g + 1, len(owner))
        if any({owner[g], owner[h]} <= family for family in families)
    }
    assert problem.interactions is not None
    assert set(problem.interactions) == expected
    assert 0 < len(expected) < len(owner) * (len(owner) - 1) / 2
