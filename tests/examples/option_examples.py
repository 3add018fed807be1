"""Options of searches of tables that tests share."""

from typing import Any

from gomea_bn.learning.options import LearningOptions


def table_options(*arguments: Any, **options: Any) -> LearningOptions:
    """Return the options of a search over tables alone, with limits that do not depend on the number of rows."""
    return LearningOptions(*arguments, **{"max_bins": 15, "max_indegree": 6, "curves": "none", **options})
