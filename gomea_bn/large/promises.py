"""Which moves are worth counting again: those that gained or nearly gained, and cuts around which much has moved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf

from gomea_bn.large.moves import LEAST_GAIN_OF_CUTS

__all__ = ["Promises"]


@dataclass
class Promises:
    """What earlier passes tell of moves, so that most passes count a few of them.

    A pass that counts all moves has to follow before a climb may end.

    Attributes
    ----------
    gains : dict of (int, int) to float
        Child and parent: what the edge between them was worth in nats when it was last counted.
    stirred : dict of int to float
        What the moves in the families around a column have gained since its cuts were last priced, in nats.
    """

    gains: dict[tuple[int, int], float] = field(default_factory=dict)
    stirred: dict[int, float] = field(default_factory=dict)

    def may_gain(self, child: int, other: int, margin: float) -> bool:
        """Return whether adding an edge is unknown, or did not lose more than a margin in nats."""
        return self.gains.get((child, other), inf) > -margin

    def may_recut(self, column: int) -> bool:
        """Return whether enough has moved around a column that its cuts may move too."""
        return self.stirred.get(column, inf) > LEAST_GAIN_OF_CUTS

    def note_priced(self, columns: Iterable[int]) -> None:
        """Note that the best cuts of columns are known."""
        self.stirred.update(dict.fromkeys(columns, 0.0))

    def note_move(self, members: Iterable[int], gain: float) -> None:
        """Note a move in families with the given members."""
        for column in members:
            self.stirred[column] = self.stirred.get(column, inf) + gain

    def forget_prices(self) -> None:
        """Let the cuts of all columns be priced in the next pass."""
        self.stirred.clear()
