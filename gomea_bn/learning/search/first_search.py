"""The search that comes first: with cuts of a discretizer, or with given or exact cuts in stages."""

from __future__ import annotations

from gomea_bn.data.table import Table
from gomea_bn.learning.learning_options import LearningOptions
from gomea_bn.learning.search.completed_tables import limits_before
from gomea_bn.learning.search.discretizer_rounds import DiscretizerSearch
from gomea_bn.learning.search.settings import SearchSettings
from gomea_bn.learning.search.staged_search import searched
from gomea_bn.problems.structure import StructureProblem
from gomea_bn.runtime.limits import Result

__all__ = ["first_search"]


def first_search(
    problem: StructureProblem, table: Table, options: LearningOptions, settings: SearchSettings
) -> tuple[StructureProblem, Result, float]:
    """Search before missing cells are filled and tables are chosen.

    Returns
    -------
    problem : StructureProblem
        The problem, or the one with the cuts of a discretizer.
    result : Result
    effort : float
        As `searched` returns it; 0 with a discretizer.
    """
    if options.asks_discretizer:
        problem, result = DiscretizerSearch(problem, table, options, settings).run()
        return problem, result, 0.0
    limits = limits_before(problem, table, settings.limits)
    return problem, *searched(problem, settings.within(limits))
