"""Scores of families and their cache: against slow twins, two other libraries and hand-made vectors."""

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import discrete_variables, fixed, make_scorer, random_variables, slow_family_score

from gomea_bn import GomeaBnError
from gomea_bn.problems import ScoredFamily, ScoredVariable, score_rule, scoring_method
from gomea_bn.problems.cuts import Policy, policy_library
from gomea_bn.problems.family_scorer import new_cache, new_scratch
from gomea_bn.problems.kernels import score as kernels
from gomea_bn.problems.kernels.score import stirling_lgamma, stirling_lgammas
from gomea_bn.problems.scores import SCORING_METHODS

RULES: list[tuple[str, dict[str, Any]]] = [
    ("density-bic", {}),
    ("density-bic", {"penalty": "literal"}),
    ("density-bic", {"penalty": "aic"}),
    ("density-bic", {"penalty": 0.25}),
    ("density-bd", {}),
    ("density-bd", {"centred": True}),
    ("density-bd", {"prior": "bdeu", "ess": 3.0}),
    ("bic", {}),
    ("aic", {}),
    ("k2", {}),
    ("bdeu", {"ess": 10.0}),
    ("bdeu", {"ess": 0.01}),
]


def test_a_density_counts_widths_and_parameters_of_bins() -> None:
    x = np.array([0.0, 0.01, 0.02, 0.03, 0.04, 0.25, 0.5, 1.0])
    variable = ScoredVariable("x", x, 0, (fixed(x, 0.25),))
    score = make_scorer([variable]).score([ScoredFamily((0, 0))])[0]
    unpenalised = make_scorer([variable], penalty=0.0).score([ScoredFamily((0, 0))])[0]
    assert unpenalised == pytest.approx(4.394449, abs=1e-6)
    assert unpenalised - score == pytest.approx(1.039721, abs=1e-6)
    assert score == pytest.approx(3.354728, abs=1e-6)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(10, 150), st.sampled_from(range(len(RULES))))
def test_scores_equal_their_twin(seed: int, n_rows: int, rule: int) -> None:
    method, options = RULES[rule]
    rng = np.random.default_rng(seed)
    kinds = "".join(rng.choice(list("cd"), 4)) if SCORING_METHODS[method].density else "dddd"
    variables = random_variables(rng, n_rows, kinds, max_bins=5, max_levels=9)
    families = []
    for child in range(4):
        parents = rng.permutation([i for i in range(4) if i != child])[: rng.integers(0, 4)]
        chosen = [(int(v), int(rng.integers(max(len(variables[v].policies), 1)))) for v in (child, *parents)]
        families.append(ScoredFamily(chosen[0], tuple(chosen[1:])))
    scorer = make_scorer(variables, method, **options)
    expected = [slow_family_score(variables, family, method, **options) for family in families]
    assert scorer.score(families, use_cache=False) == pytest.approx(expected, abs=1e-8, rel=1e-11)
    assert (scorer.score(families) == scorer.score(families, use_cache=False)).all()


