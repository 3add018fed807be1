"""Searches for graphs and cuts: stages, rounds with discretizers, completed rows and tables, tables of curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.lazy import public_names

if TYPE_CHECKING:
    from gomea_bn.learning.search.rounds import SearchRounds as SearchRounds
    from gomea_bn.learning.search.rounds import SearchSettings as SearchSettings
    from gomea_bn.learning.search.staged_search import GraphAndCuts as GraphAndCuts

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
