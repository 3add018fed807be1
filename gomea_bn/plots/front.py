"""The scatter of a front's objectives, with the expert's network and the truth among its networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, is_integer, nearest
from gomea_bn.expert.distance import expert_distance
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.plots.axes import (
    BLUE,
    INK,
    LITERAL,
    ORANGE,
    new_axes,
    plain_legend,
    plain_text,
    size_in_points,
    text_width,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from gomea_bn.data.table import Table
    from gomea_bn.expert.expert_network import ExpertNetwork

__all__ = ["front_points", "plot_front"]


class ObjectiveLike(Protocol):
    """The texts of an objective."""

    @property
    def name(self) -> str:
        """Its name in tables."""

    @property
    def label(self) -> str:
        """What it measures."""

    @property
    def unit(self) -> str:
        """Its unit."""

    @property
    def better(self) -> str:
        """What small values mean."""


class FrontLike(Protocol):
    """What is drawn of a front; `gomea_bn.front.Front` documents the members."""

    def __len__(self) -> int: ...

    @property
    def names(self) -> Sequence[str]:
        """Names of the objectives."""

    @property
    def objectives(self) -> Sequence[ObjectiveLike]:
        """The objectives, one per column of `values`."""

    @property
    def values(self) -> NDArray[np.float64]:
        """Values of all networks, shape (n_networks, n_objectives)."""

    @property
    def expert(self) -> DiscretizedBayesNet | None:
        """The expert's network, completed over the table."""

    @property
    def record(self) -> dict[str, Any]:
        """Where the front comes from."""

    @property
    def table(self) -> Table | None:
        """The rows that the networks were learned from."""


_LONGEST = 60  # characters of a label
_LABEL_ROOM = 64.0  # points: labels of two lines need more than three-dimensional axes leave
_LARGEST = {"seed": 2**128, "n_samples": 1 << 20}