@pytest.mark.parametrize("n_rows", [2047, 2048, 2049, 4096, 4097])
@pytest.mark.parametrize("method", ["density-bic", "k2", "bdeu"])
def test_blocks_of_rows_join_seamlessly(n_rows: int, method: str) -> None:
    rng = np.random.default_rng(n_rows)
    cards = (2, 3, 5, 40)  # 1,200 cells need one count table, 30 leave room for four
    variables = discrete_variables([rng.integers(0, r, n_rows) for r in cards], cards)
    families = [
        ScoredFamily((0, 0)),
        ScoredFamily((2, 0), ((0, 0), (1, 0))),
        ScoredFamily((3, 0), ((0, 0), (1, 0), (2, 0))),
    ]
    expected = [slow_family_score(variables, family, method) for family in families]
    assert make_scorer(variables, method).score(families) == pytest.approx(expected, rel=1e-11)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("n_rows", "cards"),
    [
        (50, (255, 5)),  # 1,275 cells: dense
        (50, (255, 6)),  # 1,530 cells: more than 8 n + 1,024
        (50, (2, 3, 238)),  # 1,428: just above
        (50, (2, 2, 356 // 2, 2)),  # exactly 1,424
        (9000, (32, 64, 32)),  # exactly 65,536: the largest joint code of two bytes
        (9000, (255, 255)),
        (9000, (33, 64, 32)),  # 67,584: within 8 n + 1,024, too many for two bytes
        (3, (255, 255, 255)),
        (40, (255,) * 6),  # far more configurations than fit in memory
    ],
)
def test_dense_and_sparse_counting_equal_the_twin(n_rows: int, cards: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(cards))
    columns = [rng.integers(0, r, n_rows) for r in cards]
    columns = [np.where(rng.random(n_rows) < 0.5, r - 1, c) for r, c in zip(cards, columns, strict=True)]
    variables = discrete_variables(columns, cards)
    child = len(cards) - 1
    family = ScoredFamily((child, 0), tuple((i, 0) for i in range(child)))
    for method, options in RULES:
        expected = slow_family_score(variables, family, method, **options)
        scored = make_scorer(variables, method, **options).score([family])[0]
        assert scored == pytest.approx(expected, rel=1e-10, abs=1e-8), method


@pytest.mark.long
@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 300))
def test_both_ways_of_counting_find_the_same_tables(seed: int, n_rows: int) -> None:
    rng = np.random.default_rng(seed)
    cards = tuple(int(r) for r in rng.integers(1, 7, int(rng.integers(1, 5))))
    scorer = make_scorer(discrete_variables([rng.integers(0, r, n_rows) for r in cards], cards))
    views = np.arange(len(cards))
    r, cells = cards[-1], math.prod(cards)
    scratch = new_scratch(max(n_rows, 4 * cells), 255)
    tables = []
    for n_tables in (1, 4):
        kernels.count_dense(
            scorer.rows.codes,
            views,
            scorer.rows.cardinality,
            len(cards),
            cells,
            n_tables,
            scratch.joint,
            scratch.counts,
        )
        tables.append(scratch.counts[:cells].copy().reshape(-1, r))
    observed = kernels.count_sparse(scorer.rows.codes, views, scorer.rows.cardinality, len(cards), scratch)
    sparse = scratch.counts[: observed * r].reshape(observed, r)
    assert (tables[0] == tables[1]).all()
    assert sorted(map(tuple, sparse)) == sorted(tuple(row) for row in tables[0] if row.any())


@pytest.mark.parametrize("x", [16.0, 16.5, 20.0, 100.25, 1e4, 1e7])
def test_the_log_gamma_series_is_accurate(x: float) -> None:
    assert stirling_lgamma(x) == pytest.approx(math.lgamma(x), rel=1e-15, abs=1e-12)
    several = np.array([x, 16.0, x])
    stirling_lgammas(several)
    assert several == pytest.approx([math.lgamma(y) for y in (x, 16.0, x)], rel=1e-15, abs=1e-12)


@pytest.mark.parametrize("ess", [1e-8, 1e-3, 1.0, 40.0, 1e4, 1e6])
@pytest.mark.parametrize("largest", [1, 3, 15, 16, 17, 900])
def test_bdeu_holds_for_small_and_large_priors_and_counts(ess: float, largest: int) -> None:
    rng = np.random.default_rng(largest)
    counts = rng.integers(0, largest + 1, 12)
    counts[0] = largest
    cell = np.repeat(np.arange(12), counts)
    variables = discrete_variables([cell // 3, cell % 3], (4, 3))
    family = ScoredFamily((1, 0), ((0, 0),))
    expected = slow_family_score(variables, family, "bdeu", ess=ess)
    scored = make_scorer(variables, "bdeu", ess=ess).score([family])[0]
    assert scored == pytest.approx(expected, rel=1e-10, abs=1e-8)


def test_only_chosen_cuts_cost_under_density_bd() -> None:
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=200), 1)
    cuts = np.array([-0.55, 0.45])
    variables = [ScoredVariable("x", x, 0, (Policy(cuts), Policy(cuts, chosen=False)))]
    chosen, given_by_user = make_scorer(variables, "density-bd").score(
        [ScoredFamily((0, 0)), ScoredFamily((0, 1))]
    )
    assert given_by_user - chosen == pytest.approx(2 * 0.5 * math.log(len(np.unique(x)) - 1))


def test_units_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=150)
    scores = []
    for scale, shift in ((1.0, 0.0), (1e-6, 5.0), (-4096.0, 0.0)):
        moved = scale * x + shift
        variable = ScoredVariable("x", moved, 0, policy_library(moved, "equal-width", 6))
        scores.append(make_scorer([variable]).score([ScoredFamily((0, k)) for k in range(5)]))
    assert scores[1] == pytest.approx(scores[0], rel=1e-6)
    assert scores[2] == pytest.approx(scores[0])


