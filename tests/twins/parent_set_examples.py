"""Small tables of parent sets, and slow searches over orders of the variables."""

import numpy as np
from option_examples import table_problem
from oracles import make_problem

from gomea_bn.problems import ParentLibraries, ScoredVariable
from gomea_bn.problems.kernels.insertion import OrderWork, ParentSetTable
from gomea_bn.problems.parents import Parents
from gomea_bn.problems.structure import ParentPricer

NEVER = np.zeros(1, np.uint8)
DEPTHS = (0, 1, 1_000)


def problem_of(frame, **options):
    """Return the problem of a discrete table under BDeu(1)."""
    return table_problem(frame, scoring_method="bdeu", equivalent_sample_size=1.0, **options)


def pricer_of(problem):
    return ParentPricer(problem, ParentLibraries(problem.scorer, problem.edge_rules, problem.pairs), NEVER)


def score_of(problem, genotype):
    return float(problem.scorer.score(problem.families(genotype)).sum())


def empty(problem):
    return np.zeros(problem.n_variables, np.int16)


def slow_choice(table, order):
    """Return the best set of every variable among those without later variables."""
    before, chosen = 0, {}
    for v in order:
        sets = range(int(table.starts[v]), int(table.starts[v + 1]))
        chosen[v] = next(k for k in sets if int(table.members[k, 0]) & ~before == 0)
        before |= 1 << v
    return chosen


def slow_score(table, order):
    return sum(table.scores[k] for k in slow_choice(table, order).values())


def work_of(order, n_words=1):
    n = len(order)
    return OrderWork(
        order=np.array(order, np.int64),
        chosen=np.zeros(n, np.int64),
        visits=np.zeros(n, np.int64),
        is_changed=np.zeros(n, np.uint8),
        previous=np.zeros(n, np.int64),
        before=np.zeros(n_words, np.uint64),
        reached=np.zeros(n_words, np.uint64),
        stop=NEVER,
        n_scans=np.zeros(1, np.int64),
    )


def random_table(seed, n=6, n_sets=12):
    """Return random parent sets with random scores; every variable has the empty set."""
    rng = np.random.default_rng(seed)
    members, scores, starts = [], [], [0]
    for v in range(n):
        words = rng.integers(0, 1 << n, n_sets) & ~(1 << v)
        words[0] = 0
        members.append(words)
        scores.append(np.sort(rng.normal(size=n_sets))[::-1])
        starts.append(starts[-1] + n_sets)
        # the empty set comes last
        members[-1] = np.roll(members[-1], -1)
    return table_of(
        np.concatenate(members).astype(np.uint64)[:, None], np.concatenate(scores), np.array(starts)
    )


def table_of(members, scores, starts):
    """Return parent sets as kernels take them, (n_sets, 1), (n_sets,) and (N + 1,)."""
    n = len(starts) - 1
    with_member, member_starts = [], np.zeros((n, n + 1), np.int64)
    for v in range(n):
        sets = members[starts[v] : starts[v + 1], 0].tolist()
        for u in range(n):
            member_starts[v, u] = len(with_member)
            with_member += [k for k, of_set in enumerate(sets) if of_set >> u & 1]
        member_starts[v, n] = len(with_member)
    return ParentSetTable(
        members, scores, np.array(starts, np.int64), np.array(with_member, np.int32), member_starts
    )


def slow_chain(first, sets, ranked, depth=0):
    """Return the variables that come up to `first` in an order where it has the best set of its library."""
    order: list[int] = []
    # variables on the path from `first`, each with its parents that are still to be visited
    path = {first: iter(ranked[first][0])}
    reached = {first}
    while path:
        v, parents = next(reversed(path.items()))
        parent = next((p for p in parents if p not in reached), None)
        if parent is None:
            order.append(v)
            del path[v]
            continue
        chosen: Parents | None = sets[parent]
        if len(path) <= depth or not path.keys().isdisjoint(sets[parent]):
            chosen = next((s for s in ranked[parent] if path.keys().isdisjoint(s)), None)
        if chosen is None:
            return []
        reached.add(parent)
        path[parent] = iter(chosen)
    return order


def halves_problem():
    """Return a problem in which two columns decide a third one, and cannot be distinguished given it."""
    rng = np.random.default_rng(3)
    a, b, d, f = rng.integers(0, 4, (4, 900))
    c = (a + b) // 2
    columns = [a, b, c, d, (c + d) // 2, f]
    return make_problem([ScoredVariable(f"v{i}", c.astype(np.int32), 4) for i, c in enumerate(columns)])
