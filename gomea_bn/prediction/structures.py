"""Structures of networks that predict one column: rules about its edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gomea_bn.data.table import Table
from gomea_bn.problems.knowledge import ExpertKnowledge

AUTO = "auto"
STRUCTURES = ("free", "root", "augmented", "tree", "naive", "leaf")
"""Rules about the edges of the target; `BayesNetClassifier` describes them."""

_EVALUATIONS_OF_CUTS = 100


def structured(options: Mapping[str, Any], table: Table, target: str, structure: str) -> dict[str, Any]:
    """Return the options of a learner whose knowledge also has the rules of one of `STRUCTURES`.

    Columns that are constant get no rules.
    """
    knowledge = options["knowledge"] or ExpertKnowledge()
    others = [column.name for column in table.columns if column.name != target and not column.is_constant]
    away, towards = [(target, name) for name in others], [(name, target) for name in others]
    if structure in ("augmented", "tree", "naive"):
        required = dict.fromkeys([*knowledge.required_edges, *away])
        knowledge = replace(knowledge, required_edges=tuple(required))
        if structure != "augmented":
            most, given = {"naive": 1, "tree": 2}[structure], options["max_indegree"]
            options = {**options, "max_indegree": min(most, given) if isinstance(given, int) else most}
        if structure == "naive":
            # cuts alone are left to find, and the first evaluations find the best ones
            limit = options["max_evaluations"] or _EVALUATIONS_OF_CUTS
            options = {**options, "max_evaluations": min(limit, _EVALUATIONS_OF_CUTS)}
    elif structure != "free":
        forbidden = dict.fromkeys([*knowledge.forbidden_edges, *(towards if structure == "root" else away)])
        knowledge = replace(knowledge, forbidden_edges=tuple(forbidden))
    return {**options, "knowledge": knowledge}
