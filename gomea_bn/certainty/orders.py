"""Good graphs by local search over orders of the variables: lower bounds for the integer programme."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gomea_bn.certainty.parent_sets import ScoredParentSets

# score of a variable whose required parents come later
_IMPOSSIBLE = -1e12


class OrderSearch:
    """Best graphs of orders of the variables; the sets have none that score no higher than a subset."""

    def __init__(self, sets: Sequence[ScoredParentSets]) -> None:
        self.sets = sets
        # the empty set comes last, for orders that allow no other
        self._members = [np.pad(of_child.members, ((0, 1), (0, 0))).astype(np.float32) for of_child in sets]
        self._scores = [np.append(of_child.scores, _IMPOSSIBLE) for of_child in sets]

    def choice(self, child: int, later: NDArray[np.bool_]) -> int:
        """Return the position of the best parent set without any of the later variables; their number if none fits."""
        return int(np.argmax(self._members[child] @ later.astype(np.float32) == 0))

    def value(self, child: int, later: NDArray[np.bool_]) -> float:
        """Return the score of a variable with its best parent set without any of the later variables."""
        return float(self._scores[child][self.choice(child, later)])

    def choices(self, order: Sequence[int]) -> list[int]:
        """Return the position of the best parent set of every variable under an order."""
        later = np.ones(len(self.sets), np.bool_)
        chosen = [0] * len(self.sets)
        for child in order:
            chosen[child] = self.choice(child, later)
            later[child] = False
        return chosen

    def score(self, choices: Sequence[int]) -> float:
        """Return the score of a choice of parent sets in nats, minus infinity if a variable has none that fits."""
        score = float(sum(scores[k] for scores, k in zip(self._scores, choices, strict=True)))
        return score if score > _IMPOSSIBLE / 2 else -np.inf

    def parents(self, choices: Sequence[int]) -> list[list[int]]:
        """Return the parents of every variable under a choice of parent sets."""
        return [
            np.flatnonzero(of_child.members[k]).tolist()
            for of_child, k in zip(self.sets, choices, strict=True)
        ]

    def climbed(self, order: Sequence[int], generator: np.random.Generator) -> list[int]:
        """Return an order that no insertion of one variable at another position improves."""
        current = list(order)
        improves = True
        while improves:
            improves = False
            for child in generator.permutation(len(current)).tolist():
                position, gain = self._best_position(current, child)
                if gain > 1e-9:
                    current.remove(child)
                    current.insert(position, child)
                    improves = True
        return current

    def _best_position(self, order: Sequence[int], child: int) -> tuple[int, float]:
        """Return where a variable is best inserted into the order of the others, and the gain in nats."""
        others = [v for v in order if v != child]
        later = np.ones(len(self.sets), np.bool_)
        # score of the order with the variable at each position, up to a constant
        of_child = np.empty(len(order))
        difference = np.empty(len(others))
        for position, other in enumerate(others):
            later[child] = True
            of_child[position] = self.value(child, later)
            without = self.value(other, later)
            later[child] = False
            difference[position] = self.value(other, later) - without
            later[other] = False
        of_child[-1] = self.value(child, later)
        # variables after the inserted one may have it as a parent
        gains = np.append(np.cumsum(difference[::-1])[::-1], 0.0)
        total = of_child + gains
        best = int(np.argmax(total))
        return best, float(total[best] - total[order.index(child)])
