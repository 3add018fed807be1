"""Fronts for the tests: of networks with their true objective values, of any values, and slow twins of choices."""

import hashlib
import json
from typing import ClassVar

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from learning_inside import FrontParameters
from mo_oracles import dominates
from network_examples import small_network

from gomea_bn import DiscretizedBayesNet, Front, read_table
from gomea_bn.data.sources import source_table
from gomea_bn.front import COMPLEXITY, EXPERT_DISTANCE, MISFIT, Objective


def small_frame(names=("a", "b", "c", "d"), n=60):
    """Return rows of continuous columns and, last, a discrete column with an unused level."""
    rng = np.random.default_rng(11)
    frame = pd.DataFrame(rng.normal(size=(n, len(names) - 1)), columns=list(names[:-1]))
    frame[names[-1]] = pd.Categorical(rng.choice(["low", "high"], n), ["low", "high", "never"])
    return frame


def network_of(table, rng):
    """Return a network with random edges and bins, its tables counted from the table."""
    order = rng.permutation(len(table.names))
    edges = [
        (table.names[order[i]], table.names[order[j]])
        for j in range(len(order))
        for i in range(j)
        if rng.random() < 0.4
    ]
    cuts = {
        column.name: np.quantile(column.values, np.arange(1, k := int(rng.integers(1, 5))) / k)
        for column in table.columns
        if column.is_continuous
    }
    return DiscretizedBayesNet.from_table(table, edges, cuts)


def example_front(n=30, *, names=("a", "b", "c", "d"), expert=True, seed=5, record=None):
    """Return a front of `n` networks, dominated ones among them, with true misfit and complexity."""
    frame = small_frame(names)
    table = read_table(frame)
    rng = np.random.default_rng(seed)
    networks = [network_of(table, rng) for _ in range(n)]
    values = [[-network.score(frame), network.n_parameters, rng.random() / 3] for network in networks]
    objectives = [MISFIT, COMPLEXITY, EXPERT_DISTANCE]
    return Front(
        objectives if expert else objectives[:2],
        values if expert else [row[:2] for row in values],
        networks,
        table=table,
        expert=network_of(table, rng) if expert else None,
        record={"seed": seed, "data_sha256": "ab" * 32} if record is None else record,
    )


NETWORKS = [small_network(seed) for seed in range(40)]
TRIO = (MISFIT, COMPLEXITY, EXPERT_DISTANCE)


def objectives_of(m):
    return [*TRIO, Objective("cost", "Cost", "euros", "cheaper")][:m]


def front_of(values, **options):
    values = np.asarray(values, dtype=float)
    return Front(objectives_of(values.shape[1]), values, lambda row: NETWORKS[row % len(NETWORKS)], **options)


def spread(n, m, seed):
    """Return n points on a sphere, none of which dominates another."""
    points = np.abs(np.random.default_rng(seed).normal(size=(n, m)))
    return 1 - points / np.linalg.norm(points, axis=1, keepdims=True)


def slow_front(values):
    """Return the positions of rows that no other dominates; of equal rows only the first."""
    rows = [tuple(row) for row in values.tolist()]
    return [
        i
        for i, row in enumerate(rows)
        if not any(dominates(other, row) for other in rows) and row not in rows[:i]
    ]


def matrices(most_rows=12, fewest_columns=1, most_columns=4):
    return st.integers(fewest_columns, most_columns).flatmap(
        lambda m: hnp.arrays(
            np.float64,
            st.tuples(st.integers(1, most_rows), st.just(m)),
            elements=st.integers(0, 12).map(float),
        )
    )


def contents(folder):
    """Return every file below a folder with its bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def edited(change):
    """Return a function that changes front.json."""

    def edit(folder):
        content = json.loads((folder / "front.json").read_text())
        change(content)
        (folder / "front.json").write_text(json.dumps(content))

    return edit


def rewritten(name, content):
    """Return a function that puts other bytes into a file and its digest into front.json."""

    def edit(folder):
        (folder / name).write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        edited(lambda whole: whole["sha256"].update({name: digest}))(folder)

    return edit


class StandIn(FrontParameters):
    """A learner that returns the same front at once and records its parameters."""

    given: ClassVar[dict] = {}
    stop = "max_evaluations"
    most: float | None = None
    seed = 5

    def __init__(self, discretizer="equal-frequency", **parameters):
        super().__init__(discretizer, **parameters)
        type(self).given = {"discretizer": discretizer, **parameters}

    @classmethod
    def _parameter_names(cls):
        return FrontParameters._parameter_names()

    def fit(self, frame, *, checkpoint=None):
        if self.stop == "nothing":
            raise KeyboardInterrupt
        table = source_table(frame, kinds=self.kinds, missing=self.missing, max_levels=self.max_levels)
        whole = example_front(9, seed=self.seed)
        self.front_ = Front(
            whole.objectives,
            whole.values,
            whole.network,
            table=table,
            expert=whole.expert,
            record={
                "seed": 7,
                "data_sha256": "cd",
                "parameters": {"kinds": self.kinds, "missing": self.missing, "max_complexity": self.most},
            },
        )
        self.n_eval_single_ = 100
        self.n_eval_, self.n_generations_, self.fit_seconds_, self.seed_ = 1234, 5, 0.25, 7
        self.stopped_by_, self.statistics_, self.table_ = self.stop, {}, table
        return self


def stand_in_learner(monkeypatch):
    """Return the stand-in that replaces the learner of the command."""
    learner = type("Learner", (StandIn,), {})
    monkeypatch.setattr("gomea_bn.learning.pareto_learner.ParetoBayesNetLearner", learner)
    monkeypatch.setattr("gomea_bn.learning.fronts.search._search_space", lambda *arguments: None)
    monkeypatch.setattr("gomea_bn.learning.warm_up.compile_front_kernels", lambda announce, **_options: 0.5)
    return learner
