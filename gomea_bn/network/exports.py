"""Methods that export a network: files, objects of other libraries, plots and a summary."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import networkx
    import numpy as np
    import pgmpy.models
    import pyagrum
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from gomea_bn.network.protocol import NetworkLike, WithEdges

__all__ = ["Exports"]


class Exports:
    """Methods of `DiscretizedBayesNet` whose modules are imported when they are called."""

    __slots__ = ()

    def plot(
        self: NetworkLike,
        *,
        reference: WithEdges | Iterable[tuple[str, str]] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the network in layers and return the axes; see `gomea_bn.plots.plot_network`."""
        from gomea_bn.plots.network import plot_network

        return plot_network(self, reference=reference, ax=ax)

    def summary(self: NetworkLike, cut_gains: Mapping[str, NDArray[np.float64]] | None = None) -> str:
        """Return a text for reading: counts, then bins or levels and parents of every variable, then the edges.

        For a continuous variable the text also says how it is distributed inside its bins, and names its point masses.

        Parameters
        ----------
        cut_gains : mapping of str to ndarray of shape (n_bins - 1,), optional
            Nats that every cut gains, by continuous variable, from `gomea_bn.cut_gains`. The text then names them.

        Raises
        ------
        GomeaBnError
            If the gains of a variable are not one per cut.
        """
        from gomea_bn.network.formats.summary import to_text

        return to_text(self, cut_gains)

    def to_json(self: NetworkLike, path: str | os.PathLike[str] | None = None) -> str:
        """Return the network as JSON text, exact to the last bit; write it to `path` if given."""
        from gomea_bn.network.formats.json_format import to_json

        return to_json(self, path)

    def to_bif(self: NetworkLike, path: str | os.PathLike[str] | None = None) -> str:
        """Return the network as BIF text; write it to `path` if given.

        See `gomea_bn.network.formats.discrete.bif.to_bif`.
        """
        from gomea_bn.network.formats.discrete.bif import to_bif

        return to_bif(self, path)

    def to_xdsl(self: NetworkLike, path: str | os.PathLike[str] | None = None) -> str:
        """Return the network as XDSL text of GeNIe, drawn in layers; write it to `path` if given.

        See `gomea_bn.network.formats.discrete.xdsl.to_xdsl`.
        """
        from gomea_bn.network.formats.discrete.xdsl import to_xdsl
        from gomea_bn.plots.network_layout import node_boxes

        return to_xdsl(self, path, boxes=node_boxes(self.names, self.edges))

    def to_net(self: NetworkLike, path: str | os.PathLike[str] | None = None) -> str:
        """Return the network as NET text of HUGIN, drawn in layers; write it to `path` if given.

        See `gomea_bn.network.formats.discrete.net.to_net`.
        """
        from gomea_bn.network.formats.discrete.net import to_net
        from gomea_bn.plots.network_layout import node_boxes

        return to_net(self, path, boxes=node_boxes(self.names, self.edges))

    def to_xmlbif(self: NetworkLike, path: str | os.PathLike[str] | None = None) -> NoReturn:
        """Raise the error that says how pyAgrum writes XMLBIF; the next version drops this name."""
        from gomea_bn.network.formats.registry import no_xmlbif

        raise no_xmlbif()

    def to_uai(self: NetworkLike, path: str | os.PathLike[str] | None = None) -> str:
        """Return the network as UAI text, without names; write it to `path` if given.

        See `gomea_bn.network.formats.discrete.uai.to_uai`.
        """
        from gomea_bn.network.formats.discrete.uai import to_uai

        return to_uai(self, path)

    def export(self: NetworkLike, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write the network to a file for another program.

        Parameters
        ----------
        path : path
            The file.
        format : {"json", "bif", "dot", "xdsl", "net", "uai"}, optional
            Format; by default that of the ending. The method `to_...` of this name writes it.

        Raises
        ------
        GomeaBnError
            For an unknown format or ending, and if the file cannot be written.
        """
        from gomea_bn.network.formats.registry import export

        export(self, path, format)

    def to_dot(self: NetworkLike, path: str | os.PathLike[str] | None = None, *, cpdag: bool = False) -> str:
        """Return the graph as Graphviz DOT text; write it to `path` if given.

        With `cpdag` edges whose direction no rows can tell have no arrowhead; see `DiscretizedBayesNet.cpdag`.
        """
        from gomea_bn.network.formats.dot import to_dot

        return to_dot(self, path, cpdag=cpdag)

    def to_networkx(self: NetworkLike) -> networkx.DiGraph:
        """Return the graph as a networkx DiGraph; see `gomea_bn.network.formats.other_libraries.to_networkx`."""
        from gomea_bn.network.formats.other_libraries import to_networkx

        return to_networkx(self)

    def to_pyagrum(self: NetworkLike) -> pyagrum.BayesNet:
        """Return the network as a pyAgrum BayesNet; see `gomea_bn.network.formats.other_libraries.to_pyagrum`."""
        from gomea_bn.network.formats.other_libraries import to_pyagrum

        return to_pyagrum(self)

    def to_pgmpy(self: NetworkLike) -> pgmpy.models.DiscreteBayesianNetwork:
        """Return the network as a pgmpy DiscreteBayesianNetwork, with bins and levels as state names."""
        from gomea_bn.network.formats.other_libraries import to_pgmpy

        return to_pgmpy(self)
