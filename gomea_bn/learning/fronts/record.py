"""What a front keeps of its run: the record, and the networks, which are built on demand."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.mogomea import MOGOMEA
from gomea_bn.data.column_summary import column_summary
from gomea_bn.data.table import Table
from gomea_bn.learning.fronts.options import FrontParameters, OwnObjective
from gomea_bn.learning.fronts.search import SearchedFront
from gomea_bn.learning.fronts.search_space import named_edges
from gomea_bn.learning.options import why_unrepeatable
from gomea_bn.learning.search.learned import learned_cut_points, learned_shapes
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.distributions.smoothing import PseudoCount
from gomea_bn.problems.cuts.shape import Shape

__all__ = ["FrontNetworks", "front_record"]


@dataclass(frozen=True)
class FrontNetworks:
    """Networks of the rows of a front, built on demand; unlike a closure it can be pickled."""

    table: Table
    # edges, cut points and shapes by row
    structures: list[tuple[list[tuple[str, str]], dict[str, NDArray[np.float64]], dict[str, Shape]]]
    pseudo_count: PseudoCount
    metadata: dict[str, Any]

    @classmethod
    def of(cls, learner: FrontParameters, searched: SearchedFront, digest: str) -> FrontNetworks:
        """Return the networks of a search over the rows of a table with a digest."""
        problem, result = searched.problem, searched.result
        single = searched.single
        # counts of complete rows do not depend on their order
        rows = single.rows if single is not None and learner.table_.n_missing else learner.table_
        structures = [
            (named_edges(problem, rows, x), learned_cut_points(problem, x), learned_shapes(problem, x))
            for x in result.X
        ]
        origin = {
            "seed": learner.seed_,
            "n_eval": result.n_eval,
            "data_sha256": digest,
            "shape": learner.shape,
        }
        return cls(rows, structures, learner.pseudo_count, origin)

    def __call__(self, row: int) -> DiscretizedBayesNet:
        """Return the network of one row, its tables counted from the table."""
        edges, cuts, shapes = self.structures[row]
        return DiscretizedBayesNet.from_table(
            self.table, edges, cuts, pseudo_count=self.pseudo_count, shapes=shapes, metadata=self.metadata
        )


def front_record(
    learner: FrontParameters,
    searched: SearchedFront,
    objectives: Sequence[str | OwnObjective],
    digest: str,
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
        "columns": column_summary(learner.table_),
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
            "score": single.score,
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
