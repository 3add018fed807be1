"""Options and problems of searches of tables that tests share."""

from typing import Any

from learning_inside import LearningOptions, NetworkParameters, learning_problem

from gomea_bn import read_table
from gomea_bn.data import Table
from gomea_bn.problems import StructureProblem
from gomea_bn.runtime import NO_LIMIT


def table_options(discretizer: Any = "optimal", **options: Any) -> LearningOptions:
    """Return the options of a search over tables alone, with limits that do not depend on the number of rows."""
    plain = {"discretizer": discretizer, "max_bins": 15, "max_indegree": 6, "curves": "none"}
    return LearningOptions.of(NetworkParameters(), **{**plain, **options})


def table_problem(rows: Any, *, pairs: Any = None, clock: Any = NO_LIMIT, **options: Any) -> StructureProblem:
    """Return the problem of a search of a frame or a table with `table_options`."""
    table = rows if isinstance(rows, Table) else read_table(rows)
    return learning_problem(table, table_options(**options), pairs=pairs, clock=clock)


def problem_of_learner(learner: Any, **changes: Any) -> StructureProblem:
    """Return the problem of the table that a learner was fitted to, some of its options changed."""
    table: Table = learner.table_
    return learning_problem(table, LearningOptions.of(learner, table.n_rows, **changes))
