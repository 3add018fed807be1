"""Laws of the benchmark of skeletons: graphs, kinds of columns, seeds, and dependences."""

import itertools

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency, kstest

from lab.samples.structural_laws import LAWS, linear, mixed, nonlinear


@pytest.mark.parametrize("law", LAWS)
def test_graphs_are_acyclic_with_few_parents_and_the_asked_rows(law):
    graphs = set()
    for seed in range(20):
        sample = LAWS[law](60, seed)
        n_columns = 20 if law == "linear of 20" else 10
        assert sample.frame.shape == (60, n_columns)
        assert list(sample.kinds) == list(sample.frame)
        graph = nx.DiGraph(sample.edges)
        assert set(graph) <= set(sample.frame)
        assert nx.is_directed_acyclic_graph(graph)
        assert n_columns <= len(set(sample.edges)) == len(sample.edges) <= n_columns + 3
        assert max(degree for _, degree in graph.in_degree) <= 3
        assert not sample.frame.isna().any().any()
        graphs.add(tuple(sample.edges))
    assert len(graphs) == 20


@pytest.mark.parametrize("law", LAWS)
def test_a_seed_gives_the_same_rows_and_one_graph_for_all_numbers_of_rows(law):
    sample, again, longer, other = (LAWS[law](n, seed) for n, seed in ((80, 3), (80, 3), (300, 3), (80, 4)))
    pd.testing.assert_frame_equal(sample.frame, again.frame)
    assert sample.edges == again.edges == longer.edges
    assert sample.kinds == longer.kinds
    assert sample.edges != other.edges
    assert not sample.frame.equals(other.frame)


def test_no_value_is_drawn_for_two_seeds_or_two_laws():
    samples = [law(60, seed) for law in LAWS.values() for seed in range(4)]
    values = [sample.frame.select_dtypes("number").to_numpy().ravel() for sample in samples]
    # counts are equal by chance
    values = [of_sample[of_sample % 1 != 0] for of_sample in values]
    assert len(np.unique(np.concatenate(values))) == sum(map(len, values))


def test_edges_do_not_follow_the_order_of_the_columns():
    forward = [
        list(sample.frame).index(a) < list(sample.frame).index(b)
        for sample in (nonlinear(60, seed) for seed in range(20))
        for a, b in sample.edges
    ]
    assert 0.3 < np.mean(forward) < 0.7


def test_four_columns_of_the_mixed_law_have_two_to_four_levels():
    numbers = set()
    for seed in range(10):
        sample = mixed(2_000, seed)
        discrete = [name for name, kind in sample.kinds.items() if kind == "discrete"]
        assert len(discrete) == 4
        for name, column in sample.frame.items():
            assert isinstance(column.dtype, pd.CategoricalDtype) == (name in discrete)
        for name in discrete:
            shares = sample.frame[name].value_counts(normalize=True)
            assert shares.min() > 0.05
            numbers.add(len(shares))
    assert numbers == {2, 3, 4}


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
def test_children_depend_on_a_single_parent_and_unrelated_columns_do_not(law):
    n_dependent = n_independent = 0
    for seed in range(6):
        sample = LAWS[law](4_000, seed)
        codes = {
            str(name): column.cat.codes
            if sample.kinds[str(name)] == "discrete"
            else pd.qcut(column, 8, labels=False, duplicates="drop")
            for name, column in sample.frame.items()
        }
        graph = nx.DiGraph(sample.edges)
        graph.add_nodes_from(codes)
        families = {name: nx.ancestors(graph, name) | {name} for name in codes}
        for a, b in itertools.combinations(codes, 2):
            p = chi2_contingency(pd.crosstab(codes[a], codes[b])).pvalue
            only_parent = any(list(graph.predecessors(y)) == [x] for x, y in ((a, b), (b, a)))
            if only_parent:
                n_dependent += 1
                assert p < 1e-6
            elif not families[a] & families[b]:
                n_independent += 1
                assert p > 1e-6
    assert n_dependent >= 5
    assert n_independent >= 20


def test_a_column_of_two_parents_follows_their_product_and_neither_alone():
    n_children = 0
    for seed in range(4):
        sample = LAWS["products"](4_000, seed)
        graph = nx.DiGraph(sample.edges)
        scaled = (sample.frame - sample.frame.mean()) / sample.frame.std()
        for name in graph:
            parents = list(graph.predecessors(name))
            roots = all(graph.in_degree(parent) == 0 for parent in parents)
            if len(parents) == 2 and roots:
                n_children += 1
                first, second = (scaled[parent] for parent in parents)
                assert abs(np.corrcoef(first * second, scaled[name])[0, 1]) > 0.7
                assert (
                    max(
                        abs(np.corrcoef(first, scaled[name])[0, 1]),
                        abs(np.corrcoef(second, scaled[name])[0, 1]),
                    )
                    < 0.1
                )
    assert n_children >= 3


def test_values_of_bells_lie_around_a_few_centres():
    frame = LAWS["bells"](4_000, 0).frame
    for _, column in frame.items():
        # two to six centres at most 1.3 apart, and deviations up to 0.35
        assert column.max() - column.min() < 5 * 1.3 + 8 * 0.35
        assert column.std() > 0.2


@pytest.mark.sample(1)
@pytest.mark.parametrize("n_columns", [10, 20])
def test_linear_columns_are_their_parents_plus_normal_noise(n_columns):
    for seed in range(4):
        sample = linear(4_000, seed, n_columns)
        assert len(sample.edges) == n_columns
        for name in sample.frame:
            parents = [parent for parent, child in sample.edges if child == name]
            x = (sample.frame[parents] - sample.frame[parents].mean()) / sample.frame[parents].std()
            design = np.column_stack([np.ones(4_000), x])
            coefficients, *_ = np.linalg.lstsq(design, sample.frame[name], rcond=None)
            residual = sample.frame[name] - design @ coefficients
            assert kstest(residual / residual.std(), "norm").pvalue > 1e-4
            assert (0.45 if parents else 0.95) < residual.std() < 1.05
            assert ((np.abs(coefficients[1:]) > 0.45) & (np.abs(coefficients[1:]) < 1.55)).all()
