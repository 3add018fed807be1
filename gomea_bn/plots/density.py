"""The plot of one variable: its density or probabilities under a network, in the data and by an expert."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.column_summary import column_summary
from gomea_bn.data.columns import LEAST_RANGE, MISSING_CODE, column_positions, encode_levels, numeric_values
from gomea_bn.data.sources import source_frame
from gomea_bn.data.table import Column, Table
from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.lazy import pd
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.bin_distributions import points_text, width_of_points
from gomea_bn.network.conditionals.conditionals import INTERVAL, with_cut
from gomea_bn.network.conditionals.curve import Curve
from gomea_bn.network.marginals import level_probabilities, marginal, marginal_density
from gomea_bn.network.tables import bin_widths
from gomea_bn.plots.axes import (
    BLUE,
    LITERAL,
    LONGEST_NAME,
    ORANGE,
    apart,
    axes_of_variable,
    density_label,
    draw_curve,
    draw_levels,
    in_unit,
    label_values,
    leave_room_for_legend,
    plain_legend,
    plain_text,
    unit_of_axis,
)
from gomea_bn.problems.cuts.shape import MOST_POINTS, POINTS_SHARE
from gomea_bn.texts import counted, listed, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gomea_bn.data.columns import Level
    from gomea_bn.expert.expert_network import ExpertNetwork
    from gomea_bn.network.conditionals.conditionals import Conditionals
    from gomea_bn.network.recorded import NetworkLike

_FILL = "#cfcfcf"


def density_bins(
    network: NetworkLike,
    variable: str,
    *,
    table: Table | pd.DataFrame | None = None,
    expert: DiscretizedBayesNet | ExpertNetwork | None = None,
) -> pd.DataFrame:
    """Return the data of `plot_density`: one row per bin or level of the network, the data and the expert.

    Parameters
    ----------
    network : DiscretizedBayesNet
        The network.
    variable : str
        Name of a variable.
    table : Table or DataFrame, optional
        Rows of data with a column for this variable.
    expert : DiscretizedBayesNet or ExpertNetwork, optional
        The expert's network. An expert without bins or tables for the variable adds no rows.

    Returns
    -------
    DataFrame
        Column `source` is "network", "data" or "expert". Column `how` is "exact" or "sampled" for marginals of networks
        (see `gomea_bn.network.marginals.marginal`), "counted" for data, and "bins only" for an expert's
        bins without tables.

        A continuous variable has the columns `low`, `high` and `density`, the probability of (low, high] per unit of
        the variable; for a variable with a shape that is the mean in the bin, and `marginal_density` returns the curve.
        The data have the bins of a fine histogram, without the rows at point masses of the network's shape. Bins
        without tables have density nan and infinite outer ends. A discrete variable has the columns `level` and
        `probability`.

    Raises
    ------
    GomeaBnError
        For an unknown variable, for a variable of another kind in the expert's network, and for data without the
        variable or with values that do not fit it.
    """
    network.cardinality(variable)  # raises for an unknown name
    own_part = _continuous_part if variable in network.cut_points else _discrete_part
    parts = [own_part(network, variable, "network")]
    if table is not None:
        parts.append(_data_part(network, variable, table))
    if expert is not None:
        parts += _expert_parts(network, variable, expert)
    return pd.concat(parts, ignore_index=True)


def plot_density(
    network: NetworkLike,
    variable: str,
    *,
    table: Table | pd.DataFrame | None = None,
    expert: DiscretizedBayesNet | ExpertNetwork | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the marginal density of a variable under a network and return the axes.

    A continuous variable that is uniform inside its bins is drawn as a step function, with a fine histogram of the data
    behind it and the expert's density dashed. Marks on the axis show the network's cut points, marks above them the
    expert's. A variable with a shape is drawn as a line, with a thin vertical line at every cut point. Its point masses
    are stems, whose probabilities the legend names; the highest density stands for probability 1, and a grey dot shows
    the share of the rows. Of a column of few values the axis is that of the probabilities. A range that Matplotlib
    cannot draw, such as 1e300, is drawn in a power of ten, which both axes name. A discrete variable is drawn as bars.
    `density_bins` and `marginal_density` return the data that are drawn.

    Of a network with conditionals their density is drawn as a line. A band around every shown cut is its 90 % interval,
    and the number above it the probability that a cut is near, in per cent; see `DiscretizedBayesNet.cut_intervals` and
    `cut_probabilities`.

    Parameters
    ----------
    network, variable, table, expert
        See `density_bins`.
    ax : matplotlib Axes, optional
        Axes to draw in; by default those of a new figure.

    Raises
    ------
    GomeaBnError
        See `density_bins`.
    """
    bins = density_bins(network, variable, table=table, expert=expert)
    ax = axes_of_variable(ax, variable)
    if variable in network.cut_points:
        owners = {"network": network, "expert": _with_tables(expert)}
        curves = {
            source: marginal_density(owner, variable)
            for source, owner in owners.items()
            if owner is not None and (owner.conditionals is not None or variable in owner.shapes)
        }
        points = curves["network"].points if "network" in curves else {}
        values = None if table is None else _values(variable, table)
        shares = {} if values is None else {point: float((values == point).mean()) for point in points}
        unit = unit_of_axis(network.support[variable])
        if unit != 1:
            ax.set_xlabel(f"{plain_text(variable, LONGEST_NAME)} [{unit:g}]", **LITERAL)
            bins[["low", "high"]] /= unit
            bins["density"] *= unit
            curves = {source: in_unit(curve, unit) for source, curve in curves.items()}
            shares = {point / unit: share for point, share in shares.items()}
        shape = network.shapes.get(variable)
        if shape is not None and shape.has_few_values:
            # densities as probabilities of bins that stand for one value
            width = width_of_points(network, variable) / unit
            bins["density"] *= width
            curves = {
                source: Curve(curve.values, curve.densities * width, curve.points)
                for source, curve in curves.items()
            }
        _draw_densities(ax, network, variable, bins, curves, shares, unit)
        label_values(ax, variable, network.support[variable])
    else:
        _draw_bars(ax, bins)
    return ax