def discrete_frame(n_rows: int, seed: int) -> tuple[pd.DataFrame, list[ScoredVariable]]:
    rng = np.random.default_rng(seed)
    variables = random_variables(rng, n_rows, "ddddd", max_levels=4)
    frame = pd.DataFrame({v.name: pd.Categorical(v.values.astype(str)) for v in variables})
    return frame, variables


def families_of_five() -> list[ScoredFamily]:
    pairs = [(c, p) for c in range(5) for k in range(4) for p in itertools.combinations(range(5), k)]
    return [ScoredFamily((c, 0), tuple((i, 0) for i in p)) for c, p in pairs if c not in p]


def test_named_penalties_are_nats_per_parameter():
    method = scoring_method("density-bic")
    weights = {name: score_rule(method, 200, penalty=name).weight for name in ("bic", "literal", "aic", 2.5)}
    assert weights == {"bic": math.log(200) / 2, "literal": math.log(100), "aic": 1.0, 2.5: 2.5}


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("method", "name", "options"),
    [
        ("bic", "BIC", {}),
        ("aic", "AIC", {}),
        ("k2", "K2", {}),
        ("bdeu", "BDeu", {"equivalent_sample_size": 10}),
    ],
)
def test_scores_equal_pgmpys(method: str, name: str, options: dict[str, int]) -> None:
    from pgmpy import structure_score

    frame, variables = discrete_frame(300, 7)
    theirs = getattr(structure_score, name)(frame, **options)
    families = families_of_five()
    if method == "k2":  # theirs also counts the parent configurations that no row has
        columns = np.array([v.values for v in variables])
        observed = [len(np.unique(columns[[i for i, _ in f.parents]], axis=1).T) for f in families]
        n_parent_states = [math.prod(variables[i].n_levels for i, _ in f.parents) for f in families]
        families = [
            f for f, a, b in zip(families, observed, n_parent_states, strict=True) if a == b or not f.parents
        ]
        assert len(families) > 30
    expected = [theirs.local_score(f"v{f.child[0]}", tuple(f"v{i}" for i, _ in f.parents)) for f in families]
    ess = options.get("equivalent_sample_size", 1)
    assert make_scorer(variables, method, ess=ess).score(families) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(("method", "tolerance"), [("bic", 1e-10), ("bdeu", 1e-6)])
def test_scores_equal_pyagrums(method: str, tolerance: float) -> None:
    from pyagrum import BNLearner

    frame, variables = discrete_frame(300, 7)
    learner: Any = BNLearner(frame)
    if method == "bic":
        learner.useScoreBIC()
        learner.useNoPrior()
    else:  # its ln Gamma is interpolated between whole numbers, so the prior counts must be whole
        learner.useScoreBD()
        learner.useBDeuPrior(7200)
    families = families_of_five()
    bits = [learner.score(f"v{f.child[0]}", [f"v{i}" for i, _ in f.parents]) for f in families]
    scored = make_scorer(variables, method, ess=7200).score(families)
    assert scored == pytest.approx(np.array(bits) * math.log(2), rel=tolerance)


def all_families(variables: list[ScoredVariable], n_parents: int) -> list[ScoredFamily]:
    views = [[(i, k) for k in range(max(len(v.policies), 1))] for i, v in enumerate(variables)]
    families = []
    for child in range(len(variables)):
        others = [i for i in range(len(variables)) if i != child]
        for size in range(n_parents + 1):
            for parents in itertools.combinations(others, size):
                for choice in itertools.product(views[child], *(views[p] for p in parents)):
                    families.append(ScoredFamily(choice[0], choice[1:]))
    return families


def cache_case() -> tuple[list[ScoredVariable], list[ScoredFamily], NDArray[np.float64]]:
    variables = random_variables(np.random.default_rng(2), 80, "cccd", max_bins=4)
    families = all_families(variables, 3)
    return variables, families, make_scorer(variables).score(families, use_cache=False)


def test_the_cache_returns_the_same_bits_and_is_used() -> None:
    variables, families, expected = cache_case()
    scorer = make_scorer(variables)
    assert (scorer.score(families) == expected).all()
    counted = int(scorer._scratch.statistics[0])
    assert counted == len(families)
    assert (scorer.score(families[::-1]) == expected[::-1]).all()
    assert scorer._scratch.statistics[:2].tolist() == [counted, len(families)]
    assert scorer.caches.shared.used[0] == len(families)


