"""The plot of a front: its networks over two or three objectives, with the expert's and the true network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gomea_bn.errors import GomeaBnError, is_integer, nearest
from gomea_bn.expert.distance import expert_distance
from gomea_bn.expert.expert_network import ExpertNetwork
from gomea_bn.lazy import pd
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.plots.axes import (
    BLUE,
    INK,
    LITERAL,
    ORANGE,
    drawn_width,
    new_axes,
    plain_legend,
    plain_text,
    size_in_points,
)
from gomea_bn.texts import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gomea_bn.data.table import Table


# a `Front` and its `Objective`, which a higher package has
FrontLike: TypeAlias = Any
ObjectiveLike: TypeAlias = Any

_LARGEST = {"random_state": 2**128, "n_samples": 1 << 20}


def front_points(
    front: FrontLike,
    *,
    expert: bool | DiscretizedBayesNet | ExpertNetwork | None = None,
    truth: DiscretizedBayesNet | None = None,
    objectives: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return the points of `plot_front`: the networks of the front, then the expert's and the true network.

    Parameters
    ----------
    front : Front
        The front.
    expert : bool, DiscretizedBayesNet or ExpertNetwork, optional
        The expert's network; True for the front's own. An ExpertNetwork is fitted to the table of the front.
    truth : DiscretizedBayesNet, optional
        The network that generated the data, if it is known.
    objectives : sequence of str, optional
        Names of the objectives, in order; by default all.

    Returns
    -------
    DataFrame
        Column `source` is "front", "expert" or "truth". Column `id` is the position in the front, missing for the other
        two. The further columns are the objectives.

        Values of expert and truth are computed: misfit is the negative mean log density of the table's rows, complexity
        the number of free parameters, and expert_distance the `gomea_bn.expert.distance.expert_distance` to the front's
        expert in nats. Its sample has the seed and size in the front's record, or 4096 points and seed 0.

    Raises
    ------
    GomeaBnError
        For an expert or a truth of another type and for unknown objectives. For expert or truth also if the front lacks
        the table or the expert that is needed, and for objectives of a user's own, which cannot be computed.
    """
    chosen = _chosen(front, objectives)
    names = [objective.name for objective in chosen]
    columns = [front.names.index(name) for name in names]
    frame = pd.DataFrame(front.values[:, columns], columns=names)
    frame.insert(0, "source", "front")
    frame.insert(1, "id", pd.Series(range(len(front)), dtype="Int64"))
    if not (truth is None or isinstance(truth, DiscretizedBayesNet)):
        raise GomeaBnError(
            f"truth must be the DiscretizedBayesNet that generated the data, got {type(truth).__name__}; leave it out "
            "if that network is not known."
        )
    marked = {"expert": _expert_network(front, expert), "truth": truth}
    rows = [
        {"source": source, "id": pd.NA} | {name: _value(front, network, name, source) for name in names}
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
    """Draw the networks of a front as points over two or three objectives and return the axes.

    With the expert's and the true network it is Figure 2 of Ha et al. (2024). Every objective is minimised; the labels
    describe small values. `front_points` returns the data that are drawn.

    Parameters
    ----------
    front, expert, truth
        See `front_points`.
    objectives : sequence of str, optional
        Names of two or three objectives; by default all. Required for a front of four or more objectives.
    ax : matplotlib Axes, optional
        Axes to draw in, with projection="3d" for three objectives; by default those of a new figure.

    Raises
    ------
    GomeaBnError
        See `front_points`. Also for another number of objectives than two or three, and for axes of another dimension.
    """
    chosen = _chosen(front, objectives)
    if not 2 <= len(chosen) <= 3:
        raise GomeaBnError(
            f"A front is drawn over 2 or 3 objectives, got {len(chosen)}; the front has {', '.join(front.names)}. "
            "Choose with objectives=[...], or compare them all on the review page."
        )
    points = front_points(
        front, expert=expert, truth=truth, objectives=[objective.name for objective in chosen]
    )
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
    _draw_points(ax, points, [objective.name for objective in chosen])
    _draw_labels(ax, chosen)
    return ax


def _chosen(front: FrontLike, objectives: Sequence[str] | None) -> list[ObjectiveLike]:
    """Return the chosen objectives."""
    if objectives is None:
        return list(front.objectives)
    if isinstance(objectives, str):
        raise GomeaBnError(f"objectives must be a sequence of names, got the single text {objectives!r}.")
    for name in objectives:
        if name not in front.names:
            raise GomeaBnError(
                f"objectives: unknown objective {name!r}; the front has {', '.join(front.names)}."
                f"{nearest(str(name), front.names)}"
            )
    if len(set(objectives)) < len(objectives):
        raise GomeaBnError(f"objectives has a duplicate, got {list(objectives)!r}.")
    return [front.objectives[front.names.index(name)] for name in objectives]


def _expert_network(
    front: FrontLike, expert: bool | DiscretizedBayesNet | ExpertNetwork | None
) -> DiscretizedBayesNet | None:
    """Return the expert's network over all columns, or None if no expert is drawn."""
    if expert is None or expert is False:
        return None
    if expert is True:
        own: DiscretizedBayesNet | None = front.expert
        if own is None:
            raise GomeaBnError(
                "expert=True draws the expert's network of the front, but this front has none; pass a network."
            )
        return own
    if isinstance(expert, DiscretizedBayesNet):
        return expert
    if not isinstance(expert, ExpertNetwork):
        raise GomeaBnError(
            "expert must be a DiscretizedBayesNet, an ExpertNetwork or, for the expert of the front, True, got "
            f"{type(expert).__name__}."
        )
    table = _table(front, "expert")
    # values in all objectives are compared with those of the front's networks
    shapes = {
        name: shape for index in range(len(front)) for name, shape in front.network(index).shapes.items()
    }
    return expert.fitted(table, shapes=shapes)


def _value(front: FrontLike, network: DiscretizedBayesNet, objective: str, source: str) -> float:
    """Return the value of a network in an objective."""
    if objective == "complexity":
        return float(network.n_parameters)
    if objective == "misfit":
        return -float(network.log_density(_table(front, source).to_frame()).mean())
    if objective != "expert_distance":
        raise GomeaBnError(
            f"The value of {source} in the objective '{objective}' cannot be computed; leave {source} out, or choose "
            "other objectives with objectives=[...]."
        )
    if front.expert is None:
        raise GomeaBnError(
            f"The objective 'expert_distance' of {source} needs a front with an expert, got none."
        )
    return expert_distance(front.expert, network, **_sample_options(front))


def _sample_options(front: FrontLike) -> dict[str, int]:
    """Return seed and size of the expert's sample by the front's record, as options of `expert_distance`."""
    parameters = front.record.get("parameters")
    size = parameters.get("expert_sample_size") if isinstance(parameters, dict) else None
    options: dict[str, int] = {}
    for name, value in (("random_state", front.record.get("seed")), ("n_samples", size)):
        if isinstance(value, int) and is_integer(value) and 0 <= value <= _LARGEST[name]:
            options[name] = value
    return options


def _table(front: FrontLike, source: str) -> Table:
    table: Table | None = front.table
    if table is None:
        raise GomeaBnError(
            f"{source} needs the rows that the front was learned from, but this front has no table; leave {source} "
            "out, or make the front with table=..."
        )
    return table


def _draw_points(ax: Axes, points: pd.DataFrame, names: list[str]) -> None:
    """Draw small points for the front, and large ones of other shapes for the expert and the truth."""
    n_networks = int((points["source"] == "front").sum())
    styles: dict[str, tuple[str, dict[str, Any]]] = {
        "front": (
            f"front ({counted(n_networks, 'network')})",
            {"color": BLUE, "s": 18, "alpha": 0.75},
        ),
        "expert": (
            "expert's network",
            {"color": ORANGE, "s": 110, "marker": "D", "edgecolors": INK, "zorder": 5},
        ),
        "truth": ("truth", {"color": "#f0e442", "s": 220, "marker": "*", "edgecolors": INK, "zorder": 6}),
    }
    # called with two or three coordinates
    draw: Any = ax.scatter
    handles, labels = [], []
    for source, (label, style) in styles.items():
        part = points.loc[points["source"] == source, names].to_numpy(dtype=np.float64)
        if len(part):
            depth: dict[str, Any] = {"depthshade": False} if len(names) == 3 else {}
            handles.append(draw(*part.T, **style, **depth))
            labels.append(label)
    plain_legend(ax, handles, labels, frameon=False, loc="upper left" if len(names) == 3 else "best")


def _draw_labels(ax: Any, objectives: list[ObjectiveLike]) -> None:
    """Label the axes with name, unit and meaning of small values, in one line if there is room."""
    from matplotlib import rcParams

    solid = len(objectives) == 3
    size = size_in_points(ax)
    if solid:
        # points; labels of two lines need more room than three-dimensional axes leave
        ax.set_box_aspect(None, zoom=max(1 - 64.0 / min(size), 0.5))
    lengths = [0.0] * 3 if solid else size
    for axis, objective, length in zip("xyz", objectives, lengths, strict=False):
        label, unit, better = (
            plain_text(text, 60) for text in (objective.label, objective.unit, objective.better)
        )
        parts = [f"{label} [{unit}]", f"{'lower: ' if solid else '← '}{better}"]
        fits = drawn_width("   ".join(parts), float(rcParams["font.size"])) <= length
        getattr(ax, f"set_{axis}label")(
            ("   " if fits else "\n").join(parts), labelpad=16.0 if solid else None, **LITERAL
        )
