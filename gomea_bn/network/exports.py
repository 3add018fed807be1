"""What a network hands to others: files, objects of other libraries, answers, a printed account."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import networkx
    import pandas as pd
    import pgmpy.models
    import pyagrum
    from matplotlib.axes import Axes

    from gomea_bn.network.protocol import NetworkLike, WithEdges

__all__ = ["Exports"]


class Exports:
    """Methods of `DiscretizedBayesNet` that need modules of their own, loaded when called."""

    __slots__ = ()

    def plot(
        self: NetworkLike,
        *,
        reference: WithEdges | Iterable[tuple[str, str]] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Return axes with the network drawn in layers, its edges marked against a reference; see `plot_network`."""
        from gomea_bn.plots.network import plot_network

        return plot_network(self, reference=reference, ax=ax)

    def query(
        self: NetworkLike, target: str, evidence: Mapping[str, object] | None = None
    ) -> pd.Series[float]:
        """Return P(target | evidence) over the target's bins or levels, by exact inference in pyAgrum.

        Parameters
        ----------
        target : str
            One variable. Continuous: indexed by a pandas IntervalIndex of its bins; discrete: by its levels.
        evidence : mapping of str to value, optional
            Values in original units (put into their bins) or levels.

        Raises
        ------
        GomeaBnError
            For unknown names, values or levels, evidence of probability 0, or if pyAgrum is not installed.
        """
        from gomea_bn.network.inference import query

        return query(self, target, evidence)

    def summary(self: NetworkLike) -> str:
        """Return a readable account: edges, and kind, bins or levels, and parents of every variable."""
        from gomea_bn.network.formats.summary import to_text

        return to_text(self)

    def to_json(self: NetworkLike, path: str | os.PathLike[str] | None = None) -> str:
        """Return the network as JSON text, exact to the last bit, and write it to `path` if given."""
        from gomea_bn.network.formats.json_format import to_json

        return to_json(self, path)

    def to_bif(self: NetworkLike, path: str | os.PathLike[str] | None = None) -> str:
        """Return the network as BIF text, and write it to `path` if given; see `gomea_bn.network.formats.bif`."""
        from gomea_bn.network.formats.bif import to_bif

        return to_bif(self, path)

    def to_dot(self: NetworkLike, path: str | os.PathLike[str] | None = None) -> str:
        """Return the graph as Graphviz DOT text, and write it to `path` if given."""
        from gomea_bn.network.formats.dot import to_dot

        return to_dot(self, path)

    def to_networkx(self: NetworkLike) -> networkx.DiGraph:
        """Return the graph as a networkx DiGraph; see `gomea_bn.network.formats.other_libraries`."""
        from gomea_bn.network.formats.other_libraries import to_networkx

        return to_networkx(self)

    def to_pyagrum(self: NetworkLike) -> pyagrum.BayesNet:
        """Return the network for pyAgrum, continuous variables as DiscretizedVariable."""
        from gomea_bn.network.formats.other_libraries import to_pyagrum

        return to_pyagrum(self)

    def to_pgmpy(self: NetworkLike) -> pgmpy.models.DiscreteBayesianNetwork:
        """Return the network for pgmpy, bins and levels as state names."""
        from gomea_bn.network.formats.other_libraries import to_pgmpy

        return to_pgmpy(self)
