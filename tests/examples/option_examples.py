"""Options of searches of tables that tests share."""

from typing import Any

from gomea_bn.learning.options import LearningOptions
from gomea_bn.learning.parameters import NetworkParameters


def table_options(discretizer: Any = "optimal", **options: Any) -> LearningOptions:
    """Return the options of a search over tables alone, with limits that do not depend on the number of rows."""
    plain = {"discretizer": discretizer, "max_bins": 15, "max_indegree": 6, "curves": "none"}
    return LearningOptions.of(NetworkParameters(), **{**plain, **options})
