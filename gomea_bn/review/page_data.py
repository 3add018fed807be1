"""What a page shows, as one plain value for JSON: everything hard is computed here, the page only draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.column_summary import column_summary
from gomea_bn.errors import GomeaBnError, is_integer, is_real
from gomea_bn.front.front import COMPLEXITY, EXPERT_DISTANCE, MISFIT
from gomea_bn.review.layout import Layout, layout
from gomea_bn.review.pools import Pools

if TYPE_CHECKING:
    from gomea_bn.data.table import Table
    from gomea_bn.front.front import Front
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

__all__ = ["front_data", "network_data"]

_MOST_FACTS = 60  # entries of the record that are shown
_LONGEST_LIST = 12


def front_data(front: Front, shown: Front, ids: Sequence[int], title: str | None) -> dict[str, Any]:
    """Return the page's data of a front.

    Parameters
    ----------
    front : Front
        All networks; choices such as the knee are made among them.
    shown : Front
        The networks to show: `front`, or what thinning left of it.
    ids : sequence of int
        For every network shown, its position in `front`.
    title : str or None
        Stands above the headline.
    """
    networks = [candidate.network for candidate in shown]
    names = _common_names(networks, shown.expert)
    record = shown.record
    frame = shown.to_frame()
    pools = Pools(names, shown.table)
    found: dict[str, Any] = {
        "kind": "front",
        "title": title,
        "headline": _headline(len(shown)),
        "origin": _origin(front, shown, names),
        "run_hash": front.run_hash,
        "objectives": [
            {"name": one.name, "label": one.label, "unit": one.unit, "better": one.better}
            for one in shown.objectives
        ],
        "values": shown.values.tolist(),
        "n_edges": frame["n_edges"].tolist(),
        "largest_table": frame["largest_table"].tolist(),
        "competing": _competing(shown.values),
        "landmarks": _landmarks(front),
        "ids": [int(one) for one in ids],
        "networks": [pools.add(network) for network in networks],
        "expert": pools.add(shown.expert) if shown.expert is not None else None,
        "facts": _facts(record),
    }
    drawing = layout(names, _arc_shares(networks), _arcs(shown.expert, names) if shown.expert else None)
    found |= _shared_data(pools, networks[0], shown.table, record, drawing)
    for variable in found["variables"]:
        variable["unsaid"] = _unsaid(shown.expert, variable["name"])
    return found


def network_data(
    network: DiscretizedBayesNet, table: Table | None, record: Mapping[str, Any], title: str | None
) -> dict[str, Any]:
    """Return the page's data of one network, without anything to choose."""
    pools = Pools(network.names, table)
    found: dict[str, Any] = {
        "kind": "network",
        "title": title,
        "headline": f"One network of {_count(len(network.names), 'variable')}.",
        "origin": f"Learned from {table.n_rows:,} rows." if table is not None else "",
        "run_hash": None,
        "objectives": [],
        "values": [[]],
        "n_edges": [len(network.edges)],
        "largest_table": [max(one.size for one in network.tables.values())],
        "competing": [True],
        "landmarks": [],
        "ids": [0],
        "networks": [pools.add(network)],
        "expert": None,
        "facts": _facts(record),
    }
    return found | _shared_data(pools, network, table, record, layout(network.names, _arc_shares([network])))


def _shared_data(
    pools: Pools,
    example: DiscretizedBayesNet,
    table: Table | None,
    record: Mapping[str, Any],
    drawing: Layout,
) -> dict[str, Any]:
    """Return the parts that do not depend on which network is looked at."""
    columns = {one["name"]: one for one in _columns(table, record)}
    variables = []
    for name in example.names:
        column = columns.get(name, {})
        variable: dict[str, Any] = {"name": name, "continuous": name in example.cut_points}
        if variable["continuous"]:
            variable["histogram"] = _histogram(column)
            variable["support"] = pools.support(name)
            variable["damaged"] = "histogram" in column and variable["histogram"] is None
        else:
            variable["levels"] = [str(level) for level in example.levels[name]]
            variable["counts"] = _counts(column.get("counts"), len(variable["levels"]))
            variable["damaged"] = "counts" in column and variable["counts"] is None
        variables.append(variable)
    return {
        "variables": variables,
        "cuts": pools.cuts,
        "families": pools.families,
        "layout": {
            "width": round(drawing.width, 1),
            "height": round(drawing.height, 1),
            "boxes": drawing.boxes.round(1).tolist(),
            "curves": [[i, j, one.round(1).tolist()] for (i, j), one in drawing.curves.items()],
        },
    }


