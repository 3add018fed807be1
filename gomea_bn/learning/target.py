"""One network for a target: left-out rows choose its parents, and the score everything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.content_order import in_column_order, in_row_order
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, Option, Setting
from gomea_bn.learning.fronts.search import check_target
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.recorded import TARGET, fixed_columns
from gomea_bn.problems.cuts.policies import equal_frequency_cuts
from gomea_bn.problems.knowledge import EdgeRules, ExpertKnowledge, edge_rules

if TYPE_CHECKING:
    from gomea_bn.learning.averaging.target_fit import ChosenParents

MOST_LEVELS = 12
"""Most levels of a target."""
# bins of a parent without cuts, which a reader of tables sees
_BINS_OF_PARENT = 3


def check_target_of(options: Mapping[str, Any], table: Table, n_searched: int) -> None:
    """Raise `GomeaBnError` if a learner with some options cannot learn a network of a table for its target.

    The table has more rows than are searched if a sample of it is.
    """
    check_target(options["target"], table)
    if (error := why_no_target(options, table, n_searched)) is not None:
        raise error


def why_no_target(options: Mapping[str, Any], table: Table, n_searched: int) -> GomeaBnError | None:
    """Return why left-out rows cannot choose the parents of a column, the target of some options; None if they can."""
    target = options["target"]
    column = table.columns[table.names.index(target)]
    if column.levels is not None and len(column.levels) > MOST_LEVELS:
        text = f" must have at most {MOST_LEVELS} levels, got {len(column.levels)} of {target!r}."
        return GomeaBnError([Option("target"), text], ["merge rare levels"])
    if options["density"] != "averaged" or options["line"] == "none":
        needed = " needs a density of effects, since no table can hold all parents of a target."
        return GomeaBnError([Option("target"), needed], ["leave out density"])
    if table.n_rows > n_searched:
        text = (
            f" needs all rows in the search, got {table.n_rows:,} rows of which {n_searched:,} are searched."
        )
        return GomeaBnError([Option("target"), text], [Setting("sample_rows", str(table.n_rows))])
    return None


def knowledge_around(knowledge: ExpertKnowledge | None, table: Table, target: str) -> ExpertKnowledge:
    """Return the knowledge for the search of a network whose target gets its parents afterwards.

    No columns but those that are required lead to the target. It leads to those alone that may not lead to it, and
    these lead to no others, which may become its parents.
    """
    knowledge = knowledge or ExpertKnowledge()
    rules, names = _rules(knowledge, table), table.names
    v = names.index(target)
    before = rules.may_lead[:, v]
    forbidden = np.zeros((len(names), len(names)), np.bool_)
    forbidden[:, v] = True
    forbidden[v] = before
    forbidden[np.ix_(rules.may_lead[v] & ~before, before)] = True
    forbidden[v, v] = False
    added = [(names[i], names[j]) for i, j in np.argwhere(forbidden & ~rules.required).tolist()]
    forbidden_edges = dict.fromkeys([*knowledge.forbidden_edges, *added])
    return replace(knowledge, forbidden_edges=tuple(forbidden_edges))


def with_parents_of_target(
    network: DiscretizedBayesNet, rows: Table, target: str, options: Mapping[str, Any], seed: int
) -> DiscretizedBayesNet:
    """Return a network whose target has the parents that left-out rows need, within the rules of a learner's options.

    Columns that the target leads to in the network are no parents. Missing cells are filled from the network, and count
    nothing. The metadata have the "target", and the nats that every parent adds for left-out rows ("parents").
    """
    knowledge = options["knowledge"] or ExpertKnowledge()
    rules = _rules(knowledge, rows)
    v, names = rows.names.index(target), rows.names
    required = [names[u] for u in np.flatnonzero(rules.required[:, v]).tolist()]
    after = _descendants(network, target)
    may_enter = [
        column.name
        for u, column in enumerate(rows.columns)
        if rules.may_lead[u, v] and not column.is_constant and column.name not in after
    ]
    limits = [options["max_indegree"], knowledge.max_indegree]
    most = min([limit for limit in limits if isinstance(limit, int)], default=len(names))
    chosen = _chosen(network, rows, target, may_enter, required, most, seed)
    metadata = dict(network.metadata)
    metadata[TARGET] = target
    metadata["curves"] = {
        **metadata.get("curves", {}),
        target: {"nats": sum(gain for _, gain in chosen.gains), "table_parents": []},
    }
    metadata["parents"] = {**metadata.get("parents", {}), target: [list(entry) for entry in chosen.gains]}
    with_target = DiscretizedBayesNet.from_table(
        rows,
        [*(edge for edge in network.edges if edge[1] != target), *((name, target) for name in chosen.names)],
        _cuts(network, rows, chosen.names),
        pseudo_count="auto" if network.pseudo_count is None else network.pseudo_count,
        shapes=network.shapes,
        metadata=metadata,
    )
    if network.conditionals is None:
        return with_target
    return with_target.changed(conditionals=network.conditionals)


def _rules(knowledge: ExpertKnowledge, table: Table) -> EdgeRules:
    """Return the rules about edges; limits on parents are no matter of theirs."""
    return edge_rules(replace(knowledge, max_indegree=None), table.names, [1] * len(table.names))


def _descendants(network: DiscretizedBayesNet, target: str) -> set[str]:
    """Return the columns that directed paths lead to from a target."""
    found, waiting = set(), [target]
    while waiting:
        for child in network.children(waiting.pop()):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


def _chosen(
    network: DiscretizedBayesNet,
    rows: Table,
    target: str,
    may_enter: list[str],
    required: list[str],
    most: int,
    seed: int,
) -> ChosenParents:
    """Return the parents of a target, whatever the order of rows and columns."""
    from gomea_bn.learning.averaging.families import Averaging
    from gomea_bn.network.inference.completion import completed_table

    rows = in_row_order(in_column_order(rows))
    ordered = network.in_order(rows.names)
    known: dict[str, NDArray[np.bool_]] = {column.name: ~column.is_missing for column in rows.columns}
    complete = completed_table(ordered, rows, np.random.default_rng(seed))
    if complete is not rows:
        complete = replace(
            rows,
            columns=tuple(complete.columns[complete.names.index(name)] for name in rows.names),
        )
    averaging = Averaging(ordered.of_tables(), complete)
    return averaging.parents_of_target(target, known, may_enter, required, most)


def _cuts(network: DiscretizedBayesNet, rows: Table, parents: list[str]) -> dict[str, NDArray[np.float64]]:
    """Return the cuts of a network, and thirds of the rows for parents without cuts, unless a user has fixed them."""
    cuts = network.cut_points
    for name in parents:
        if name in cuts and not len(cuts[name]) and name not in fixed_columns(network):
            cuts[name] = equal_frequency_cuts(rows.columns[rows.names.index(name)].observed, _BINS_OF_PARENT)
    return cuts