@pytest.mark.parametrize("capacity", [2, 4, 64, 128])
def test_a_full_cache_overwrites_and_stays_right(capacity: int) -> None:
    variables, families, expected = cache_case()
    scorer = make_scorer(variables, cache_bytes=0)
    scorer.caches.shared = new_cache(capacity)
    order = np.random.default_rng(0).integers(0, len(families), 5 * len(families))
    for chunk in np.split(order, 5):
        assert (scorer.score([families[k] for k in chunk]) == expected[chunk]).all()
    assert len(scorer.caches.shared.keys) == capacity
    assert scorer.caches.shared.used[0] == np.count_nonzero(scorer.caches.shared.keys) <= capacity


def test_parents_may_come_in_any_order() -> None:
    variables, families, expected = cache_case()
    turned = [ScoredFamily(f.child, f.parents[::-1]) for f in families]
    assert (make_scorer(variables).score(turned) == expected).all()
    assert (make_scorer(variables).score(turned, use_cache=False) == expected).all()


def test_a_cache_grows_within_its_limit_and_keeps_its_entries() -> None:
    variables, families, expected = cache_case()
    scorer = make_scorer(variables)
    scorer.score(families)
    scorer.caches.max_bytes = 1 << 20
    scorer.reserve(10_000)
    larger = scorer.caches.shared
    assert len(larger.keys) == 1 << 15  # half full at most
    assert larger.used[0] == len(families)
    scorer.reserve(10**9)
    assert len(scorer.caches.shared.keys) * 16 == 1 << 20
    scorer.caches.shared = larger
    before = int(scorer._scratch.statistics[0])
    assert (scorer.score(families) == expected).all()
    assert scorer._scratch.statistics[0] == before


def test_different_families_have_different_keys() -> None:
    variables, families, _ = cache_case()
    scorer = make_scorer(variables)
    keys = set()
    for family in families:
        _, views = scorer.encode([family])
        keys.add(int(kernels.family_key(scorer.rows, views, len(views))))
    assert len(keys) == len(families)


def test_unknown_methods_and_parameters_are_refused() -> None:
    with pytest.raises(GomeaBnError, match=r"scoring_method must be one of .*'density-bic'.*, got 'mdl'"):
        scoring_method("mdl")
    bic = scoring_method("density-bic")
    for options, message in (
        (
            {"penalty": "bid"},
            "penalty must be 'bic', 'literal', 'aic' or a finite number of at least 0, got 'bid'",
        ),
        ({"penalty": -1.0}, "got -1.0"),
        ({"penalty": math.nan}, "got nan"),
        ({"penalty": True}, "got True"),
        ({"prior": "jeffreys"}, "prior must be one of 'dirichlet', 'bdeu', got 'jeffreys'"),
        (
            {"equivalent_sample_size": 0.0},
            "equivalent_sample_size must be a finite number above 0 and at most 1e.06, got 0.0",
        ),
        ({"equivalent_sample_size": 1e7}, "at most 1e.06, got 10000000.0"),
    ):
        with pytest.raises(GomeaBnError, match=message):
            score_rule(bic, 100, **options)


def test_a_policy_that_does_not_exist_is_refused() -> None:
    variables = random_variables(np.random.default_rng(0), 30, "cd")
    with pytest.raises(GomeaBnError, match=r"'v0' has policies 0 to 2, got 3"):
        make_scorer(variables).score([ScoredFamily((0, 3))])


def test_what_bytes_and_words_cannot_number_is_refused() -> None:
    codes = np.arange(300) % 255
    with pytest.raises(GomeaBnError, match="'v0' has 256 levels or bins; at most 255"):
        make_scorer(discrete_variables([codes], (256,)))
    x = np.arange(300.0)
    with pytest.raises(GomeaBnError, match="'x' has 257 levels or bins"):
        make_scorer([ScoredVariable("x", x, 0, (fixed(x, *(x[:256] + 0.5)),))])
    scorer = make_scorer(discrete_variables([codes] * 9, (255,) * 9))
    family = ScoredFamily((8, 0), tuple((i, 0) for i in range(8)))
    with pytest.raises(GomeaBnError, match=r"The table of 'v8' with 8 parents has 4.56e\+21 cells"):
        scorer.score([family])
