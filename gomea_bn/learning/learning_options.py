"""The options that decide the score and the search space of a learner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gomea_bn.data.table import Table
from gomea_bn.discretization.base import Discretizer
from gomea_bn.discretization.proposals import check_proposer
from gomea_bn.errors import GomeaBnError
from gomea_bn.learning.parameters import (
    LearnerParameters,
    NetworkParameters,
    declared_options,
    plain_options,
)
from gomea_bn.parameters import check_declared
from gomea_bn.problems.cuts.policies import POLICY_FAMILIES
from gomea_bn.problems.knowledge import ExpertKnowledge

__all__ = [
    "OPTIMAL",
    "LearningOptions",
    "automatic_bins",
    "automatic_indegree",
]

_DECLARED = declared_options(NetworkParameters)
_DEFAULTS = {name: declaration.default for name, declaration in _DECLARED.items()}
OPTIMAL = "optimal"
"""The discretizer that prices cuts during the search."""
_DEFAULT_FAMILY = "equal-frequency"
# number of rows for which "auto" is resolved where there is no table
_USUAL_ROWS = 10_000


def automatic_bins(n_rows: int) -> int:
    """Return the largest number of bins that "auto" allows: 1.5 times the cube root of the rows, from 10 to 60."""
    return int(np.clip(round(1.5 * n_rows ** (1 / 3)), 10, 60))


def automatic_indegree(n_rows: int) -> int:
    """Return the largest number of parents that "auto" allows: log2 of the rows minus 2, from 3 to 12.

    With more parents most of their configurations have fewer than 4 rows, even if all parents have two values.
    """
    return int(np.clip(np.log2(n_rows) - 2, 3, 12))


@dataclass(frozen=True)
class LearningOptions:
    """Options that decide the score and the search space; the fields are parameters of `BayesNetLearner`.

    The defaults are those that are declared for learners. Numbers of bins and parents are resolved: see
    `automatic_bins` and `automatic_indegree`.
    """

    discretizer: str | Discretizer = _DEFAULTS["discretizer"]
    scoring_method: str | None = _DEFAULTS["scoring_method"]
    cut_points: Mapping[str, Iterable[float]] | None = None
    max_bins: int = automatic_bins(_USUAL_ROWS)
    max_indegree: int | None = automatic_indegree(_USUAL_ROWS)
    knowledge: ExpertKnowledge | None = None
    penalty: str | float = _DEFAULTS["penalty"]
    prior: str = _DEFAULTS["prior"]
    equivalent_sample_size: float = _DEFAULTS["equivalent_sample_size"]
    random_repair: bool = _DEFAULTS["random_repair"]
    initial_indegree: float = _DEFAULTS["initial_indegree"]
    cut_cost: float = _DEFAULTS["cut_cost"]
    edge_cost: float = _DEFAULTS["edge_cost"]
    min_width: float = _DEFAULTS["min_width"]
    min_bin_count: int = _DEFAULTS["min_bin_count"]
    max_candidates: int | str | None = _DEFAULTS["max_candidates"]
    shape: str = _DEFAULTS["shape"]
    curves: str = _DEFAULTS["curves"]

    def __post_init__(self) -> None:
        check_proposer(self.discretizer, "discretizer", (OPTIMAL, *POLICY_FAMILIES))
        if self.knowledge is not None and not isinstance(self.knowledge, ExpertKnowledge):
            raise GomeaBnError(f"knowledge must be an ExpertKnowledge or None, got {self.knowledge!r}.")
        if self.cut_points is not None and not isinstance(self.cut_points, Mapping):
            raise GomeaBnError(f"cut_points must map column names to cuts, got {self.cut_points!r}.")
        check_declared(_DECLARED.values(), {name: getattr(self, name) for name in self.__dataclass_fields__})

    @classmethod
    def of(cls, learner: LearnerParameters, n_rows: int = _USUAL_ROWS, **changes: Any) -> LearningOptions:
        """Return the options that a learner has as parameters, with some of them changed.

        Parameters
        ----------
        learner : LearnerParameters
        n_rows : int
            Number of rows for which "auto" is resolved.
        **changes
            Other values of options.
        """
        parameters = plain_options(learner)
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

    def scores_shapes(self, table: Table) -> bool:
        """Return whether the score is the default one of tables with continuous columns, with shapes inside bins.

        Copies among the rows and edges that left-out rows do not need then have no weight. Published settings and other
        scores count every row, and keep the network of the best score.
        """
        is_default = self.discretizer == OPTIMAL and self.shape != "uniform" and self.prior == "dirichlet"
        return (
            is_default
            and self.scoring_of(table) == "density-bd"
            and any(c.is_continuous for c in table.columns)
        )

    @property
    def has_curves(self) -> bool:
        """Whether columns may be sums of curves of their parents, which needs the marginal likelihood as score."""
        return self.curves == "auto" and self.discretizer == OPTIMAL

    @property
    def asks_discretizer(self) -> bool:
        """Whether a discretizer proposes cuts during the search."""
        return self.discretizer not in (self.family, OPTIMAL)
