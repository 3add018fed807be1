"""Small tables whose libraries grow, and slow scores of networks with any cuts."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from oracles import slow_family_score

from gomea_bn import BayesNetLearner, ExpertKnowledge, fit_shape
from gomea_bn.data import Table
from gomea_bn.problems import (
    CutPricer,
    FamilyScorer,
    LibraryGrowth,
    ScoredFamily,
    ScoredVariable,
    StructureProblem,
    curve_data,
    edge_rules,
    score_rule,
    scoring_method,
)
from gomea_bn.problems.cuts import (
    CutLimits,
    IntervalScore,
    Policy,
    Pricing,
    bin_codes,
    policy_library,
    table_shapes,
)
from gomea_bn.problems.kernels.cells import CellData


def tied_variables(
    seed: int, n_rows: int, kinds: str, *, n_distinct: int = 7, max_bins: int = 4
) -> list[ScoredVariable]:
    """Columns v0, v1, ... that depend on one cause, a "c" or a "d" for each; values repeat unless there are many."""
    rng = np.random.default_rng(seed)
    cause = rng.normal(size=n_rows)
    variables = []
    for i, kind in enumerate(kinds):
        x = cause * rng.normal() + rng.normal(size=n_rows)
        if kind == "c":
            grid = np.sort(rng.normal(scale=2.0, size=n_distinct))
            x = grid[np.abs(x[:, None] - grid).argmin(axis=1)]
            x[:2] = grid[0], grid[-1]
            variables.append(ScoredVariable(f"v{i}", x, 0, policy_library(x, "equal-frequency", max_bins)))
        else:
            variables.append(ScoredVariable(f"v{i}", (x > 0).astype(np.int32) + (x > 1), 3))
    return variables


def curved_column(name: str, values: NDArray[np.float64]) -> ScoredVariable:
    """A continuous column with quantile bins and a shape, as curves need it."""
    return ScoredVariable(name, values, 0, policy_library(values, "equal-frequency", 4), fit_shape(values))


def curves_scorer(variables: list[ScoredVariable]) -> FamilyScorer:
    """A scorer of tables, curves and logits."""
    method = scoring_method("density-bd")
    rule = score_rule(method, len(variables[0].values), n_variables=len(variables))
    return FamilyScorer(variables, method, rule, curves=curve_data(variables))


def growing_scorer(
    variables: Sequence[ScoredVariable],
    method: str = "density-bd",
    *,
    cut_cost: float = 0.5,
    capacity: int = 8,
    max_bins: int = 6,
) -> FamilyScorer:
    chosen = scoring_method(method, cut_cost=cut_cost)
    rule = score_rule(chosen, len(variables[0].values))
    return FamilyScorer(variables, chosen, rule, growth=LibraryGrowth(capacity, max_bins))


def priced_problem(
    variables: Sequence[ScoredVariable],
    limits: CutLimits,
    method: str = "density-bd",
    *,
    cut_cost: float = 0.5,
    capacity: int = 64,
    n_cells: int = 100,
    knowledge: ExpertKnowledge | None = None,
) -> tuple[StructureProblem, CutPricer]:
    """A problem that prices cuts within limits, and what prices them."""
    most = limits.max_bins or 255
    scorer = growing_scorer(variables, method, cut_cost=cut_cost, capacity=capacity, max_bins=most)
    pricing = Pricing(limits, [IntervalScore(scorer.method, scorer.rule)], n_cells)
    fewest = [v.n_levels or v.policies[0].n_bins for v in variables]
    rules = edge_rules(knowledge, [v.name for v in variables], fewest)
    problem = StructureProblem(scorer, rules, pricing=pricing)
    pricer = problem.refiner(np.zeros(1, np.uint8))
    assert isinstance(pricer, CutPricer)
    return problem, pricer


def random_genotype(problem: StructureProblem, seed: int) -> NDArray[np.int16]:
    """A DAG along a random order, each arc with probability one half, and any held policies."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(problem.n_nodes).tolist()
    edges = [arc for arc in itertools.combinations(order, 2) if rng.random() < 0.5]
    return problem.genotype(edges, problem.policy_indices(problem.sample(rng, 1)[0]).tolist())