def front_points(
    front: FrontLike,
    *,
    expert: bool | DiscretizedBayesNet | ExpertNetwork | None = None,
    truth: DiscretizedBayesNet | None = None,
    objectives: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return the points that `plot_front` draws: the front's networks, then the expert's and the truth.

    Parameters
    ----------
    front : Front
        The networks.
    expert : bool, DiscretizedBayesNet or ExpertNetwork, optional
        The expert's network; True is the front's own. One without tables is fitted to the front's table.
    truth : DiscretizedBayesNet, optional
        The network that generated the data, where it is known.
    objectives : sequence of str, optional
        Names of the objectives wanted, in order; all by default.

    Returns
    -------
    DataFrame
        Columns: source, "front", "expert" or "truth"; id, the network's position in the front (missing for the
        other two); then the objectives. Those of expert and truth are computed from the front's table: misfit,
        minus the mean log density of its rows; complexity, the number of free parameters; expert_distance, by
        `gomea_bn.expert.distance.expert_distance` from the front's expert, in nats, over the sample whose seed and
        size the front's record holds, else over 4096 points with seed 0.

    Raises
    ------
    GomeaBnError
        For an expert or a truth that is no network; for unknown objectives; for expert or truth if the front has
        no table or no expert where one is needed, or if an objective is a user's own, whose value for them is not
        known.
    """
    import pandas as pd

    chosen = _chosen(front, objectives)
    columns = [front.names.index(one.name) for one in chosen]
    names = [one.name for one in chosen]
    frame = pd.DataFrame(front.values[:, columns], columns=names)
    frame.insert(0, "source", "front")
    frame.insert(1, "id", pd.Series(range(len(front)), dtype="Int64"))
    if not (truth is None or isinstance(truth, DiscretizedBayesNet)):
        raise GomeaBnError(
            f"truth must be the DiscretizedBayesNet that generated the data, got {type(truth).__name__}; leave it "
            "out where the truth is not known."
        )
    marked = {"expert": _expert_network(front, expert), "truth": truth}
    rows = [
        {"source": source, "id": pd.NA}
        | dict(zip(names, _values(front, network, chosen, source), strict=True))
        for source, network in marked.items()
        if network is not None
    ]
    if not rows:
        return frame
    extra = pd.DataFrame(rows).astype({"id": "Int64"})
    return pd.concat([frame, extra], ignore_index=True)


def plot_front(
    front: FrontLike,
    *,
    expert: bool | DiscretizedBayesNet | ExpertNetwork | None = None,
    truth: DiscretizedBayesNet | None = None,
    objectives: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a front's networks as points over two or three objectives, and return the axes.

    With the expert's network and the truth marked it is Figure 2 of Ha et al. Every objective is minimised;
    the labels say what small values mean. `front_points` returns what is drawn.

    Parameters
    ----------
    front, expert, truth
        As in `front_points`.
    objectives : sequence of str, optional
        Two or three names; needed for a front of four objectives or more, since one drawing shows three at most.
    ax : matplotlib Axes, optional
        Where to draw: for three objectives axes made with projection="3d". By default a new figure.

    Raises
    ------
    GomeaBnError
        As in `front_points`, for fewer than two or more than three objectives, or axes of another dimension.
    """
    chosen = _chosen(front, objectives)
    if not 2 <= len(chosen) <= 3:
        raise GomeaBnError(
            f"A front is drawn over 2 or 3 objectives, got {len(chosen)}; the front has {', '.join(front.names)}. "
            "Choose with objectives=[...], or compare them all on the review page."
        )
    points = front_points(front, expert=expert, truth=truth, objectives=[one.name for one in chosen])
    solid = len(chosen) == 3
    if ax is None:
        ax = new_axes((7.2, 6.4), projection="3d") if solid else new_axes((6.4, 4.8))
    if hasattr(ax, "get_zlim") != solid:
        raise GomeaBnError(
            f"{len(chosen)} objectives need axes of {len(chosen)} dimensions; make them with "
            + (
                "plt.subplot(projection='3d'), or choose two with objectives=[...]."
                if solid
                else "plt.subplots()."
            )
        )
    _draw_points(ax, points, [one.name for one in chosen])
    _draw_labels(ax, chosen)
    return ax


def _chosen(front: FrontLike, objectives: Sequence[str] | None) -> list[ObjectiveLike]:
    """Return the objectives to show."""
    if objectives is None:
        return list(front.objectives)
    if isinstance(objectives, str):
        raise GomeaBnError(f"objectives must be a sequence of names, got the single text {objectives!r}.")
    for name in objectives:
        if name not in front.names:
            raise GomeaBnError(
                f"The front has no objective {name!r}; it has {', '.join(front.names)}."
                f"{nearest(str(name), front.names)}"
            )
    if len(set(objectives)) < len(objectives):
        raise GomeaBnError(f"objectives must name each objective once, got {list(objectives)!r}.")
    return [front.objectives[front.names.index(name)] for name in objectives]


def _expert_network(
    front: FrontLike, expert: bool | DiscretizedBayesNet | ExpertNetwork | None
) -> DiscretizedBayesNet | None:
    """Return the expert's whole network, or None if none is wanted."""
    from gomea_bn.expert.expert_network import ExpertNetwork

    if expert is None or expert is False:
        return None
    if expert is True:
        if front.expert is None:
            raise GomeaBnError(
                "expert=True marks the front's own expert, but this front has none; pass a network."
            )
        return front.expert
    if isinstance(expert, DiscretizedBayesNet):
        return expert
    if not isinstance(expert, ExpertNetwork):
        raise GomeaBnError(
            "expert must be True for the front's own expert, a DiscretizedBayesNet or an ExpertNetwork, got "
            f"{type(expert).__name__}."
        )
    return expert.fitted(_table(front, "expert"))


