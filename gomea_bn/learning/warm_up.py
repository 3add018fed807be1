"""Compilation of the kernels of a learner before the clock of a run starts."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from gomea_bn.algorithms.gomea import GOMEA, GomeaRun
from gomea_bn.algorithms.multi_start import MultiStartRun
from gomea_bn.data.table import Table, read_table
from gomea_bn.linkage.models import LinkageTree
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.tables import smoothed_and_left_out
from gomea_bn.problems.cuts.blanket import Neighbourhood
from gomea_bn.problems.cuts.cut_column import CutColumn, ScoredVariable
from gomea_bn.problems.cuts.interval_dp import CutLimits, CutProblem, IntervalScore
from gomea_bn.problems.cuts.libraries import Pricing
from gomea_bn.problems.cuts.policies import policy_library
from gomea_bn.problems.distributions import are_counts
from gomea_bn.problems.family_scorer import FamilyScorer, LibraryGrowth
from gomea_bn.problems.kernels.score import centred_gains, concentrations, score_counts
from gomea_bn.problems.knowledge import EdgeRules, edge_rules
from gomea_bn.problems.parents import candidate_pairs
from gomea_bn.problems.scores import family_score, score_rule, scoring_method
from gomea_bn.problems.structure import StructureProblem
from gomea_bn.runtime.jit import compile_for, kernels_are_cached, kernels_can_be_kept
from gomea_bn.runtime.kernel_progress import announced_kernels, compiling
from gomea_bn.runtime.limits import Limits
from gomea_bn.runtime.threads import thread_count

if TYPE_CHECKING:
    from gomea_bn.problems.front_problem import FrontProblem

WIDE_TABLE = 80
"""Number of columns from which a search may need the kernels that link many genes."""

# Python prints warnings to standard error by default, so that users know why they wait
_log = logging.getLogger("gomea_bn").warning
_done: set[str] = set()


SUM, LOGIT, COUNT = "sum", "logit", "count"
"""What a column may be that follows curves of its parents: each kind has kernels of its own."""

# of the kernels of each kind, one of the last that are compiled; two processes begin at either end of those of curves
_LAST = {
    "learner": ["_add_likelihoods"],
    "learner-wide": ["sparse_average_linkage"],
    "front": ["evaluate_front_partial"],
    "front-wide": ["sparse_average_linkage"],
    SUM: ["sum_score", "curve_score", "transform_gain"],
    LOGIT: ["logit_gain", "curve_score", "several_indices_gain"],
    COUNT: ["count_gain", "curve_score"],
}


def size_of_table(table: Table, *, has_curves: bool = True) -> dict[str, Any]:
    """Return the options of `compile_kernels` for a table, whose columns follow curves unless `has_curves` is False."""
    followers = set()
    # levels alone have no curves to follow
    may_follow = has_curves and not table.n_missing and any(column.levels is None for column in table.columns)
    for column in table.columns if may_follow else ():
        if column.levels is not None:
            followers.add(LOGIT)
        elif are_counts(column.values):
            followers |= {SUM, COUNT}
        else:
            followers.add(SUM)
    return {
        "n_columns": len(table.names),
        "has_gaps": table.n_missing > 0,
        "followers": frozenset(followers),
    }


def compile_kernels(
    announce: Callable[[str], object] = _log,
    *,
    n_columns: int | None = None,
    has_gaps: bool | None = None,
    followers: Iterable[str] = (SUM, LOGIT, COUNT),
) -> float:
    """Compile or load the kernels of a learning run, and return the seconds this took.

    `announce` receives a line on each kernel that takes long, if kernels are not in the cache of this machine. With few
    columns, kernels for tables of `WIDE_TABLE` columns are left out, without gaps those that complete rows, and those
    by which columns follow curves unless `followers` names their kind. A second process compiles a part of them, where
    there is a second core.
    """
    return _compile("learner", [_learn_once], announce, n_columns, followers) + _compile_for_gaps(
        announce, has_gaps
    )


def compile_front_kernels(
    announce: Callable[[str], object] = _log,
    *,
    n_columns: int | None = None,
    has_gaps: bool | None = None,
    followers: Iterable[str] = (SUM, LOGIT, COUNT),
) -> float:
    """Compile or load the kernels of a run with several objectives; see `compile_kernels`."""
    # a front begins with the search for a single network
    runs = [_search_front_once, _learn_once]
    return _compile("front", runs, announce, n_columns, followers) + _compile_for_gaps(announce, has_gaps)


def _compile(
    run_kind: str,
    runs: Sequence[Callable[[int, bool], None]],
    announce: Callable[[str], object],
    n_columns: int | None,
    followers: Iterable[str],
) -> float:
    """Compile the kernels of some runs; another process compiles those that come last, and those after the search."""
    is_wide = n_columns is None or n_columns >= WIDE_TABLE
    wanted = {run_kind, *followers, *([f"{run_kind}-wide"] if is_wide else [])}
    if wanted <= _done:
        return 0.0
    if kernels_are_cached(*(name for kind in wanted for name in _LAST[kind])):
        # each is loaded when it is called
        _done.update(wanted)
        return 0.0
    began = perf_counter()
    others = [run.__name__ for run in runs[1:]] or [_around_the_search.__name__]
    kinds = sorted(followers)
    calls = [
        f"compile_followers({kinds})",
        *(f"{name}(1, {is_wide})" for name in others),
        f"compile_densities({kinds})",
    ]
    with announced_kernels(announce), compiling():
        _start_another_process(calls)
        for run in runs:
            for n_threads in (1, 2):
                run(n_threads, is_wide)
        compile_followers(followers, last_first=True)
    _done.update(wanted)
    return perf_counter() - began


def compile_followers(followers: Iterable[str], *, last_first: bool = False) -> None:
    """Compile or load the kernels by which columns follow curves, for some kinds of columns, the slowest first.

    Two processes, one of which begins with the last, meet where both are done.
    """
    from gomea_bn.problems.curves import new_curve_scratch, no_curves
    from gomea_bn.problems.kernels.counts import count_gain
    from gomea_bn.problems.kernels.curves import curve_score, sum_score
    from gomea_bn.problems.kernels.logits import logit_gain, several_indices_gain
    from gomea_bn.problems.kernels.transforms import transform_gain

    curves = no_curves()
    scratch, some = new_curve_scratch(curves), np.zeros(0, np.int64)
    wanted: list[tuple[Any, ...]] = []
    if SUM in followers:
        wanted.append((sum_score, curves, scratch, some, 0))
    if LOGIT in followers:
        wanted.append((logit_gain, curves.logits, scratch.logits, some, 0, 0, False))
    if COUNT in followers:
        wanted.append((count_gain, curves.counts, curves.logits.cells, scratch.counts, some, 0, 0))
    if followers:
        wanted.append((curve_score, curves, scratch, some, 0))
    if LOGIT in followers:
        wanted.append((several_indices_gain, curves.logits, scratch.logits, some, 0, 0, 0.0))
    if SUM in followers:
        wanted.append((transform_gain, curves.transforms, scratch.transforms, 0, 1.0, 1.0))
    for function, *arguments in reversed(wanted) if last_first else wanted:
        compile_for(function, *arguments)


def compile_densities(followers: Iterable[str]) -> None:
    """Compile or load kernels by which columns follow their parents after the search, for some kinds of columns."""
    from gomea_bn.problems.curves import new_curve_scratch, no_curves
    from gomea_bn.problems.kernels.curves import solve_family
    from gomea_bn.problems.kernels.logits import start_logit
    from gomea_bn.problems.kernels.tails import fit_tails

    curves = no_curves()
    scratch = new_curve_scratch(curves)
    if SUM in followers:
        compile_for(solve_family, curves, scratch, np.zeros(0, np.int64), 0, 0)
        compile_for(fit_tails, scratch.tails, 1.0)
    if LOGIT in followers:
        compile_for(start_logit, curves.logits, scratch.logits, np.zeros((1, 3)), 0, 1, 4.0, False)


def _compile_for_gaps(announce: Callable[[str], object], has_gaps: bool | None) -> float:
    """Compile the kernels that only tables with missing values need, and load the parts of SciPy for them."""
    if "gaps" in _done or has_gaps is False:
        return 0.0
    began = perf_counter()
    frame = pd.DataFrame({"a": [*"uvuvuvuvuvu", None], "b": [*"xxyyxxyyxxy", "y"]})
    with announced_kernels(announce), compiling():
        table = read_table(frame, missing="keep")
        network = DiscretizedBayesNet.from_table(table, [("a", "b")], {}, pseudo_count="auto")
        network.query(["a"], {"b": "x"}, method="exact")
    _done.add("gaps")
    return perf_counter() - began


def _start_another_process(calls: Sequence[str]) -> None:
    """Let another process call functions of this module, if there are cores and a cache for that.

    It goes on beside the search, and ends with this process at the latest.
    """
    # the program may be another one, which holds an interpreter
    is_python = Path(sys.executable or "").name.startswith("python")
    if not is_python or thread_count(-1) < 2 or not kernels_can_be_kept():
        return
    from gomea_bn.runtime.children import run_beside

    code = ["from gomea_bn.learning import warm_up", *(f"warm_up.{call}" for call in calls)]
    run_beside("; ".join(code))


def _advance(run: MultiStartRun) -> None:
    """Run to the limit. Unlike `finish` this does not delay Ctrl-C to the end of a generation, after compilation."""
    with run:
        while run.step():
            pass


def _example(score: str) -> tuple[list[ScoredVariable], EdgeRules, Pricing]:
    """Return the columns, rules and prices of a problem with four discrete columns and a continuous one."""
    columns = np.random.default_rng(0).integers(0, 2, (4, 16)).astype(np.int32)
    # each is the best parent of the other, so that kicks have a chain to move
    columns[1] = columns[0]
    variables = [ScoredVariable(str(i), column, 2) for i, column in enumerate(columns)]
    values = np.random.default_rng(0).random(16)
    variables.append(ScoredVariable("x", values, 0, policy_library(values, "equal-frequency", 3)))
    method = scoring_method(score)
    pricing = Pricing(CutLimits(), [IntervalScore(method, score_rule(method, 16))])
    return variables, edge_rules(None, [v.name for v in variables], [2] * 5), pricing


def _example_problem() -> StructureProblem:
    variables, rules, pricing = _example("density-bd")
    method = scoring_method("density-bd")
    scorer = FamilyScorer(variables, method, score_rule(method, 16), growth=LibraryGrowth(8, 4))
    scorer.reserve(1 << 13)
    return StructureProblem(scorer, rules, pricing=pricing)


def _learn_once(n_threads: int, is_wide: bool) -> None:
    problem = _example_problem()
    limits = Limits(max_generations=2)
    _advance(GomeaRun(GOMEA(base_population=32), problem, limits, random_state=1, n_jobs=n_threads))
    _screen_and_link(problem, is_wide)
    _shape_and_average(problem)


def _around_the_search(_n_threads: int, is_wide: bool) -> None:
    """Call the kernels of a learning run that are small, and take part in no evaluation of a network."""
    # those that the run itself needs first come first
    values, method = np.random.default_rng(0).random(16), scoring_method("density-bd")
    score = IntervalScore(method, score_rule(method, 16))
    CutProblem.of_rows(CutColumn.of_values(values), Neighbourhood(), score).optimal(CutLimits())
    problem = _example_problem()
    _screen_and_link(problem, is_wide)
    generator = np.random.default_rng(0)
    LinkageTree().learn(problem.sample(generator, 32), problem.alphabet, generator)


def _shape_and_average(problem: StructureProblem) -> None:
    """Call the kernels of shapes, of the choice between curves and tables, of drawn cuts, of lines, and of tables."""
    from gomea_bn.network.conditionals.family_effects import below_student, student_cells, student_quantiles
    from gomea_bn.problems.splines import spline_design, spline_values

    score_counts(np.ones(2, np.int32), 1, 1.0, 2, problem.scorer.rule)
    method = scoring_method("density-bd")
    centred_gains(np.ones(2, np.int32), 1, 2, 1.0)
    family_score(np.ones((1, 2), np.int64), score_rule(method, 2, centred=True))
    concentrations(16.0)
    values = np.random.default_rng(0).random(16)
    cuts = CutProblem.of_rows(
        CutColumn.of_values(values), Neighbourhood(), IntervalScore(method, score_rule(method, 16))
    )
    cuts.interval_gains(np.arange(3), CutLimits(), shaped=False)
    knots = np.repeat([0.0, 1.0], 2)
    spline_values(knots, spline_design(knots, 1, values)[:2], 1, values)
    below_student(3.0, values)
    student_quantiles(3.0, values)
    student_cells(values[:2], values, 1.0, 3.0)
    smoothed_and_left_out(np.ones((2, 2)))


def _screen_and_link(problem: StructureProblem | FrontProblem, is_wide: bool) -> None:
    from gomea_bn.problems.parents import DEPTHS, ParentLibraries

    # screening scores families in one call, as reports on the learned network do
    candidate_pairs(problem.scorer, problem.edge_rules, 1)
    generator, stop = np.random.default_rng(0), np.zeros(1, np.uint8)
    libraries = ParentLibraries(problem.scorer, problem.edge_rules, None)
    n = len(problem.scorer.variables)
    libraries.climbed(np.arange(n), generator, stop)
    libraries.kicked(np.arange(n), generator, stop, DEPTHS, 1)
    if is_wide:
        generator = np.random.default_rng(0)
        LinkageTree(max_matrix_genes=0).learn(problem.sample(generator, 32), problem.alphabet, generator)


def _search_front_once(n_threads: int, is_wide: bool) -> None:
    from gomea_bn.algorithms.mogomea import MOGOMEA, FrontRun
    from gomea_bn.problems.front_problem import ExpertSample, FrontProblem, smoothed_scorer

    variables, rules, pricing = _example("density-bic")
    scorer = smoothed_scorer(variables, 16, 1.0, growth=LibraryGrowth(8, 4))
    scorer.reserve(1 << 13)
    expert = ExpertSample(tuple(v.values for v in variables), 0.0, np.ones(5, np.bool_))
    objectives = ["misfit", "complexity", "expert_distance"]
    problem = FrontProblem(scorer, rules, objectives, expert=expert, pricing=pricing)
    problem.reserve(1 << 13)
    settings = MOGOMEA(base_population=32)
    _advance(FrontRun(settings, problem, Limits(max_generations=2), random_state=1, n_jobs=n_threads))
    _screen_and_link(problem, is_wide)
    _fit_logit()


def _fit_logit() -> None:
    """Call the kernels of networks whose target follows a logit."""
    from gomea_bn.problems.curve_parts import cell_data, new_logit_scratch
    from gomea_bn.problems.kernels.logits import LogitData, logit_gain, start_logit

    cells = cell_data([np.array([[-1.0], [1.0], [-1.0], [1.0]])], 2)
    scratch = new_logit_scratch(cells, 2)
    scratch.cells.parameters[2, 1] = 1.0
    codes, levels, shares = np.array([[0, 1, 1, 1]], np.uint8), np.array([2]), np.array([[0.25, 0.75]])
    data = LogitData(cells, codes, levels, shares, np.ones(1, np.int64), np.zeros(1), 1.0)
    start_logit(data, scratch, np.array([[5.0, 0.1, 0.1]]), 0, 1, 4.0, False)
    logit_gain(data, scratch, np.zeros(1, np.int64), 0, 1, False)
