"""One network for a target: left-out rows choose its parents, and the score everything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, Option, Setting
from gomea_bn.learning.averaging.target_fit import TargetRules
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.graph import reachable
from gomea_bn.problems.knowledge import EdgeRules, ExpertKnowledge, edge_rules

MOST_LEVELS = 12
"""Most levels of a target."""


def check_target_of(options: Mapping[str, Any], table: Table, n_searched: int) -> None:
    """Raise `GomeaBnError` if a learner with some options cannot learn a network of a table for its target.

    The target passes `check_target`. The table has more rows than are searched if a sample of it is.
    """
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


def rules_of_target(
    network: DiscretizedBayesNet, rows: Table, target: str, options: Mapping[str, Any]
) -> TargetRules:
    """Return which columns may be parents of a target by the rules of a learner's options.

    Columns that the target leads to in the network are none.
    """
    knowledge = options["knowledge"] or ExpertKnowledge()
    rules, names = _rules(knowledge, rows), rows.names
    v = names.index(target)
    children = {name: network.children(name) for name in names}
    after = reachable(children, [target])
    limits = [options["max_indegree"], knowledge.max_indegree]
    return TargetRules(
        tuple(
            column.name
            for u, column in enumerate(rows.columns)
            if rules.may_lead[u, v] and not column.is_constant and column.name not in after
        ),
        tuple(names[u] for u in np.flatnonzero(rules.required[:, v]).tolist()),
        min([limit for limit in limits if isinstance(limit, int)], default=len(names)),
    )


def _rules(knowledge: ExpertKnowledge, table: Table) -> EdgeRules:
    """Return the rules about edges; limits on parents are no matter of theirs."""
    return edge_rules(replace(knowledge, max_indegree=None), table.names, [1] * len(table.names))
