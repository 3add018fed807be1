"""The score of any graph over the bins of a network, as it was learned or as the user names it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gomea_bn.certainty.parent_sets import OrderSearch, ScoredParentSets, parent_sets
from gomea_bn.data.table import Table
from gomea_bn.errors import (
    GomeaBnError,
    GomeaBnWarning,
    Option,
    Setting,
    check_integer,
    give_warning,
    is_real,
)
from gomea_bn.lazy import pd
from gomea_bn.learning.cut_cycle import RefinementSession
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.graph import topological_order
from gomea_bn.network.recorded import counted_parents
from gomea_bn.network.rows import evidence_for
from gomea_bn.problems.curves import curve_data
from gomea_bn.problems.cuts.blanket import Cuts
from gomea_bn.problems.cuts.cut_column import ScoredVariable
from gomea_bn.problems.family_scorer import FamilyScorer
from gomea_bn.problems.kernels.score import DIRICHLET
from gomea_bn.problems.knowledge import EdgeRules, ExpertKnowledge, edge_rules
from gomea_bn.problems.scores import SCORING_METHODS, recorded_options, score_rule, scoring_method
from gomea_bn.texts import listed


@dataclass(frozen=True)
class GraphScores:
    """Scores of graphs over the variables of a network, with its bins.

    Every variable of the scorer has one policy. `parents` are those of the network, or those in its tables if tables
    alone are scored; edges of variables with a single bin or level, which say nothing, are left out. `rules` forbid
    such edges as well, `knowledge_rules` do not. `session` has codes and shapes of the columns under any bins; it is
    None for a score of tables alone.
    """

    names: tuple[str, ...]
    table: Table
    scorer: FamilyScorer
    rules: EdgeRules
    parents: list[list[int]]
    method_name: str
    knowledge_rules: EdgeRules
    session: RefinementSession | None

    @classmethod
    def of(
        cls,
        network: DiscretizedBayesNet,
        data: pd.DataFrame | Table | str | os.PathLike[str],
        *,
        max_indegree: int,
        knowledge: ExpertKnowledge | None = None,
        scoring_method: str | None = None,
        equivalent_sample_size: float | None = None,
        edge_cost: float | None = None,
        with_curves: bool = True,
    ) -> GraphScores:
        """Return the scores of graphs; parameters and errors are those of `certify` and `edge_probabilities`.

        Families of a network that was learned with curves are scored by tables or by curves, whichever is better, as
        in its search. Without, or under other scores, tables alone count, and a warning says so.
        """
        if not isinstance(network, DiscretizedBayesNet):
            raise GomeaBnError(f"network must be a DiscretizedBayesNet, got {type(network).__name__}.")
        if knowledge is not None and not isinstance(knowledge, ExpertKnowledge):
            raise GomeaBnError(f"knowledge must be an ExpertKnowledge or None, got {knowledge!r}.")
        check_integer("max_indegree", max_indegree, 0)
        table = evidence_for(network, data, allow_empty_bins=True)
        scorer, session = _scorer(
            network, table, scoring_method, equivalent_sample_size, edge_cost, with_curves=with_curves
        )
        has_scored_curves = scorer.has_curves
        cardinality = [network.cardinality(name) for name in network.names]
        knowledge_rules = edge_rules(knowledge, network.names, cardinality, max_indegree=max_indegree)
        rules = _without_constants(knowledge_rules, cardinality)
        if not has_scored_curves:
            _warn_of_curves(network)
        position = {name: v for v, name in enumerate(network.names)}
        parents = [
            [position[parent] for parent in of_name if network.cardinality(parent) > 1]
            if network.cardinality(name) > 1
            else []
            for name, of_name in zip(
                network.names,
                map(network.parents, network.names) if has_scored_curves else counted_parents(network),
                strict=True,
            )
        ]
        return cls(network.names, table, scorer, rules, parents, scorer.method.name, knowledge_rules, session)

    @property
    def has_curves(self) -> bool:
        """Whether families may be scored by curves."""
        return self.scorer.has_curves

    def first_order(self, search: OrderSearch, generator: np.random.Generator | None) -> list[int]:
        """Return the order of the network, or a random one.

        If it allows no graph, it is one in which required parents come before their children.
        """
        if generator is None:
            order = list(topological_order(self.parents, self.names))
        else:
            order = generator.permutation(len(self.names)).tolist()
        if search.score(search.choices(order)) == -np.inf:
            required = [np.flatnonzero(of_child).tolist() for of_child in self.rules.required.T]
            order = list(topological_order(required, self.names))
        return order

    def check_network(self) -> None:
        """Raise `GomeaBnError` if the network breaks a rule, so that no optimum among allowed graphs bounds it."""
        most = max(map(len, self.parents), default=0)
        if most > self.rules.max_indegree:
            name = self.names[max(range(len(self.names)), key=lambda v: len(self.parents[v]))]
            raise GomeaBnError(
                [
                    f"Variable {name!r} of the network has {most} parents, more than ",
                    Option("max_indegree", str(self.rules.max_indegree)),
                    ".",
                ],
                [Setting("max_indegree")],
            )
        edges = [(parent, child) for child, parents in enumerate(self.parents) for parent in parents]
        cardinality = self.scorer.rows.cardinality[self.scorer.view_offset[:-1]].tolist()
        broken = self.rules.violations(self.names, edges, cardinality)
        if broken:
            raise GomeaBnError(f"The network breaks a rule: {broken[0]}.")

    def with_candidates(self, most: int) -> GraphScores:
        """Return the scores of graphs in which every variable has at most `most` candidate parents.

        These are its parents in the network, its required ones, and those whose families score highest without another
        parent that is not required.
        """
        required = self.rules.required
        n_required = required.sum(axis=0)
        single = replace(self.rules, max_indegree=int(n_required.max()) + 1)
        stays = required.copy()
        for child, sets in enumerate(parent_sets(self.scorer, single, prune=False)):
            stays[self.parents[child], child] = True
            # best score first
            for members in sets.members[sets.members.sum(axis=1) == n_required[child] + 1]:
                if stays[:, child].sum() >= most:
                    break
                stays[members, child] = True
        first, second = np.triu_indices(len(self.names), 1)

        def limited(rules: EdgeRules) -> EdgeRules:
            allowed = rules.allowed.copy()
            for code, of_edge in ((1, stays[first, second]), (2, stays[second, first])):
                allowed[first, second, code] &= of_edge
            return replace(rules, allowed=allowed)

        return replace(self, rules=limited(self.rules), knowledge_rules=limited(self.knowledge_rules))

    def with_bins(self, cuts: Cuts) -> GraphScores:
        """Return the scores of graphs over other bins of the continuous variables, under a density score."""
        assert self.session is not None
        scorer = FamilyScorer(self.session.scored_variables(cuts), self.scorer.method, self.scorer.rule)
        cardinality = scorer.rows.cardinality[scorer.view_offset[:-1]].tolist()
        return replace(self, scorer=scorer, rules=_without_constants(self.knowledge_rules, cardinality))

    def parent_sets(self, *, prune: bool, margin: float = 0.0) -> list[ScoredParentSets]:
        """Return the allowed parent sets of every variable; see `parent_sets`."""
        return parent_sets(self.scorer, self.rules, prune=prune, margin=margin)

    def score(self, parents: list[list[int]]) -> float:
        """Return the score of a graph in nats."""
        return self.scorer.graph_score(parents) + self.scorer.constant_score

    def edges(self, parents: list[list[int]]) -> list[tuple[str, str]]:
        """Return the edges (parent, child) of a graph by name."""
        return [(self.names[p], self.names[v]) for v, of_child in enumerate(parents) for p in of_child]


def _without_constants(rules: EdgeRules, cardinality: list[int]) -> EdgeRules:
    """Return rules that forbid edges of variables with a single bin or level unless they require them."""
    is_constant = np.array(cardinality) == 1
    allowed = rules.allowed.copy()
    allowed[(is_constant[:, None] | is_constant[None, :]) & allowed[:, :, 0], 1:] = False
    return replace(rules, allowed=allowed)


def _warn_of_curves(network: DiscretizedBayesNet) -> None:
    """Warn if columns were learned with curves: scores of tables are others than those that chose the graph."""
    record = network.metadata.get("curves")
    names = record if isinstance(record, dict) else {}
    if not names:
        return
    n_counted = sum(map(len, counted_parents(network)))
    without = ""
    if n_counted < len(network.edges):
        without = f" It counts no edge that only curves need ({len(network.edges) - n_counted} here)."
    give_warning(
        GomeaBnWarning(
            [
                f"The graph was learned with curves of {listed([repr(str(name)) for name in names], 5)}, and is judged "
                f"by the score of tables alone here, under which another graph may be best.{without} Learn with ",
                Option("curves", "none"),
                " to judge a graph by the score that chose it.",
            ]
        )
    )


def _scorer(
    network: DiscretizedBayesNet,
    table: Table,
    name: str | None,
    equivalent_sample_size: float | None,
    edge_cost: float | None,
    *,
    with_curves: bool,
) -> tuple[FamilyScorer, RefinementSession | None]:
    """Return the scorer of families of a network's variables under its bins, and what scores other bins."""
    metadata = network.metadata
    recorded = metadata.get("scoring_method")
    if name is None:
        name = "density-bd" if network.cut_points else "bdeu"
        # files may hold any metadata
        if isinstance(recorded, str) and recorded in SCORING_METHODS:
            name = recorded
    shares = {key: metadata[key] for key in ("cut_cost", "edge_cost") if is_real(metadata.get(key))}
    if edge_cost is not None:
        shares["edge_cost"] = edge_cost
    method = scoring_method(name, **shares)
    options: dict[str, Any] = recorded_options(metadata) if name == recorded else {}
    if equivalent_sample_size is not None:
        options["equivalent_sample_size"] = equivalent_sample_size
    rule = score_rule(method, table.n_rows, n_variables=table.n_varying, **options)
    if method.density:
        session = RefinementSession(network, table, name, None, None)
        variables = session.scored_variables(session.network_cuts)
        follows = with_curves and rule.kind == DIRICHLET and network.metadata.get("curves")
        return FamilyScorer(
            variables, method, rule, curves=curve_data(variables) if follows else None
        ), session
    # scores of tables alone: bins count as levels
    codes = network.discretize(table.to_frame())
    variables = [
        ScoredVariable(column, codes[column].to_numpy().astype(np.int32), network.cardinality(column))
        for column in network.names
    ]
    return FamilyScorer(variables, method, rule), None
