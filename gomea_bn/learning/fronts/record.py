"""What a front keeps of its run: the record, and the networks, which are built on demand."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.mogomea import MOGOMEA
from gomea_bn.data.columns import Column
from gomea_bn.data.table import Table
from gomea_bn.data.weights import record_of_groups
from gomea_bn.front.objectives import OwnObjective
from gomea_bn.front.store import PooledNetworks, StoredParts, StoredVariable, parts_of
from gomea_bn.learning.averaging.families import average_families
from gomea_bn.learning.fronts.search import SearchedFront, follows_curves
from gomea_bn.learning.options import why_unrepeatable
from gomea_bn.learning.parameters import FrontParameters
from gomea_bn.learning.search.shown_cuts import (
    LearnedNetwork,
    greedy_table_parents,
    learned_cut_points,
    learned_edges,
    learned_shapes,
)
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.conditionals.family_table import counts_content
from gomea_bn.network.formats import json_format
from gomea_bn.network.parts import check_metadata, check_pseudo_count, value_kinds_of
from gomea_bn.network.recorded import CUT_SHORT, FEWER_CELLS
from gomea_bn.network.tables import PseudoCount, family_counts, table_of_counts
from gomea_bn.problems.cuts.policies import bin_codes, equal_frequency_cuts
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.problems.structure import StructureProblem
from gomea_bn.runtime.files import head_of

# most cells of a table in which a column is shown that the search has not cut
_MOST_CELLS = 2**12
# numbers of cuts of a column in smaller tables
_FEWER_CUTS = (3, 2, 1, 0)
Cuts = Mapping[int, NDArray[np.float64]]


def shown_networks(
    problem: StructureProblem, genotypes: NDArray[np.int16], cuts: Cuts
) -> Iterator[LearnedNetwork]:
    """Yield the networks of genotypes (n, l) in order, whose records have at most "curves".

    The bins that a genotype has of a column which only curves need mean nothing. Such a column is shown in the given
    cuts, or without these in halves of the rows, and with fewer bins where tables would be large. The table of a column
    that follows curves has those of its parents that raise its score.
    """
    levels = [_entered(problem, genotypes, of_level) for of_level in _levels(problem, cuts)]
    # networks of a front share most families
    chosen: dict[tuple[Any, ...], tuple[tuple[int, ...], float]] = {}
    for genotype in genotypes:
        yield _shown(problem, genotype, levels, chosen)


def _levels(problem: StructureProblem, cuts: Cuts) -> list[dict[int, NDArray[np.float64]]]:
    """Return cuts of the columns that may be cut, the finest ones first."""
    finest = {}
    for v in problem.priced_variables:
        of_column = cuts.get(v, np.empty(0))
        finest[v] = of_column if len(of_column) else _halves(problem, v)
    return [finest, *({v: _some(of_column, n) for v, of_column in finest.items()} for n in _FEWER_CUTS)]


def _some(cuts: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return at most `n` of some cuts, spread evenly."""
    if len(cuts) <= n:
        return cuts
    return np.asarray(cuts[((np.arange(n) + 0.5) * len(cuts) / max(n, 1)).astype(int)], np.float64)


def _halves(problem: StructureProblem, v: int) -> NDArray[np.float64]:
    """Return the cut of a column into halves of the rows, none if the limits of bins forbid it."""
    values, pricing = problem.values(v), problem.pricing
    cuts = equal_frequency_cuts(values, 2)
    if pricing is None or not len(cuts):
        return cuts
    limits, n_below = pricing.limits, int((values <= cuts[0]).sum())
    narrowest = min(cuts[0] - values.min(), values.max() - cuts[0])
    is_allowed = (
        (limits.max_bins or 2) > 1
        and min(n_below, len(values) - n_below) >= limits.min_bin_count
        and narrowest >= limits.min_width * np.ptp(values)
    )
    return cuts if is_allowed else np.empty(0)


def _entered(
    problem: StructureProblem, genotypes: NDArray[np.int16], cuts: Mapping[int, NDArray[np.float64]]
) -> dict[int, int]:
    """Return the indices of cuts, which enter the libraries; policies of the genotypes stay in them."""
    in_use = np.array([problem.policy_indices(genotype) for genotype in genotypes])
    return {v: problem.enter_between_runs(v, c, in_use[:, v].tolist()) for v, c in cuts.items()}


