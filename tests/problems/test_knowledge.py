"""Hard rules: contradictions are refused by name, and nothing that is learned breaks one."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import (
    broken_rules,
    cardinalities,
    make_problem,
    random_knowledge,
    random_variables,
    slow_violations,
)
from processor_time import at_most

from gomea_bn import GOMEA, ExpertKnowledge, GomeaBnError
from gomea_bn.problems import edge_rules
from gomea_bn.runtime import Limits

NAMES = ["age", "smoker", "cough", "x-ray"]
FEWEST = [2, 2, 3, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"required_edges": [("age", "cough")], "forbidden_edges": [("age", "cough")]},
            "The edge 'age' -> 'cough' is both required and forbidden",
        ),
        (
            {"required_edges": [("cough", "age")], "temporal_order": [["age"], ["smoker", "cough"]]},
            "required_edges: 'cough' -> 'age' runs against temporal_order",
        ),
        (
            {"required_edges": [("age", "cough"), ("cough", "age")]},
            "required_edges: (age -> cough -> age|cough -> age -> cough) is a cycle",
        ),
        (
            {"required_edges": [("x-ray", "age"), ("age", "smoker"), ("smoker", "cough"), ("cough", "age")]},
            "required_edges: (age -> smoker -> cough -> age|smoker -> cough -> age -> smoker"
            "|cough -> age -> smoker -> cough)",
        ),
        (
            {"required_edges": [("age", "x-ray"), ("smoker", "x-ray")], "max_indegree": 1},
            "required_edges: 'x-ray' gets 2 parents, but max_indegree is 1",
        ),
        (
            {"required_edges": [("age", "x-ray"), ("smoker", "x-ray")], "max_table_cells": 15},
            "The table of 'x-ray' needs at least 16 cells with its required parents, but max_table_cells is 15",
        ),
        ({"max_table_cells": 3}, "The table of 'x-ray' needs at least 4 cells"),
        (
            {"required_edges": [("smokes", "age")]},
            "required_edges: unknown column 'smokes'. Did you mean 'smoker'?",
        ),
        (
            {"forbidden_edges": [("age", "ztop")]},
            "forbidden_edges: unknown column 'ztop'. The columns are 'age', 'smoker'",
        ),
        (
            {"temporal_order": [["age"], ["coug"]]},
            "temporal_order: unknown column 'coug'. Did you mean 'cough'?",
        ),
    ],
)
def test_contradictions_name_the_culprit(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GomeaBnError, match=message.replace("?", r"\?")):
        edge_rules(ExpertKnowledge(**options), NAMES, FEWEST)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"required_edges": [("age", "age")]}, "required_edges: 'age' -> 'age' joins a column with itself"),
        ({"forbidden_edges": ["ab"]}, r"forbidden_edges must be \(parent, child\) pairs of names, got 'ab'"),
        ({"required_edges": [("a", "b", "c")]}, r"required_edges must be .* got \('a', 'b', 'c'\)"),
        ({"temporal_order": ["age", "cough"]}, "temporal_order must be a sequence of tiers"),
        ({"temporal_order": [["age", "cough"], ["age"]]}, "temporal_order: duplicate 'age'."),
        ({"max_indegree": -1}, "max_indegree must be an integer of at least 0 or None, got -1"),
        ({"max_indegree": 1.5}, "max_indegree must be an integer of at least 0 or None, got 1.5"),
        ({"max_indegree": True}, "max_indegree must be an integer of at least 0 or None, got True"),
        ({"max_table_cells": 1}, "max_table_cells must be an integer from 2 to 134217728, got 1"),
        ({"max_table_cells": 2**41}, "max_table_cells must be an integer"),
    ],
)
def test_rules_that_mean_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        ExpertKnowledge(**options)


def test_a_second_limit_on_parents_may_contradict_too() -> None:
    knowledge = ExpertKnowledge([("age", "x-ray"), ("smoker", "x-ray")], max_indegree=3)
    assert edge_rules(knowledge, NAMES, FEWEST, max_indegree=2).max_indegree == 2
    with pytest.raises(GomeaBnError, match="required_edges: 'x-ray' gets 2 parents, but max_indegree is 1"):
        edge_rules(knowledge, NAMES, FEWEST, max_indegree=1)
    assert edge_rules(None, NAMES, FEWEST).max_indegree == 3
    assert edge_rules(None, NAMES[:1], FEWEST[:1]).max_indegree == 0


def test_many_required_edges_are_checked_quickly() -> None:
    names = [f"v{i}" for i in range(60)]
    required = list(itertools.combinations(names, 2))
    with at_most(5):
        edge_rules(ExpertKnowledge(required, max_table_cells=134217728), names, [1] * 60)
    with pytest.raises(GomeaBnError, match=r"required_edges: v.* is a cycle"):
        edge_rules(ExpertKnowledge([*required, ("v59", "v0")], max_table_cells=134217728), names, [1] * 60)


def test_lists_and_generators_of_rules_are_kept_as_tuples() -> None:
    required: Any = (edge for edge in [["a", "b"]])
    knowledge = ExpertKnowledge(required, [("b", "a")], [["a"], ["b"]])
    assert knowledge.required_edges == (("a", "b"),)
    assert knowledge.temporal_order == (("a",), ("b",))
    assert knowledge == ExpertKnowledge([("a", "b")], (("b", "a"),), (("a",), ("b",)))


def test_allowed_alleles_follow_the_rules() -> None:
    knowledge = ExpertKnowledge(
        required_edges=[("cough", "age")],
        forbidden_edges=[("age", "smoker")],
        temporal_order=[["cough", "smoker"], ["x-ray"]],
    )
    allowed = edge_rules(knowledge, NAMES, FEWEST).allowed
    alleles = {(i, j): np.flatnonzero(allowed[i, j]).tolist() for i, j in itertools.combinations(range(4), 2)}
    assert alleles == {
        (0, 1): [0, 2],
        (0, 2): [2],
        (0, 3): [0, 1, 2],  # age is in no tier
        (1, 2): [0, 1, 2],  # within a tier both directions
        (1, 3): [0, 1],
        (2, 3): [0, 1],
    }


@settings(max_examples=80)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_broken_rules_are_reported(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(n)]
    knowledge = random_knowledge(rng, n)
    rules = edge_rules(knowledge, names, [2] * n)
    order = rng.permutation(n)
    arcs = [(int(order[a]), int(order[b])) for a in range(n) for b in range(a + 1, n) if rng.random() < 0.6]
    cards = rng.integers(2, 6, n).tolist()
    reported = rules.violations(names, arcs, cards)
    assert bool(reported) == bool(slow_violations(knowledge, names, arcs, cards))


def test_reports_name_the_variables() -> None:
    knowledge = ExpertKnowledge(
        required_edges=[("age", "cough")],
        forbidden_edges=[("smoker", "age")],
        max_indegree=1,
        max_table_cells=12,
    )
    rules = edge_rules(knowledge, NAMES, [2] * 4)
    text = "; ".join(rules.violations(NAMES, [(1, 0), (1, 3), (0, 3)], [2, 5, 2, 2]))
    assert "between 'age' and 'cough': no edge is not allowed" in text
    assert "between 'age' and 'smoker': smoker -> age is not allowed" in text
    assert "'x-ray' has 2 parents, more than 1" in text
    assert "the table of 'x-ray' has 20 cells" in text
    assert rules.violations(NAMES, [(0, 2), (2, 1)], [2, 5, 2, 2]) == []


def test_a_table_may_be_as_large_as_its_limit() -> None:
    rules = edge_rules(ExpertKnowledge(max_table_cells=12), NAMES, [2] * 4)
    assert rules.violations(NAMES, [(0, 1)], [4, 3, 2, 2]) == []
    (broken,) = rules.violations(NAMES, [(0, 1)], [4, 4, 2, 2])
    assert "16 cells" in broken


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.sampled_from(["tree", "univariate"]))
def test_whatever_is_learned_honours_the_knowledge(seed: int, n: int, linkage: str) -> None:
    rng = np.random.default_rng(seed)
    variables = random_variables(rng, 60, "".join(rng.choice(list("ccd"), n)), max_bins=8)
    knowledge = random_knowledge(rng, n)
    problem = make_problem(variables, knowledge=knowledge, initial_indegree=3.0)
    for evaluations in (1, 2, 700):
        result = GOMEA(linkage=linkage).run(problem, Limits(max_evaluations=evaluations), random_state=seed)
        assert broken_rules(problem, result.X, knowledge) == []


def test_rules_against_the_data_are_kept_all_the_same() -> None:
    rng = np.random.default_rng(0)
    variables = random_variables(rng, 300, "cccdd")
    free = make_problem(variables)
    best = GOMEA().run(free, Limits(max_evaluations=5000), random_state=0)
    edges = free.edges(best.X)
    assert len(edges) > 3
    both = [(f"v{i}", f"v{j}") for i, j in edges] + [(f"v{j}", f"v{i}") for i, j in edges]
    absent = [
        pair for pair in itertools.combinations(range(5), 2) if pair not in edges and pair[::-1] not in edges
    ]
    required = [(f"v{i}", f"v{j}") for i, j in absent]
    knowledge = ExpertKnowledge(required, both, max_table_cells=40)
    bound = make_problem(variables, knowledge=knowledge)
    result = GOMEA().run(bound, Limits(max_evaluations=5000), random_state=0)
    assert bound.edges(result.X) == absent
    assert max(cardinalities(bound, result.X)) <= 40
    assert result.F[0] > best.F[0]


def test_the_best_network_within_the_rules_is_found() -> None:
    rng = np.random.default_rng(1)
    variables = random_variables(rng, 300, "ccdd")
    for knowledge in (
        ExpertKnowledge(max_indegree=1),
        ExpertKnowledge(max_table_cells=8),
        ExpertKnowledge(temporal_order=[["v3"], ["v2", "v1"], ["v0"]]),
    ):
        problem = make_problem(variables, knowledge=knowledge)
        scores = {
            round(float(GOMEA().run(problem, Limits(max_evaluations=8000), random_state=seed).F[0]), 6)
            for seed in range(5)
        }
        assert len(scores) == 1


def _rules_on_three(kinds: tuple[int, ...]) -> ExpertKnowledge:
    """Return knowledge in which each of the six directed pairs of three columns is free, required or forbidden."""
    pairs = [(a, b) for a, b in itertools.permutations(NAMES[:3], 2)]
    return ExpertKnowledge(
        required_edges=[pair for pair, kind in zip(pairs, kinds, strict=True) if kind == 1],
        forbidden_edges=[pair for pair, kind in zip(pairs, kinds, strict=True) if kind == 2],
    )


@pytest.mark.parametrize("max_indegree", [1, 2])
def test_settled_rules_allow_a_single_graph(max_indegree):
    settled = 0
    arcs = list(itertools.permutations(range(3), 2))
    graphs = [
        graph
        for n in range(4)
        for graph in itertools.combinations(arcs, n)
        if not any((j, i) in graph for i, j in graph) and len({j for _, j in graph}) < 3
    ]
    for kinds in itertools.product(range(3), repeat=6):
        try:
            rules = edge_rules(_rules_on_three(kinds), NAMES[:3], FEWEST[:3], max_indegree=max_indegree)
        except GomeaBnError:
            continue
        if rules.is_settled:
            settled += 1
            assert sum(not rules.violations(NAMES[:3], graph, FEWEST[:3]) for graph in graphs) == 1
    assert settled > 10


def test_a_class_above_all_features_is_settled_with_one_parent_and_open_with_two():
    knowledge = ExpertKnowledge(required_edges=[("age", name) for name in NAMES[1:]])
    assert edge_rules(knowledge, NAMES, FEWEST, max_indegree=1).is_settled
    assert not edge_rules(knowledge, NAMES, FEWEST, max_indegree=2).is_settled
