"""What all searches of one learning run are given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from gomea_bn.algorithms.gomea import GOMEA
from gomea_bn.runtime.checkpoints import NO_CHECKPOINT, Section
from gomea_bn.runtime.limits import Callback, Limits

__all__ = ["SearchSettings"]


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Settings of a search, and of the searches that it consists of.

    Attributes
    ----------
    algorithm : GOMEA
    limits : Limits
        Limits of the whole search.
    seed : int
        Seed of its first part; those of the others follow from it.
    n_threads : int
    callback : callable, optional
        Function that receives a `Progress` with the counts of the whole search.
    section : Section
        Section of the search in a checkpoint.
    of_sample : bool
        Whether the rows are a sample of a table, whose preparation the clock may cut short.
    """

    algorithm: GOMEA
    limits: Limits
    seed: int
    n_threads: int
    callback: Callback | None = None
    section: Section = NO_CHECKPOINT
    of_sample: bool = False

    def within(self, limits: Limits) -> Self:
        """Return the same settings with other limits."""
        return replace(self, limits=limits)

    def part(self, name: str) -> Self:
        """Return the same settings for the part of the search with a name of its own in the checkpoint."""
        return replace(self, section=self.section.part(name))
