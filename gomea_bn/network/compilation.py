"""Networks with conditionals as tables within a budget of cells, for other programs, and what they lose by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import (
    GomeaBnError,
    GomeaBnWarning,
    check_integer,
    give_warning,
    is_integer,
    mapping_in,
    names_in,
    nearest,
)
from gomea_bn.lazy import pd
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.graph import reachable
from gomea_bn.network.parts import check_cut_points
from gomea_bn.network.rows import draws_by_name
from gomea_bn.network.shown_tables import ROWS_OF_TABLES, table_over_cells
from gomea_bn.network.tables import bin_texts
from gomea_bn.problems.cuts.policies import bin_codes
from gomea_bn.texts import amount, listed, shown_name

if TYPE_CHECKING:
    from gomea_bn.network.recorded import NetworkLike

COMPILED = "compiled"
"""Entry of the metadata of a compiled network: variables whose bins were merged, and edges that were left out."""

# pairs whose probabilities are compared
_MOST_PAIRS = 24


def coarser(
    network: NetworkLike, max_cells: int
) -> tuple[dict[str, NDArray[np.float64]], dict[str, tuple[str, ...]], dict[str, list[Any]]]:
    """Return inner cuts and parents, by variable, of which all tables together have at most `max_cells` cells.

    Third come the variables with fewer bins, "merged", and the edges (parent, child) without an axis, "left_out".

    As long as there are too many, the largest table gives way: of its parents the one with the least share (see
    `DiscretizedBayesNet.effects`) that is continuous and has more than two bins keeps every second cut; without such a
    parent the one with the least share leaves the table.
    """
    cuts, levels = dict(network.cut_points), network.levels
    parents = {name: list(network.parents(name)) for name in network.names}
    merged: list[str] = []
    left_out: list[tuple[str, str]] = []

    def card(name: str) -> int:
        return len(levels[name]) if name in levels else len(cuts[name]) + 1

    while True:
        sizes = {name: prod(map(card, (name, *parents[name]))) for name in network.names}
        if sum(sizes.values()) <= max_cells:
            break
        largest = max(network.names, key=lambda name: sizes[name])
        if not parents[largest]:
            raise GomeaBnError(
                f"max_cells must be at least {sum(map(card, network.names)):,}, the number of bins and levels, got "
                f"{max_cells}."
            )
        by_share = [one.parent for one in network.column_effects(largest).effects[::-1]]
        present = [parent for parent in by_share if parent in parents[largest]]
        fine = [parent for parent in present if parent in cuts and len(cuts[parent]) > 1]
        if fine:
            cuts[fine[0]] = cuts[fine[0]][1::2] if len(cuts[fine[0]]) > 2 else cuts[fine[0]][:1]
            merged += [fine[0]] if fine[0] not in merged else []
        else:
            parents[largest].remove(present[0])
            left_out.append((present[0], largest))
    fixed = {name: tuple(of_name) for name, of_name in parents.items()}
    return cuts, fixed, {"merged": merged, "left_out": [list(edge) for edge in left_out]}


def compiled_tables(
    network: NetworkLike,
    cut_points: Mapping[str, NDArray[np.float64]],
    parents: Mapping[str, Sequence[str]],
) -> dict[str, NDArray[np.float64]]:
    """Return tables over chosen bins by chosen parents, from drawn rows."""
    rows = draws_by_name(network, ROWS_OF_TABLES)
    return {
        name: table_over_cells(network, name, of_name, cut_points, rows) for name, of_name in parents.items()
    }


def table_loss(network: NetworkLike, tables: NetworkLike) -> tuple[float, float]:
    """Return what a network of tables loses against the network that it was compiled from.

    That is the log density in nats that a row drawn from the network loses on average, and the largest surely known
    difference of P(bin of a variable | bin of one that paths lead from), over 24 random ones of such pairs.
    """
    rows = draws_by_name(network, ROWS_OF_TABLES)
    columns = Columns(rows)
    with np.errstate(invalid="ignore"):
        nats = float(np.sum(_mean_terms(network, columns)) - np.sum(_mean_terms(tables, columns)))
    pairs = sorted((other, name) for name in network.names for other in _ancestors(network, name))
    if len(pairs) > _MOST_PAIRS:
        order = np.random.default_rng(0).permutation(len(pairs))[:_MOST_PAIRS]
        pairs = [pairs[k] for k in order.tolist()]
    difference = max((_difference(network, tables, pair, columns) for pair in pairs), default=0.0)
    return nats, difference


def _mean_terms(network: NetworkLike, columns: Columns) -> list[float]:
    """Return the mean of ln p(variable | parents) over rows, by variable."""
    return [float(np.mean(network.families[name].log_density(columns))) for name in network.names]


def _ancestors(network: NetworkLike, name: str) -> set[str]:
    """Return all variables from which a directed path leads to a variable."""
    return reachable({other: network.parents(other) for other in network.names}, network.parents(name))


def _difference(network: NetworkLike, tables: NetworkLike, pair: tuple[str, str], columns: Columns) -> float:
    """Return by how much P(bin of the second | bin of the first) surely differs; 0 if it cannot be computed.

    Of the network it is the mean over drawn rows of the probability given the parents, which separate both.
    """
    from gomea_bn.network.inference.engine import engine_for
    from gomea_bn.network.inference.question import Evidence

    first, second = pair
    cuts = tables.cut_points
    unknown = Evidence(np.full((1, len(tables.names)), -1, np.int32), {})
    positions = [tables.names.index(first), tables.names.index(second)]
    try:
        joint = engine_for(tables, is_single=True).joint(unknown, positions, in_bins=True).tables[0]
    except GomeaBnError:
        return 0.0
    joint = joint.reshape(tables.cardinality(first), tables.cardinality(second))
    values: Any = columns[first]
    codes = values if first in network.levels else bin_codes(values, cuts[first])
    masses = network.families[second].masses(cuts.get(second), columns)
    # tables that know no parent have one row for all
    masses = np.broadcast_to(masses, (len(codes), masses.shape[-1]))
    largest = 0.0
    for code, of_tables in enumerate(joint):
        inside = masses[codes == code]
        # bins with fewer rows say little about the pair
        if len(inside) < 100 or not of_tables.sum() > 0:
            continue
        errors = 2 * inside.std(axis=0) / np.sqrt(len(inside))
        apart = np.abs(inside.mean(axis=0) - of_tables / of_tables.sum()) - errors
        largest = max(largest, float(apart.max()))
    return largest


def new_record(network: NetworkLike, tables: NetworkLike) -> Mapping[str, Any] | None:
    """Return what compiling a network has merged and left out; None if nothing."""
    record = tables.metadata.get(COMPILED)
    # a network of compiled tables keeps its record
    is_new = isinstance(record, Mapping) and record != network.metadata.get(COMPILED)
    return record if is_new else None


def warn_of_loss(network: NetworkLike, tables: NetworkLike) -> None:
    """Warn the caller of an export of what tables lose, if probabilities differ or bins and edges are missing."""
    (lost, difference), record = table_loss(network, tables), new_record(network, tables)
    # largest difference of probabilities that needs no warning
    if difference <= 0.005 and record is None:
        return
    nats = f"{amount(max(lost, 0.0), 3)} nats a row" if isfinite(lost) else "the density of some rows"
    parts = [
        "Other programs get tables over the shown bins, and not the densities that the tables are computed from. "
        f"The tables lose {nats}. Probabilities of a column given another differ by up to "
        f"{difference:.3f}."
    ]
    if record is not None and record["merged"]:
        parts.append(f"For fewer cells bins of {listed(map(shown_name, record['merged']), 8)} are merged.")
    if record is not None and record["left_out"]:
        edges = [f"{shown_name(parent)} → {shown_name(child)}" for parent, child in record["left_out"]]
        parts.append(f"Edges are left out: {listed(edges, 8)}.")
    give_warning(GomeaBnWarning(" ".join(parts), ["ask the network itself where this matters"]))


def chosen_table(
    network: NetworkLike,
    name: str,
    parents: Sequence[str] | None,
    cells: Mapping[str, int | ArrayLike] | None,
    max_cells: int,
) -> pd.DataFrame:
    """Return a table of some parents of a variable over some cells; see `DiscretizedBayesNet.table`."""
    check_integer("max_cells", max_cells, 1)
    of_network = network.parents(name)
    wanted = of_network if parents is None else names_in("parents", parents)
    for parent in wanted:
        if parent not in of_network:
            raise GomeaBnError(
                f"parents must be parents of '{name}', which has {listed(of_network) or 'none'}; got {parent!r:.80}."
                f"{nearest(str(parent), of_network)}"
            )
    chosen = tuple(parent for parent in of_network if parent in wanted)
    cuts, rows = dict(network.cut_points), draws_by_name(network, ROWS_OF_TABLES)
    for other, of_other in mapping_in("cells", cells).items():
        if other not in cuts or other not in (*chosen, name):
            raise GomeaBnError(
                f"cells must name continuous variables of the table of '{name}', got {other!r:.80}."
            )
        cuts[other] = _cuts_of(other, of_other, rows[other], network.support[other])
    labels = {
        other: bin_texts(other, cuts[other], network.support[other])
        if other in cuts
        else tuple(map(str, network.levels[other]))
        for other in (*chosen, name)
    }
    n_cells = prod(map(len, labels.values()))
    if n_cells > max_cells:
        raise GomeaBnError(
            f"The table of '{name}' would have {n_cells:,} cells, more than max_cells, {max_cells:,}. Name fewer "
            "parents or cells."
        )
    is_stored = chosen == of_network and not cells and name in network.stored_tables
    table = network.stored_tables[name] if is_stored else table_over_cells(network, name, chosen, cuts, rows)
    index: Any = None
    if chosen:
        index = pd.MultiIndex.from_product([labels[parent] for parent in chosen], names=chosen)
        index = index.get_level_values(0) if len(chosen) == 1 else index
    columns = pd.Index(labels[name], name=name)
    return pd.DataFrame(table.reshape(-1, table.shape[-1]), index=index, columns=columns)


def _cuts_of(
    name: str, cells: object, drawn: NDArray[np.float64], support: tuple[float, float]
) -> NDArray[np.float64]:
    """Return inner cuts: those that are given, or those between cells of equal probability."""
    if is_integer(cells):
        check_integer(f"cells['{name}']", cells, 1)
        cuts = np.unique(np.quantile(drawn, np.arange(1, int(cells)) / int(cells)))  # type: ignore[call-overload]
        return np.asarray(cuts[(cuts > support[0]) & (cuts < support[1])], np.float64)
    return check_cut_points(cells, name, support)  # type: ignore[arg-type]
