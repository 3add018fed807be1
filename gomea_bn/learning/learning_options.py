"""The options that decide the score and the search space of a learner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gomea_bn.data.table import Table
from gomea_bn.discretization.base import Discretizer
from gomea_bn.discretization.proposals import check_proposer
from gomea_bn.errors import (
    GomeaBnError,
    Option,
    check_choice,
    check_flag,
    check_integer,
    check_number,
    is_integer,
)
from gomea_bn.learning.options import LearnerParameters
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY, POLICY_FAMILIES
from gomea_bn.problems.knowledge import ExpertKnowledge
from gomea_bn.problems.parents.screening import check_max_candidates

__all__ = [
    "CURVES",
    "OPTIMAL",
    "SHAPES",
    "LearningOptions",
    "automatic_bins",
    "automatic_indegree",
]

SHAPES = ("auto", "uniform", "marginal")
"""How columns may be distributed inside their bins: the values of the option `shape`."""
CURVES = ("auto", "none")
"""Whether columns may also be sums of curves of their parents: the values of the option `curves`."""
OPTIMAL = "optimal"
"""The discretizer that prices cuts during the search."""
_DEFAULT_FAMILY = "equal-frequency"


@dataclass(frozen=True)
class LearningOptions:
    """Options that decide the score and the search space; the fields are parameters of `BayesNetLearner`.

    Numbers of bins and parents are resolved: see `automatic_bins` and `automatic_indegree`. `is_hasty` says that a tall
    table is prepared in a short time, with coarse shapes and a quick choice of candidates.
    """

    discretizer: str | Discretizer = OPTIMAL
    scoring_method: str | None = None
    cut_points: Mapping[str, Iterable[float]] | None = None
    max_bins: int = 15
    max_indegree: int | None = 6
    knowledge: ExpertKnowledge | None = None
    penalty: str | float = "bic"
    prior: str = "dirichlet"
    equivalent_sample_size: float = 10.0
    random_repair: bool = True
    initial_indegree: float = 1.0
    cut_cost: float = 0.5
    edge_cost: float = 1.0
    min_width: float = 1e-3
    min_bin_count: int = 1
    max_candidates: int | str | None = "auto"
    shape: str = "auto"
    curves: str = "none"
    is_hasty: bool = False

    def __post_init__(self) -> None:
        check_proposer(self.discretizer, "discretizer", (OPTIMAL, *POLICY_FAMILIES))
        _check_limit("max_bins", self.max_bins, 2, MAX_CARDINALITY)
        if self.max_indegree is not None:
            _check_limit("max_indegree", self.max_indegree, 0, None)
        if self.knowledge is not None and not isinstance(self.knowledge, ExpertKnowledge):
            raise GomeaBnError(f"knowledge must be an ExpertKnowledge or None, got {self.knowledge!r}.")
        if self.cut_points is not None and not isinstance(self.cut_points, Mapping):
            raise GomeaBnError(f"cut_points must map column names to cuts, got {self.cut_points!r}.")
        check_choice("shape", self.shape, SHAPES)
        check_choice("curves", self.curves, CURVES)
        check_flag("random_repair", self.random_repair)
        check_number("initial_indegree", self.initial_indegree, 0)
        check_number("min_width", self.min_width, 0, 1, below=True)
        check_integer("min_bin_count", self.min_bin_count, 0, 2**31)
        check_max_candidates(self.max_candidates)

    @classmethod
    def of(cls, learner: LearnerParameters, n_rows: int = 10_000, **changes: Any) -> LearningOptions:
        """Return the options that a learner has as parameters, with some of them changed.

        Parameters
        ----------
        learner : LearnerParameters
        n_rows : int
            Number of rows for which "auto" is resolved.
        **changes
            Other values of options.
        """
        parameters = learner.get_params(deep=False)
        common = {name: parameters[name] for name in cls.__dataclass_fields__ if name in parameters}
        automatic = {"max_bins": automatic_bins(n_rows), "max_indegree": automatic_indegree(n_rows)}
        for name, number in automatic.items():
            if isinstance(common[name], str) and common[name] == "auto":
                common[name] = number
        return cls(**{**common, **changes})

    @property
    def family(self) -> str:
        """Family of cuts in the initial libraries: equal width, or equal frequency for all other discretizers."""
        is_family = isinstance(self.discretizer, str) and self.discretizer in POLICY_FAMILIES
        return str(self.discretizer) if is_family else _DEFAULT_FAMILY

    def scoring_of(self, table: Table) -> str:
        """Return the name of the scoring method; the default depends on the discretizer and the table."""
        if self.scoring_method is not None:
            return self.scoring_method
        prices = self.discretizer == OPTIMAL and any(column.is_continuous for column in table.columns)
        return "density-bd" if prices else "density-bic"

    @property
    def has_curves(self) -> bool:
        """Whether columns may be sums of curves of their parents, which needs the marginal likelihood as score."""
        return self.curves == "auto" and self.discretizer == OPTIMAL

    @property
    def asks_discretizer(self) -> bool:
        """Whether a discretizer proposes cuts during the search."""
        return self.discretizer not in (self.family, OPTIMAL)


def automatic_bins(n_rows: int) -> int:
    """Return the largest number of bins that "auto" allows: 1.5 times the cube root of the rows, from 10 to 60."""
    return int(np.clip(round(1.5 * n_rows ** (1 / 3)), 10, 60))


def automatic_indegree(n_rows: int) -> int:
    """Return the largest number of parents that "auto" allows: log2 of the rows minus 2, from 3 to 12.

    With more parents most of their configurations have fewer than 4 rows, even if all parents have two values.
    """
    return int(np.clip(np.log2(n_rows) - 2, 3, 12))


def _check_limit(name: str, value: Any, low: int, high: int | None) -> None:
    """Raise unless a limit is an integer in a range; the message also names "auto"."""
    if not is_integer(value) or int(value) < low or (high is not None and int(value) > high):
        wanted = f"an integer of at least {low}" if high is None else f"an integer from {low} to {high}"
        raise GomeaBnError([Option(name), f" must be {wanted}, or 'auto', got {value!r:.80}."])