def _continuous_part(network: NetworkLike, variable: str, source: str) -> pd.DataFrame:
    """Return the density over the bins of a network."""
    probabilities, is_exact = marginal(network, variable)
    cuts, support = network.cut_points[variable], network.support[variable]
    edges = np.concatenate(([support[0]], cuts, [support[1]]))
    # a bin may be narrower than any range of a column, and its density beyond float64
    density = probabilities / np.maximum(bin_widths(cuts, support), LEAST_RANGE)
    return _steps(source, "exact" if is_exact else "sampled", edges, density)


def _discrete_part(network: NetworkLike, variable: str, source: str) -> pd.DataFrame:
    """Return the probabilities of the levels in a network."""
    probabilities, is_exact = level_probabilities(network, variable)
    how = "exact" if is_exact else "sampled"
    return _levels(source, how, network.levels[variable], probabilities)


def _expert_parts(
    network: NetworkLike, variable: str, expert: DiscretizedBayesNet | ExpertNetwork
) -> list[pd.DataFrame]:
    """Return the expert's distribution of a variable, by the tables or only the bins; empty without both."""
    continuous = variable in network.cut_points
    with_tables = _with_tables(expert)
    if with_tables is not None and variable in (with_tables.cut_points if continuous else with_tables.levels):
        part = _continuous_part if continuous else _discrete_part
        return [part(with_tables, variable, "expert")]
    if variable not in expert.names:
        return []
    if continuous and variable in expert.cut_points:
        inner = expert.cut_points[variable]
        edges = np.concatenate(([-np.inf], inner, [np.inf]))
        return [_steps("expert", "bins only", edges, np.full(len(edges) - 1, np.nan))]
    if with_tables is not None or variable in expert.cut_points:
        raise GomeaBnError(
            f"'{variable}' is {'continuous' if continuous else 'discrete'} in the network, but not in the expert's "
            "network; leave expert out, or give the expert's network of the same columns."
        )
    return []


def _with_tables(expert: DiscretizedBayesNet | ExpertNetwork | None) -> DiscretizedBayesNet | None:
    """Return the expert's network with probability tables, None if there is none."""
    return expert if expert is None or isinstance(expert, DiscretizedBayesNet) else expert.network


def _data_part(network: NetworkLike, variable: str, table: Table | pd.DataFrame) -> pd.DataFrame:
    """Return a fine histogram of the data, or the shares of the network's levels."""
    if variable in network.levels:
        levels = network.levels[variable]
        codes = encode_levels(_series_of(variable, table), variable, levels)
        return _levels("data", "counted", levels, np.bincount(codes, minlength=len(levels)) / len(codes))
    values = _values(variable, table)
    shape = network.shapes.get(variable)
    spread = values if shape is None else values[~np.isin(values, shape.point_values)]
    if len(spread) == 0:
        return _steps("data", "counted", np.zeros(1), np.zeros(0))
    summary = column_summary(Table((Column(variable, spread, None, ""),), len(spread), ()))
    edges, counts = (np.array(summary[0]["histogram"][part]) for part in ("edges", "counts"))
    return _steps("data", "counted", edges, counts / (len(values) * np.diff(edges)))


