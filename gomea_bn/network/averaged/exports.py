"""Methods of averaged networks: answers, and exports of the network that is shown, which say what they leave out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

from gomea_bn.errors import GomeaBnWarning
from gomea_bn.texts import counted

if TYPE_CHECKING:
    import networkx
    import pandas as pd
    import pgmpy.models
    import pyagrum
    from matplotlib.axes import Axes

    from gomea_bn.network.averaged.family_line import FamilyLine
    from gomea_bn.network.averaged.network import AveragedBayesNet
    from gomea_bn.network.bayes_net import DiscretizedBayesNet
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
        *,
        method: str = "exact",
        n_draws: int = 10_000,
        random_state: Any = None,
    ) -> pd.Series[float] | pd.DataFrame:
        """Return P(targets | evidence) over the bins or levels of the network that is shown.

        With "exact" the answer is that of `network.query`. Averages over sets of cuts, lines, and edges that only
        curves need take no part in it, since no exact inference is known for them. With "sampling" it is an estimate
        of the averaged distribution, with all of these, by likelihood weighting; `attrs["standard_error"]` is the
        largest standard error. `conditional_density` and `conditional_probabilities` return the averaged distribution
        where all parents of a variable are given.

        Parameters and errors are those of `DiscretizedBayesNet.query`. Under "sampling" a known number counts with its
        density, and not as its bin.
        """
        if method != "sampling":
            return self.network.query(
                targets, evidence, method=method, n_draws=n_draws, random_state=random_state
            )
        from gomea_bn.network.averaged.answers import estimated_query

        return estimated_query(_averaged(self), targets, evidence, n_draws=n_draws, random_state=random_state)

    def predict_proba(
        self: AveragedLike,
        frame: pd.DataFrame,
        target: str,
        *,
        method: str = "exact",
        n_draws: int = 10_000,
        random_state: Any = None,
    ) -> pd.DataFrame:
        """Return P(target | the other cells of the row) under the averaged density, for every row.

        Answers are exact for a discrete target and rows without missing cells. All others need ``method="sampling"``,
        which estimates them as `query` does, one row after another.

        Parameters
        ----------
        frame, target, method, n_draws, random_state
            As of `DiscretizedBayesNet.predict_proba`.

        Raises
        ------
        GomeaBnError
            For a continuous target and for missing cells, unless answers are estimates; else as
            `DiscretizedBayesNet.predict_proba`.
        """
        from gomea_bn.network.averaged.answers import predict_proba

        return predict_proba(
            _averaged(self), frame, target, method=method, n_draws=n_draws, random_state=random_state
        )

    def predict(
        self: AveragedLike,
        frame: pd.DataFrame,
        target: str,
        *,
        method: str = "exact",
        n_draws: int = 10_000,
        random_state: Any = None,
    ) -> pd.Series[Any]:
        """Return the most probable level of a discrete target for every row; as of `predict_proba`.

        A continuous target is refused: `network.predict` answers by tables, and `BayesNetRegressor` by averages.
        """
        from gomea_bn.network.averaged.answers import predict

        return predict(
            _averaged(self), frame, target, method=method, n_draws=n_draws, random_state=random_state
        )

    def predict_interval(self, *_arguments: Any, **_options: Any) -> NoReturn:
        """Raise, since no exact quantiles of averaged networks are known; the message names what has them."""
        from gomea_bn.network.averaged.answers import refuse

        refuse("quantiles given the other cells")

    def impute(self, *_arguments: Any, **_options: Any) -> NoReturn:
        """Raise, since no exact distribution of missing cells is known; the message names what has it."""
        from gomea_bn.network.averaged.answers import refuse

        refuse("distribution of missing cells")

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

        The text lacks the averages over sets of cuts and the lines. See `gomea_bn.network.formats.discrete.bif.to_bif`.
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


def _averaged(averaged: AveragedLike) -> AveragedBayesNet:
    return cast("AveragedBayesNet", averaged)


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