def cuts_of(problem: StructureProblem, genotype: NDArray[np.int16]) -> list[NDArray[np.float64]]:
    """Every variable's cuts in a genotype; none for a discrete one."""
    scorer, policies = problem.scorer, problem.policy_indices(genotype).tolist()
    return [
        np.empty(0) if variable.n_levels else scorer.policy(v, policies[v]).cut_points
        for v, variable in enumerate(scorer.variables)
    ]


def slow_network_score(
    variables: Sequence[ScoredVariable],
    edges: Iterable[tuple[int, int]],
    cuts: Sequence[NDArray[np.float64]],
    method: str = "density-bd",
    cut_cost: float = 0.5,
    edge_cost: float = 0.0,
    shape_likelihoods: Mapping[int, float] | None = None,
    *,
    centred: bool = False,
    equivalent: bool = False,
) -> float:
    """The score in nats of a network with these cuts, by counting with dictionaries.

    `shape_likelihoods` holds the log likelihood of the shape of every variable whose bins have one.
    """
    cut = [
        ScoredVariable(v.name, v.values, v.n_levels, () if v.n_levels else (Policy(c, v.policies[0].chosen),))
        for v, c in zip(variables, cuts, strict=True)
    ]
    listed = list(edges)
    charged = (
        edge_cost * len(listed) * math.log(max(len(cut) - 1, 9 if centred else 1))
        if method == "density-bd"
        else 0.0
    )

    def family(child: int, parents: Iterable[int], cost: float) -> float:
        return slow_family_score(
            cut,
            ScoredFamily((child, 0), tuple((i, 0) for i in parents)),
            method,
            cut_cost=cost,
            centred=centred,
            equivalent=equivalent,
        )

    scores = [family(child, [i for i, j in listed if j == child], cut_cost) for child in range(len(cut))]
    # the widths of the bins cancel
    shaped = [log - family(v, [], 0.0) for v, log in (shape_likelihoods or {}).items()]
    return -charged + math.fsum([*scores, *shaped])


def table_variables(table: Table, fixed: Iterable[str] = ()) -> list[ScoredVariable]:
    """A table's columns, for `slow_network_score`."""
    named = set(fixed)
    return [
        ScoredVariable(
            column.name,
            column.values,
            len(column.levels) if column.levels else 0,
            () if column.levels else (Policy(np.empty(0), column.name not in named),),
        )
        for column in table.columns
    ]


def slow_learner_score(
    learner: BayesNetLearner, method: str = "density-bd", cut_cost: float = 0.5, fixed: Iterable[str] = ()
) -> float:
    """The score of a learner's network by counting again."""
    network, table = learner.network_, learner.table_
    position = {name: i for i, name in enumerate(table.names)}
    return slow_network_score(
        table_variables(table, fixed),
        [(position[a], position[b]) for a, b in network.edges],
        [network.cut_points.get(name, np.empty(0)) for name in table.names],
        method,
        cut_cost,
        # the default score learns the price of an edge
        network.metadata.get("edge_cost", learner.get_params(deep=False)["edge_cost"]),
        {position[name]: table_shapes(table)[name].log_likelihood for name in network.shapes},
        centred="centred" in network.metadata,
        equivalent="equivalent" in network.metadata,
    )


def keeps_limits(values: NDArray[Any], cuts: NDArray[np.float64], limits: CutLimits) -> bool:
    """Whether a variable's bins keep the limits; one bin always does."""
    edges = np.concatenate(([values.min()], cuts, [values.max()]))
    rows = np.bincount(bin_codes(values, cuts), minlength=len(cuts) + 1)
    wide = (np.diff(edges) >= limits.min_width * np.ptp(values)).all() and (np.diff(edges) > 0).all()
    few = limits.max_bins is None or len(cuts) < limits.max_bins
    return not len(cuts) or bool(few and wide and rows.min() >= limits.min_bin_count)


def all_cuts(values: NDArray[Any], limits: CutLimits) -> list[NDArray[np.float64]]:
    """Every set of mid-points between neighbouring values that keeps the limits."""
    distinct = sorted(set(values.tolist()))
    middles = [a + (b - a) / 2 for a, b in itertools.pairwise(distinct)]
    sets = (np.array(c) for k in range(len(distinct)) for c in itertools.combinations(middles, k))
    return [cuts for cuts in sets if keeps_limits(values, cuts, limits)]


def functions_of_rows(cells: CellData, functions: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
    """Return functions of the rows of cells, float64 (n_rows, n_functions)."""
    return np.column_stack([cells.of_fine[k][cells.fine[cells.column[k]]] for k in functions])
