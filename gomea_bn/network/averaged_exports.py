"""Methods of averaged networks that go to the network that is shown, and say what they leave out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from gomea_bn.errors import GomeaBnWarning
from gomea_bn.texts import counted

if TYPE_CHECKING:
    import networkx
    import pandas as pd
    import pgmpy.models
    import pyagrum
    from matplotlib.axes import Axes

    from gomea_bn.network.bayes_net import DiscretizedBayesNet
    from gomea_bn.network.family_line import FamilyLine
    from gomea_bn.network.protocol import WithEdges

__all__ = ["AveragedExports"]


class AveragedLike(Protocol):
    """The members of an averaged network that exports read; `AveragedBayesNet` documents them."""

    @property
    def network(self) -> DiscretizedBayesNet:
        """The network that is shown."""

    @property
    def copies(self) -> tuple[DiscretizedBayesNet, ...]:
        """The networks whose families are averaged."""

    @property
    def lines(self) -> dict[str, FamilyLine]:
        """Lines by variable."""


class AveragedExports:
    """Methods of `AveragedBayesNet` whose modules are imported when they are called."""

    __slots__ = ()

    def query(
        self: AveragedLike,
        targets: str | Sequence[str],
        evidence: Mapping[str, object] | pd.DataFrame | None = None,
        **options: Any,
    ) -> pd.Series[float] | pd.DataFrame:
        """Return P(targets | evidence) over the bins or levels of the network that is shown.

        The answer is that of `network.query`: the averages over sets of cuts and the lines take no part in it, since
        no exact inference is known for them. `conditional_density` and `conditional_probabilities` return the averaged
        distribution where all parents of a variable are given. Other conditional distributions of the averaged
        network can be estimated from the rows of `sample`.

        Parameters and errors are those of `DiscretizedBayesNet.query`.
        """
        return self.network.query(targets, evidence, **options)

    def plot(
        self: AveragedLike,
        *,
        reference: WithEdges | Iterable[tuple[str, str]] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the network that is shown in layers and return the axes; see `gomea_bn.plots.plot_network`."""
        return self.network.plot(reference=reference, ax=ax)

    def to_bif(self: AveragedLike, path: str | os.PathLike[str] | None = None) -> str:
        """Return the network that is shown as BIF text, with a warning; write it to `path` if given.

        The text lacks the averages over sets of cuts and the lines. See `gomea_bn.network.formats.bif.to_bif`.
        """
        _warn(self, "BIF")
        return self.network.to_bif(path)

    def to_xdsl(self: AveragedLike, path: str | os.PathLike[str] | None = None) -> str:
        """Return the network that is shown as XDSL text of GeNIe, with a warning; write it to `path` if given."""
        _warn(self, "XDSL")
        return self.network.to_xdsl(path)

    def to_net(self: AveragedLike, path: str | os.PathLike[str] | None = None) -> str:
        """Return the network that is shown as NET text of HUGIN, with a warning; write it to `path` if given."""
        _warn(self, "NET")
        return self.network.to_net(path)

    def to_xmlbif(self: AveragedLike, path: str | os.PathLike[str] | None = None) -> str:
        """Return the network that is shown as XMLBIF text, with a warning; write it to `path` if given."""
        _warn(self, "XMLBIF")
        return self.network.to_xmlbif(path)

    def to_uai(self: AveragedLike, path: str | os.PathLike[str] | None = None) -> str:
        """Return the network that is shown as UAI text, with a warning; write it to `path` if given."""
        _warn(self, "UAI")
        return self.network.to_uai(path)

    def export(self: AveragedLike, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write the network that is shown to a file, with a warning; see `DiscretizedBayesNet.export`."""
        _warn(self, "a file")
        self.network.export(path, format)

    def to_dot(self: AveragedLike, path: str | os.PathLike[str] | None = None) -> str:
        """Return the graph as Graphviz DOT text; write it to `path` if given."""
        return self.network.to_dot(path)

    def to_networkx(self: AveragedLike) -> networkx.DiGraph:
        """Return the graph as a networkx DiGraph, with the bins of the network that is shown."""
        return self.network.to_networkx()

    def to_pyagrum(self: AveragedLike) -> pyagrum.BayesNet:
        """Return the network that is shown as a pyAgrum BayesNet, with a warning; it lacks averages and lines."""
        _warn(self, "pyAgrum")
        return self.network.to_pyagrum()

    def to_pgmpy(self: AveragedLike) -> pgmpy.models.DiscreteBayesianNetwork:
        """Return the network that is shown as one of pgmpy, with a warning; it lacks averages and lines."""
        _warn(self, "pgmpy")
        return self.network.to_pgmpy()


def _warn(averaged: AveragedLike, target: str) -> None:
    """Warn that an export holds the network that is shown alone."""
    lines = f" and {counted(len(averaged.lines), 'line')}" if averaged.lines else ""
    warnings.warn(
        GomeaBnWarning(
            f"The export to {target} holds the bins of one network. It leaves out the average over "
            f"{counted(len(averaged.copies), 'set')} of cuts{lines}, so that its density is another one.",
            [
                "use to_json, which keeps everything",
                "export averaged.network, which gives the same without a warning",
            ],
        ),
        stacklevel=3,
    )
