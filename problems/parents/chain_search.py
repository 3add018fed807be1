"""Local search over orders of the variables by moves of whole chains, for given libraries of parent sets.

Where variables determine each other in both directions, no move of a single one turns a chain of edges round: all of
them have to move at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gomea_bn.problems.kernels.insertion import (
    OrderWork,
    ParentSetTable,
    choose_sets,
    move_chain,
    reinsert_all,
    reinsert_changed,
)
from gomea_bn.problems.scoring.scores import is_gain, rounding

__all__ = ["ChainSearch"]


class ChainSearch:
    """Moves of chains in orders of the variables, where every variable has its best set without later variables.

    Parameters
    ----------
    table : ParentSetTable
    depths : sequence of int
        Numbers of generations of ancestors that get their best sets too; every variable is moved with each of them.
    is_stopped : callable
        Whether to end early, asked before every move.
    """

    def __init__(
        self,
        table: ParentSetTable,
        depths: Sequence[int],
        is_stopped: Callable[[], bool],
    ) -> None:
        self.table = table
        self.depths = depths
        self.is_stopped = is_stopped

    def improved(self, work: OrderWork, generator: np.random.Generator) -> OrderWork:
        """Return an order after one pass over the variables that moves chains of them with a gain.

        Parameters
        ----------
        work : OrderWork
            The order from which the pass begins; `chosen` is filled.
        generator : numpy.random.Generator
        """
        self._choose(work)
        score = self._score(work)
        for v in generator.permutation(len(work.order)).tolist():
            for depth in self.depths:
                if self.is_stopped():
                    return work
                other = self._moved(v, depth, work)
                if other is not None and is_gain(self._score(other) - score, score):
                    work, score = other, self._score(other)
        return work

    def kicked(
        self, work: OrderWork, generator: np.random.Generator, most_idle: int, *, is_thorough: bool = True
    ) -> OrderWork:
        """Return an order after moves of chains that lose at first, each followed by moves of single variables.

        Moves that lose least come first.

        Parameters
        ----------
        work, generator
            As of `improved`.
        most_idle : int
            Number of kicks without a gain after which they end.
        is_thorough : bool
            Whether all variables may move after every kick. Otherwise they may if the moves of those gain whose sets
            changed or are not their best ones, which takes about a fifth of the time.
        """
        self._choose(work)
        score, n_idle = self._score(work), 0
        while n_idle < most_idle and not self.is_stopped():
            gained = False
            for v, depth in self._kicks(work):
                if n_idle >= most_idle or self.is_stopped():
                    return work
                other = self._moved(v, depth, work)
                if other is None:
                    continue
                n_idle += 1
                if not is_thorough:
                    is_changed = other.chosen != work.chosen
                    other.is_changed[:] = is_changed | (other.chosen != self.table.starts[:-1])
                    reinsert_changed(self.table, other, rounding(score), generator)
                if is_thorough or is_gain(self._score(other) - score, score):
                    reinsert_all(self.table, other, rounding(score), generator)
                if is_gain(self._score(other) - score, score):
                    work, score, n_idle, gained = other, self._score(other), 0, True
            if not gained:
                break
        return work

    def _kicks(self, work: OrderWork) -> list[tuple[int, int]]:
        """Return the chain moves of an order, (variable, depth), smallest loss first, one of each loss."""
        kicks: dict[float, tuple[int, int]] = {}
        for v in range(len(work.order)):
            for depth in self.depths:
                if self.is_stopped():
                    return []
                other = self._moved(v, depth, work)
                if other is not None:
                    kicks.setdefault(self._score(other), (v, depth))
        return [kicks[score] for score in sorted(kicks, reverse=True)]

    def _moved(self, v: int, depth: int, work: OrderWork) -> OrderWork | None:
        """Return the order in which a variable has its best set, None if it has it or cannot have it."""
        if work.chosen[v] == self.table.starts[v]:
            return None
        other = work._replace(order=np.empty_like(work.order), chosen=np.zeros_like(work.chosen))
        return other if move_chain(self.table, work.order, work.chosen, v, depth, other) else None

    def _choose(self, work: OrderWork) -> None:
        if not choose_sets(self.table, work):
            raise ValueError(f"No parent set in the library suits the order {work.order.tolist()}.")

    def _score(self, work: OrderWork) -> float:
        return float(self.table.scores[work.chosen].sum())