def _values(variable: str, table: Table | pd.DataFrame) -> NDArray[np.float64]:
    """Return the values of a continuous variable in the data, float64 (n_rows,)."""
    return numeric_values(_series_of(variable, table), variable)


def _series_of(variable: str, table: Table | pd.DataFrame) -> Any:
    """Return the pandas Series of a variable with its values; it has at least one row."""
    if isinstance(table, Table):
        if variable not in table.names:
            raise GomeaBnError(f"table: unknown column '{variable}'.{nearest(variable, table.names)}")
        column = table.columns[table.names.index(variable)]
        series = _series(column)
    else:
        frame = source_frame(table)
        series = frame.iloc[:, column_positions(frame, [variable])[variable]]
    if len(series) == 0:
        raise GomeaBnError(f"table must have at least one row for the histogram of '{variable}', got none.")
    # a column without values has a level for them, or is refused
    return series.dropna() if series.notna().any() else series


def _series(column: Column) -> pd.Series[Any]:
    """Return a column of a table with values in place of codes."""
    if column.levels is None:
        return pd.Series(column.values)
    values = [None if code == MISSING_CODE else column.levels[code] for code in column.values.tolist()]
    return pd.Series(values, dtype=object)


def _steps(source: str, how: str, edges: NDArray[np.float64], density: NDArray[np.float64]) -> pd.DataFrame:
    return pd.DataFrame(
        {"source": source, "how": how, "low": edges[:-1], "high": edges[1:], "density": density}
    )


def _levels(
    source: str, how: str, levels: tuple[Level, ...], probability: NDArray[np.float64]
) -> pd.DataFrame:
    level = pd.Series(list(levels), dtype=object)
    return pd.DataFrame({"source": source, "how": how, "level": level, "probability": probability})


def _draw_densities(
    ax: Axes,
    network: NetworkLike,
    variable: str,
    bins: pd.DataFrame,
    curves: Mapping[str, Curve],
    shares: Mapping[float, float],
    unit: float,
) -> None:
    """Draw the densities of a continuous variable, marks of the cut points, and point masses of the network.

    Network and expert are drawn as the curves of these names, or else as steps. `shares` holds the shares of the rows
    at the point masses. All values and densities are in the given unit.
    """
    handles: list[Any] = []
    labels: list[str] = []
    data, own, expert = (bins[bins["source"] == source] for source in ("data", "network", "expert"))
    stepped = bins[~bins["source"].isin(list(curves))]
    heights = [stepped["density"].max(), *(curve.densities.max() for curve in curves.values())]
    highest = float(np.nanmax(heights))
    points = curves["network"].points if "network" in curves else {}
    of_probability = highest
    has_few_values = sum(points.values()) >= POINTS_SHARE
    if has_few_values:
        of_probability, highest = 1.0, max(highest, *points.values(), *shares.values())
    if len(data):
        handles.append(ax.stairs(data["density"], _edges(data), fill=True, color=_FILL, zorder=1))
        labels.append("data")
    style: dict[str, Any] = {"color": BLUE, "linewidth": 1.8, "zorder": 3}
    handles.append(_drawn(ax, own, curves.get("network"), style))
    if (known := network.conditionals) is None:
        labels.append(_labelled("network", own, "bin"))
    else:
        stack = known.stacks[variable]
        parts = [f"average of {counted(stack.n_sets, 'set')} of cuts"] if stack.n_sets else []
        parts += [
            f"{percent(weight)} {fitted.words}" for weight, fitted in stack.members if not fitted.n_sets
        ]
        labels.append(", ".join(parts))
    cuts = own["high"].iloc[:-1]
    if "network" in curves:
        ax.vlines(cuts, 0.0, highest, color=BLUE, linewidth=0.7, alpha=0.45, zorder=2)
    marks: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "linewidth": 1.4, "zorder": 4}
    ax.vlines(cuts, 0.0, 0.045, color=BLUE, **marks)
    if len(expert):
        entry: Any = ax.vlines(expert["high"].iloc[:-1], 0.055, 0.1, color=ORANGE, **marks)
        if expert["density"].notna().all():
            dashed = {"color": ORANGE, "linestyle": (0, (4, 2)), "linewidth": 1.6, "zorder": 4}
            entry = _drawn(ax, expert, curves.get("expert"), dashed)
        handles.append(entry)
        labels.append(_labelled("expert", expert, "bin"))
    if points:
        handles.append(_drawn_points(ax, points, shares, of_probability))
        of_data = {value * unit: mass for value, mass in points.items()}
        few = listed(f"{percent(mass)} at {value:.6g}" for value, mass in of_data.items())
        labels.append(few if len(points) <= MOST_POINTS else points_text(of_data))
    n_lines = len(labels)
    if known is not None and len(cuts):
        n_lines += _drawn_certainty(ax, known, variable, cuts, unit, highest, handles, labels)
    ax.set_ylabel("Probability" if has_few_values else density_label(variable, unit))
    leave_room_for_legend(ax, highest, n_lines)
    plain_legend(ax, handles, labels, frameon=False, loc="upper right")