def _shown(
    problem: StructureProblem,
    genotype: NDArray[np.int16],
    levels: list[dict[int, int]],
    chosen: dict[tuple[Any, ...], tuple[tuple[int, ...], float]],
) -> LearnedNetwork:
    """Return the network of a genotype, with parents in tables that are `chosen`; others enter these."""
    scorer = problem.scorer
    names = [variable.name for variable in scorer.variables]
    follows = problem.follows_curves(genotype)
    edges = learned_edges(problem, genotype, follows)
    searched = problem.policy_indices(genotype)
    parents: list[list[int]] = [[] for _ in names]
    for parent, child in edges:
        parents[child].append(parent)
    families = [{child, *parents[child]} for child in range(len(names))]
    in_curves = set().union(*(families[child] for child in np.flatnonzero(follows).tolist()))
    in_tables = set().union(
        *(f for f, is_curve in zip(families, follows, strict=True) if len(f) > 1 and not is_curve)
    )
    for level in levels:
        policies = searched.copy()
        for v in (in_curves - in_tables) & set(level):
            policies[v] = level[v]
        cards = scorer.rows.cardinality[scorer.view_offset[:-1] + policies]
        cells = max(prod(float(cards[m]) for m in (v, *of_v)) for v, of_v in enumerate(parents))
        if cells <= _MOST_CELLS:
            break
    shown = problem.genotype(edges, policies.tolist())
    curves: dict[str, dict[str, Any]] = {}
    # the search has them in its cache
    searched_families = problem.families(genotype) if follows.any() else []
    scores, of_tables = scorer.score(searched_families), scorer.table_scores(searched_families)
    for child in np.flatnonzero(follows).tolist():
        key = tuple((v, int(policies[v])) for v in (child, *parents[child]))
        if key not in chosen:
            chosen[key] = greedy_table_parents(
                scorer, scorer.table_scores, child, parents[child], policies.tolist(), _MOST_CELLS
            )
        of_table, score = chosen[key]
        curves[names[child]] = {
            "nats": max(float(scores[child]) - score, 0.0),
            "table_parents": [names[parent] for parent in of_table],
        }
        if scores[child] < of_tables[child]:
            curves[names[child]][FEWER_CELLS] = True
    return LearnedNetwork(
        edges,
        learned_cut_points(problem, shown),
        learned_shapes(problem, shown),
        {"curves": curves} if curves else {},
    )


@dataclass(frozen=True)
class FrontNetworks(PooledNetworks):
    """Networks of the rows of a front, whose families are counted on demand; unlike a closure it can be pickled."""

    # without missing values, its columns in the order of the search
    table: Table
    # of the variables in the order of the networks
    names: tuple[str, ...]
    # by row, or the whole network if its target follows a logit
    structures: list[LearnedNetwork | DiscretizedBayesNet]
    pseudo_count: PseudoCount
    metadata: dict[str, Any]
    # whether networks that are built learn conditionals from the table
    has_conditionals: bool = False
    # networks of a front share most families
    families: dict[tuple[Any, ...], StoredVariable] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, learner: FrontParameters, searched: SearchedFront, digest: str) -> FrontNetworks:
        """Return the networks of a search over the rows of a table with a digest."""
        problem, result = searched.problem, searched.result
        single = searched.single
        # counts of complete rows do not depend on their order
        rows = single.rows if single is not None and learner.table_.n_missing else learner.table_
        rows = rows.in_order([variable.name for variable in problem.scorer.variables])
        names = learner.table_.names
        origin = {
            "seed": learner.seed_,
            "n_eval": result.n_eval,
            "data_sha256": digest,
            "shape": learner.shape,
        }
        if searched.cut_short:
            origin[CUT_SHORT] = list(searched.cut_short)
        if learner.table_.groups is not None:
            origin["groups"] = record_of_groups(learner.table_)
        elif (given := learner.table_.all_rows) is not None:
            origin["weights"] = {"rows": given.table.n_rows, "searched": learner.table_.n_rows}

        found = [member for member in searched.members if isinstance(member, int)]
        shown = shown_networks(problem, result.X[found], {} if single is None else single.cuts)
        structures = [
            next(shown)
            if isinstance(member, int)
            else member.network.in_order(names).changed(metadata=origin)
            for member in searched.members
        ]
        return cls(rows, names, structures, learner.pseudo_count, origin, follows_curves(learner))

    def __call__(self, row: int) -> DiscretizedBayesNet:
        """Return the network of a row, counted from 0, with the conditionals of a fit if it has them."""
        network = super().__call__(row)
        if not self.has_conditionals:
            return network
        return average_families(network, self._rows, random_state=self.metadata["seed"])

    @cached_property
    def _rows(self) -> Table:
        """The table with its columns in the order of the networks: one object, of which much is computed once."""
        return self.table.in_order(self.names)

    @cached_property
    def _head(self) -> dict[str, Any]:
        """Head of every network without curves."""
        return {
            **head_of(json_format.FORMAT),
            "pseudo_count": check_pseudo_count(self.pseudo_count) or 0.0,
            "metadata": json.loads(check_metadata(self.metadata)),
        }

    @cached_property
    def _columns(self) -> dict[str, tuple[Column, dict[str, Any]]]:
        """Columns, and their entries without cut points and parents, by name."""
        columns = {column.name: column for column in self.table.columns}
        kinds = value_kinds_of(columns)
        entries: dict[str, tuple[Column, dict[str, Any]]] = {}
        for name, column in columns.items():
            entry: dict[str, Any] = {"name": name}
            if column.levels is None:
                observed = column.observed
                entry |= {"kind": "continuous", "support": [float(observed.min()), float(observed.max())]}
            else:
                entry |= {"kind": "discrete", "levels": list(column.levels)}
            if name in kinds:
                entry["values"] = kinds[name].to_content()
            entries[name] = column, entry
        return entries

    def parts(self, row: int) -> StoredParts:
        """Return the parts of the network of one row, its tables counted from the table."""
        structure = self.structures[row]
        if isinstance(structure, DiscretizedBayesNet):
            return parts_of(structure)
        cuts, shapes = structure.cuts, structure.shapes
        searched = self.table.names
        parents: dict[str, list[str]] = {name: [] for name in searched}
        for parent, child in sorted(structure.edges):
            parents[searched[child]].append(searched[parent])
        texts = {name: of_column.tobytes() for name, of_column in cuts.items()}
        variables = []
        for name in self.names:
            members = (*parents[name], name)
            key = (members, *(texts.get(member) for member in members), name in shapes)
            if key not in self.families:
                self.families[key] = self._counted(members, cuts, shapes.get(name))
            variables.append(self.families[key])
        head = self._head
        if structure.record:
            head = {**head, "metadata": {**head["metadata"], **structure.record}}
        return StoredParts(head, tuple(variables), self.has_conditionals)

    def _counted(
        self, members: Sequence[str], cuts: Mapping[str, NDArray[np.float64]], shape: Shape | None
    ) -> StoredVariable:
        """Return the last of some variables, whose parents are the others."""
        name = members[-1]
        last = len(members) - 1
        axes = sorted(range(last), key=lambda axis: self.names.index(members[axis]))
        entry = {**self._columns[name][1], "parents": [members[axis] for axis in axes]}
        if name in cuts:
            entry["cut_points"] = cuts[name].tolist()
        if shape is not None:
            entry["shape"] = shape.to_content()
        codes, cards = [], []
        for member in members:
            column = self._columns[member][0]
            if column.levels is None:
                codes.append(bin_codes(column.values, cuts[member]))
                cards.append(len(cuts[member]) + 1)
            else:
                codes.append(column.values)
                cards.append(len(column.levels))
        counts = family_counts(codes, range(last), last, cards, name)
        table = table_of_counts(counts, self._head["pseudo_count"]).transpose([*axes, last])
        table.flags.writeable = False
        entry |= {"counts": counts_content(counts.transpose([*axes, last]))}
        return StoredVariable(entry, table)


