"""One network of a front."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gomea_bn.errors import is_integer
from gomea_bn.front.objectives import EXPERT_DISTANCE
from gomea_bn.network.bayes_net import DiscretizedBayesNet

if TYPE_CHECKING:
    from gomea_bn.front.front import Front

__all__ = ["Candidate"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One network of a front.

    Attributes
    ----------
    front : Front
        The front that contains the network.
    index : int
        Position in that front, which is the network's id in files, on the review page and in a decision.
    """

    front: Front
    index: int

    @property
    def objectives(self) -> dict[str, float]:
        """Value of the network in each objective; all are minimised."""
        return dict(zip(self.front.names, self.front.values[self.index].tolist(), strict=True))

    @property
    def network(self) -> DiscretizedBayesNet:
        """The network, which is built on first use."""
        return self.front.network(self.index)

    @property
    def distance_error(self) -> float | None:
        """Standard error of the objective "expert_distance", in nats; None if the front lacks it or the expert."""
        from gomea_bn.expert.distance import DEFAULT_SAMPLE, LARGEST_SAMPLE, expert_distance_estimate

        front = self.front
        if front.expert is None or EXPERT_DISTANCE.name not in front.names:
            return None
        parameters = front.record.get("parameters")
        given: Any = parameters.get("expert_sample_size") if isinstance(parameters, Mapping) else None
        seed: Any = front.record.get("seed")
        # a record from a file may hold anything, and the sample of the search is not needed for its error
        estimate = expert_distance_estimate(
            front.expert,
            self.network,
            n_samples=given if is_integer(given) and 2 <= given <= LARGEST_SAMPLE else DEFAULT_SAMPLE,
            random_state=seed if is_integer(seed) and seed >= 0 else 0,
        )
        return estimate.standard_error

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.6g}" for name, value in self.objectives.items())
        return f"Candidate(index={self.index}, {values})"