def _drawn(ax: Axes, bins: pd.DataFrame, curve: Curve | None, style: dict[str, Any]) -> Any:
    """Draw a density as a line, or as steps over bins if there is no curve, and return its entry of the legend."""
    if curve is None:
        return ax.stairs(bins["density"], _edges(bins), **style)
    return draw_curve(ax, curve, style)


def _drawn_certainty(
    ax: Axes, known: Conditionals, variable: str, cuts: pd.Series[float], unit: float, highest: float,
    handles: list[Any], labels: list[str],
) -> int:  # fmt: skip
    """Draw intervals and probabilities of cuts, extend the legend, and return the lines of text that they take."""
    n_lines = 0
    if variable in known.cut_intervals:
        intervals = known.cut_intervals[variable] / unit
        ends = [with_cut(low, high, cut) for (low, high), cut in zip(intervals, cuts, strict=True)]
        lows, highs = np.transpose(ends)
        bands = ax.bar(lows, highest, highs - lows, align="edge", color=BLUE, alpha=0.13, zorder=1.5)
        handles.append(bands)
        labels.append(f"{percent(INTERVAL)} intervals of the cuts")
        n_lines += 1
    if variable in known.cut_probabilities:
        style: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": 7, "color": BLUE, "rotation": 90}
        places = apart(ax, np.asarray(cuts, np.float64), style["fontsize"])
        for cut, probability in zip(places, known.cut_probabilities[variable], strict=True):
            ax.text(cut, 1.01 * highest, percent(probability), **style, **LITERAL)
        n_lines += 2
    return n_lines


def _drawn_points(
    ax: Axes, points: Mapping[float, float], shares: Mapping[float, float], of_probability: float
) -> Any:
    """Draw point masses as stems and shares of the rows as grey dots, and return the entry of the legend.

    The height `of_probability` stands for probability 1.
    """
    values, heights = list(points), [mass * of_probability for mass in points.values()]
    ax.vlines(values, 0.0, heights, color=BLUE, linewidth=2.4, zorder=5)
    (dots,) = ax.plot(values, heights, "o", color=BLUE, markersize=5.5, zorder=6)
    ax.plot(
        list(shares),
        [share * of_probability for share in shares.values()],
        "o",
        color=_FILL,
        markersize=2.5,
        zorder=7,
    )
    return dots


def _draw_bars(ax: Axes, bins: pd.DataFrame) -> None:
    """Draw the probabilities of the levels of a discrete variable next to each other."""
    levels = list(dict.fromkeys(bins["level"]))
    styles: dict[str, dict[str, Any]] = {
        "data": {"color": _FILL},
        "network": {"color": BLUE},
        "expert": {"color": ORANGE, "hatch": "//"},
    }
    parts = {source: bins[bins["source"] == source] for source in styles}
    parts = {source: part for source, part in parts.items() if len(part)}
    groups = [
        (list(map(levels.index, part["level"])), part["probability"], styles[source])
        for source, part in parts.items()
    ]
    handles = draw_levels(ax, levels, groups)
    labels = [
        source if source == "data" else _labelled(source, part, "level") for source, part in parts.items()
    ]
    leave_room_for_legend(ax, bins["probability"].max(), len(labels))
    plain_legend(ax, handles, labels, frameon=False, loc="upper right")


def _edges(part: pd.DataFrame) -> NDArray[np.float64]:
    """Return the edges, float64 (n_bins + 1,), of bins in order."""
    return np.append(part["low"].to_numpy(), part["high"].iloc[-1])


def _labelled(source: str, part: pd.DataFrame, unit: str) -> str:
    """Return a label such as "network (4 bins)", with a remark for sampled densities and bins without tables."""
    remark = {"sampled": ", from a sample", "bins only": ", no tables"}.get(part["how"].iloc[0], "")
    return f"{source} ({counted(len(part), unit)}{remark})"