def front_record(
    learner: FrontParameters, searched: SearchedFront, objectives: Sequence[str | OwnObjective], digest: str
) -> dict[str, Any]:
    """Return the record of a fitted learner's run over a table with a digest, in plain values."""
    from gomea_bn.runtime.environment import environment

    algorithm = learner.algorithm or MOGOMEA()
    options = {field.name: getattr(algorithm, field.name) for field in fields(algorithm)}
    plain = (str, int, float, bool, type(None))
    record = {
        "seed": learner.seed_,
        "data_sha256": digest,
        "n_rows": learner.table_.n_rows,
        "dropped_rows": list(learner.table_.dropped_rows),
        "parameters": _parameters(learner, searched, objectives),
        "reading": learner.table_.reading.given,
        "algorithm": {k: v if isinstance(v, plain) else repr(v) for k, v in options.items()},
        **environment(),
        "counts": {
            "n_eval": learner.n_eval_,
            "n_eval_full": learner.n_eval_full_,
            "n_generations": learner.n_generations_,
            "n_candidate_pairs": learner.n_candidate_pairs_,
            **learner.statistics_,
        },
        "seconds": {"search": learner.fit_seconds_, "to_last_change": learner.time_to_best_},
        "stopped_by": learner.stopped_by_,
        "repeat": None
        if why_unrepeatable(learner)
        else {
            "random_state": learner.seed_,
            "max_evaluations": learner.n_eval_,
            "single_evaluations": searched.n_eval_single,
            "max_seconds": None,
        },
    }
    if (single := searched.single) is not None:
        record["single_network"] = {
            "id": searched.position,
            "score": -float(single.result.F[0]),
            "n_eval": single.result.n_eval,
            "seconds": single.result.exec_time,
        }
    return record


def _parameters(
    learner: FrontParameters, searched: SearchedFront, objectives: Sequence[str | OwnObjective]
) -> dict[str, Any]:
    """Return the parameters of the run in plain values, with the limit on free parameters that it had."""
    from gomea_bn.learning.run_folder import plain_parameters

    parameters = plain_parameters(learner)
    parameters["objectives"] = [o if isinstance(o, str) else o.name for o in objectives]
    parameters["expert"] = (
        os.fspath(learner.expert)
        if isinstance(learner.expert, (str, os.PathLike))
        else learner.expert is not None
    )
    parameters["max_complexity"] = min(searched.problem.front_rules.max_parameters, 1e300)
    for name in ("cut_points", "kinds"):
        by_name = parameters[name]
        parameters[name] = None if by_name is None else {k: _plain(v) for k, v in by_name.items()}
    return parameters


def _plain(value: Any) -> Any:
    """Return the value of an option in a form that JSON can hold."""
    if isinstance(value, str):
        return value
    return [float(number) for number in value]