def _columns(table: Table | None, record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the summaries of the columns, from the rows or from what the record kept of them."""
    if table is not None:
        return column_summary(table)
    kept = record.get("columns")
    entries = kept if isinstance(kept, list) else []
    return [one for one in entries if isinstance(one, dict) and isinstance(one.get("name"), str)]


def _histogram(column: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the histogram of a summary with edges rounded to a hundredth of a bin, or None without a sound one."""
    found = column.get("histogram")
    if not isinstance(found, dict) or not isinstance(found.get("edges"), list):
        return None
    edges = [edge for edge in map(_finite, found["edges"]) if edge is not None]
    counts = _counts(found.get("counts"), len(found["edges"]) - 1)
    if not counts or len(edges) < len(found["edges"]) or sorted(set(edges)) != edges:
        return None
    return {"edges": [float(f"{edge:.9g}") for edge in edges], "counts": counts}


def _counts(found: Any, length: int) -> list[int] | None:
    """Return a list of so many counts of rows, or None for anything else."""
    if not isinstance(found, list) or len(found) != length:
        return None
    return found if all(is_integer(count) and count >= 0 for count in found) else None


def _finite(value: Any) -> float | None:
    """Return a finite number as float, or None for anything else."""
    try:
        return float(value) if is_real(value) and isfinite(value) else None
    except OverflowError:  # an integer beyond every float
        return None


def _unsaid(expert: DiscretizedBayesNet | None, name: str) -> str | None:
    """Return what the expert left out of a variable, "variable" or "bins", so that no defaults pass for theirs."""
    fit = expert.metadata.get("expert_fit") if expert is not None else None
    if not isinstance(fit, Mapping):
        return None
    for key, what in (("not_mentioned", "variable"), ("default_bins", "bins")):
        names = fit.get(key)
        if isinstance(names, (list, tuple)) and name in names:
            return what
    return None


def _common_names(
    networks: Sequence[DiscretizedBayesNet], expert: DiscretizedBayesNet | None
) -> tuple[str, ...]:
    """Return the variables, or refuse networks that differ in them."""
    names = networks[0].names
    for place, network in enumerate(networks):
        if network.names != names or network.levels != networks[0].levels:
            raise GomeaBnError(
                "All networks of a page must have the same variables and levels in the same order; "
                f"network {place} differs from network 0."
            )
    if expert is not None and set(expert.names) != set(names):
        missing = sorted(set(names) ^ set(expert.names))
        raise GomeaBnError(
            "The expert's network must have the variables of the front; they differ in "
            f"{', '.join(repr(name) for name in missing[:5])}. Use ExpertNetwork.fitted(table)."
        )
    if expert is not None and expert.levels != networks[0].levels:
        raise GomeaBnError(
            "The expert's network must have the front's discrete variables with the same levels in the same "
            "order. Use ExpertNetwork.fitted(table)."
        )
    return names


def _arcs(network: DiscretizedBayesNet, names: Sequence[str]) -> NDArray[np.bool_]:
    """Return bool (n, n), [i, j]: the network has an edge from names[i] to names[j]."""
    place = {name: position for position, name in enumerate(names)}
    found = np.zeros((len(names), len(names)), dtype=bool)
    for parent, child in network.edges:
        found[place[parent], place[child]] = True
    return found


def _arc_shares(networks: Sequence[DiscretizedBayesNet]) -> NDArray[np.float64]:
    """Return the share of the networks that have each arc, float64 (n, n)."""
    total = sum(network.adjacency_matrix.astype(np.float64) for network in networks)
    found: NDArray[np.float64] = np.asarray(total) / len(networks)
    return found


def _competing(values: NDArray[np.float64]) -> list[bool]:
    """Return for every network whether no other is better; the sliders choose among these only."""
    from gomea_bn.front.choice import nondominated_rows

    rows = set(nondominated_rows(values).tolist())
    return [place in rows for place in range(len(values))]


def _landmarks(front: Front) -> list[dict[str, Any]]:
    """Return the networks that buttons lead to: key, label, id, and the objective it is best in, if any."""
    if len(front) == 1:
        return []
    found: list[dict[str, Any]] = []
    if len(front.objectives) > 1:
        found.append({"key": "knee", "label": "Knee", "id": front.knee().index, "objective": None})
    known = {EXPERT_DISTANCE.name: "Closest to mine", COMPLEXITY.name: "Simplest", MISFIT.name: "Best fit"}
    others = {one.name: f"Least {one.label.lower()}" for one in front.objectives if one.name not in known}
    for name, label in (known | others).items():
        if name in front.names:
            found.append({"key": name, "label": label, "id": front.best(name).index, "objective": name})
    return found


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _headline(n: int) -> str:
    return "One network explains your data." if n == 1 else f"{n:,} networks explain your data; pick one."


def _origin(front: Front, shown: Front, names: Sequence[str]) -> str:
    """Return what the networks are about and, when not all are shown, how these were chosen."""
    about = _count(len(names), "variable")
    if front.n_rows is not None:
        about += f", {_count(front.n_rows, 'row')}"
    if len(shown) < len(front):
        nearest = ", the closest to your network" if EXPERT_DISTANCE.name in front.names else ""
        return (
            f"{about}. Chosen from {len(front):,}: the best in each objective, the knee{nearest}, then those "
            "that widen the choice most (by hypervolume), one per graph before any second."
        )
    before = shown.record.get("thinned_from")
    if isinstance(before, dict) and "n_networks" in before:
        return f"{about}. Chosen from {before['n_networks']:,}: {before.get('how', 'thinned')}."
    return f"{about}."


def _facts(record: Mapping[str, Any]) -> list[list[str]]:
    """Return the record as pairs of text, nested names joined by a dot; long lists are counted only."""
    found: list[list[str]] = []

    def visit(prefix: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, inner in value.items():
                if not (prefix == "" and key == "columns"):
                    visit(f"{prefix} · {key}" if prefix else str(key), inner)
        elif isinstance(value, (list, tuple)):
            plain = all(one is None or isinstance(one, (str, int, float, bool)) for one in value)
            short = plain and len(value) <= _LONGEST_LIST
            found.append([prefix, ", ".join(map(str, value)) if short else f"{len(value):,} values"])
        elif value is not None:
            found.append([prefix, f"{value:.6g}" if isinstance(value, float) else str(value)])

    visit("", record)
    if len(found) > _MOST_FACTS:
        found = [*found[:_MOST_FACTS], ["…", f"{len(found) - _MOST_FACTS} more entries"]]
    return found