def _values(
    front: FrontLike, network: DiscretizedBayesNet, objectives: Sequence[ObjectiveLike], source: str
) -> list[float]:
    """Return a network's value in every objective."""
    return [_value(front, network, objective.name, source) for objective in objectives]


def _value(front: FrontLike, network: DiscretizedBayesNet, objective: str, source: str) -> float:
    if objective == "complexity":
        return float(network.n_parameters)
    if objective == "misfit":
        return -float(network.log_density(_table(front, source).to_frame()).mean())
    if objective != "expert_distance":
        raise GomeaBnError(
            f"The value of the {source}'s network in the objective '{objective}' is not known; leave {source} out, "
            "or choose other objectives with objectives=[...]."
        )
    if front.expert is None:
        raise GomeaBnError(
            f"The distance of the {source}'s network to the expert needs a front with an expert, got none."
        )
    return expert_distance(front.expert, network, **_sample_options(front))


def _sample_options(front: FrontLike) -> dict[str, int]:
    """Return seed and size of the expert's sample that the front's own distances were taken over, where recorded."""
    parameters = front.record.get("parameters")
    size = parameters.get("expert_sample_size") if isinstance(parameters, dict) else None
    options: dict[str, int] = {}
    for name, value in (("seed", front.record.get("seed")), ("n_samples", size)):
        if isinstance(value, int) and is_integer(value) and 0 <= value <= _LARGEST[name]:
            options[name] = value
    return options


def _table(front: FrontLike, source: str) -> Table:
    if front.table is None:
        raise GomeaBnError(
            f"The {source}'s network is placed by the rows that the front was learned from, but this front holds "
            f"none; leave {source} out, or make the front with table=..."
        )
    return front.table


def _draw_points(ax: Axes, points: pd.DataFrame, names: list[str]) -> None:
    """Draw the front small and the expert and the truth large, each with a shape of its own."""
    counted = int((points["source"] == "front").sum())
    styles: dict[str, tuple[str, dict[str, Any]]] = {
        "front": (
            f"front ({counted} network{'s' if counted != 1 else ''})",
            {"color": BLUE, "s": 18, "alpha": 0.75},
        ),
        "expert": (
            "expert's network",
            {"color": ORANGE, "s": 110, "marker": "D", "edgecolors": INK, "zorder": 5},
        ),
        "truth": ("truth", {"color": "#f0e442", "s": 220, "marker": "*", "edgecolors": INK, "zorder": 6}),
    }
    draw: Any = ax.scatter  # with two or three coordinates
    handles, labels = [], []
    for source, (label, style) in styles.items():
        part: NDArray[np.float64] = points.loc[points["source"] == source, names].to_numpy(dtype=np.float64)
        if len(part):
            depth: dict[str, Any] = {"depthshade": False} if len(names) == 3 else {}
            handles.append(draw(*part.T, **style, **depth))
            labels.append(label)
    plain_legend(ax, handles, labels, frameon=False, loc="upper left" if len(names) == 3 else "best")


def _draw_labels(ax: Any, objectives: list[ObjectiveLike]) -> None:
    """Say what the axes show, in which unit, and what small values mean; in one line where there is room."""
    from matplotlib import rcParams

    solid = len(objectives) == 3
    size = size_in_points(ax)
    if solid:
        ax.set_box_aspect(None, zoom=max(1 - _LABEL_ROOM / min(size), 0.5))
    lengths = [0.0] * 3 if solid else size
    for axis, objective, length in zip("xyz", objectives, lengths, strict=False):
        label, unit, better = (
            plain_text(text, _LONGEST) for text in (objective.label, objective.unit, objective.better)
        )
        parts = [f"{label} [{unit}]", f"{'lower: ' if solid else '← '}{better}"]
        fits = text_width("   ".join(parts), float(rcParams["font.size"])) <= length
        getattr(ax, f"set_{axis}label")(
            ("   " if fits else "\n").join(parts), labelpad=16.0 if solid else None, **LITERAL
        )
