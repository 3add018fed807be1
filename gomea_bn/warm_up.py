"""Compiling, or loading, every kernel of the learner before the clock of a run starts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import perf_counter

import numpy as np

from gomea_bn._gomea_run import GomeaRun
from gomea_bn._jit import kernels_are_cached, note_kernels_cached
from gomea_bn.gomea import GOMEA
from gomea_bn.limits import Limits
from gomea_bn.problems.family_scorer import FamilyScorer, ScoredVariable
from gomea_bn.problems.knowledge import edge_rules
from gomea_bn.problems.scores import score_rule, scoring_method
from gomea_bn.problems.structure import StructureProblem

__all__ = ["compile_kernels"]

_LOG = logging.getLogger("gomea_bn")
_done = False


def _log(message: str) -> None:
    """Log as a warning, which Python shows on standard error unless told otherwise: the wait needs a reason."""
    _LOG.warning(message)


def compile_kernels(announce: Callable[[str], object] = _log) -> float:
    """Make sure that every kernel of a learning run is compiled and loaded; returns the seconds this took.

    Parameters
    ----------
    announce : callable
        Gets one line if the kernels are not yet in this machine's cache, before the wait.
    """
    global _done
    if _done:
        return 0.0
    began = perf_counter()
    if not kernels_are_cached():
        announce("Compiling kernels (once per machine and version, about 20 seconds) ...")
    method = scoring_method("bic")
    columns = np.random.default_rng(0).integers(0, 2, (4, 16)).astype(np.int32)
    variables = [ScoredVariable(str(i), column, 2) for i, column in enumerate(columns)]
    scorer = FamilyScorer(variables, method, score_rule(method, 16))
    scorer.reserve(1 << 13)
    rules = edge_rules(None, [v.name for v in variables], [2] * 4)
    for n_threads in (1, 2):
        problem = StructureProblem(scorer, rules)
        limits = Limits(max_generations=2)
        # not GOMEA.run, which keeps Ctrl-C for the end of a generation: compiling would have to end first
        with GomeaRun(GOMEA(base_population=32), problem, limits, 1, n_threads, None, None) as run:
            while run.step():
                pass
    note_kernels_cached()
    _done = True
    return perf_counter() - began
