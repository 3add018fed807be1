"""Networks learned from rows with missing values: our scores on available cases against what is done otherwise.

Rows are drawn from networks with known edges, or are those of a real table, split into rows to learn from and rows to
test with. Values are removed completely at random, with a chance that depends on a column that stays complete, or with
a chance that depends on the value itself. Every method gives the F1 score of its skeleton, the mean log density of
complete held-out rows, and the seconds it took. Shares compare with the network of the full data: of its F1 score, and
of what it gains in density over the network without edges that has the same bins. The edges of a real table are
unknown; those of the full data take their place. Its values are jittered.

The oracle, structural EM, completes the rows by draws from the present network and learns again from the completed
rows, beginning with the network of available cases, until the edges repeat (Friedman 1998). On discrete tables
pybnesian climbs by BIC on the rows that a family has complete; its edges get our probability tables.
"""

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from time import perf_counter

import numpy as np
import pandas as pd

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, read_table
from gomea_bn.errors import GomeaBnError
from gomea_bn.simulation import random_network
from lab.peers.held_out import jittered
from lab.published.tables import published_network
from lab.runner.experiment import Option, Options, tabulated
from lab.runner.report import Sheet, sheet
from lab.runner.runs import timed
from lab.samples.real_tables import TABLES

MECHANISMS = ("random", "observed", "own")
_MOST_ROUNDS = 5
# parents of pybnesian, which joins nearly all pairs
_MOST_PARENTS = 5
# rows with a value above the median lose it this many times as often as the others
_ODDS = 4.0


def amputated(
    frame: pd.DataFrame, mechanism: str, share: float, generator: np.random.Generator
) -> pd.DataFrame:
    """Return the frame with a share of its values missing.

    Under "observed" a third of the columns stays complete, and has an influence on the others. Under "another" any
    other column has one.
    """
    ranks = pd.DataFrame({name: _ranks(frame[name]) for name in frame.columns})
    names = list(generator.permutation(frame.columns))
    complete = names[: max(len(names) // 3, 1)] if mechanism == "observed" else []
    result = frame.copy()
    for name in names[len(complete) :]:
        chances = np.full(len(frame), share)
        if mechanism != "random":
            others = complete or [other for other in names if other != name]
            cause = name if mechanism == "own" else str(generator.choice(others))
            relative = np.where(ranks[cause] > 0.5, _ODDS, 1.0)
            chances = np.minimum(share * relative / relative.mean(), 0.95)
        result[name] = result[name].mask(generator.random(len(frame)) < chances)
    return result


def _ranks(series: pd.Series) -> pd.Series:
    values = series.cat.codes if isinstance(series.dtype, pd.CategoricalDtype) else series
    return values.rank(pct=True)


def learner_of(options: Options, seed: int) -> BayesNetLearner:
    """Return the learner that all methods use."""
    return BayesNetLearner(
        max_seconds=None,
        max_evaluations=options.evaluations,
        scoring_method="density-bd",
        pseudo_count="auto",
        curves=options.curves,
        kinds=TABLES[options.table]().kinds if options.table else None,
        random_state=seed,
        density="bins",
    )


def imputed(frame: pd.DataFrame, way: str) -> pd.DataFrame:
    """Return the frame filled by scikit-learn: column means and most frequent levels, or nearest neighbours."""
    from sklearn.impute import KNNImputer, SimpleImputer

    codes = pd.DataFrame(
        {
            name: frame[name].cat.codes.astype(float).replace(-1.0, np.nan)
            if isinstance(frame[name].dtype, pd.CategoricalDtype)
            else frame[name]
            for name in frame.columns
        },
        dtype=np.float64,
    )
    if way == "neighbours":
        # constant columns have no scale
        scale = codes.std().replace(0.0, 1.0)
        filled = KNNImputer().fit_transform(((codes - codes.mean()) / scale).to_numpy())
        filled = filled * scale.to_numpy() + codes.mean().to_numpy()
    else:
        is_level = [isinstance(dtype, pd.CategoricalDtype) for dtype in frame.dtypes]
        filled = SimpleImputer(strategy="mean").fit_transform(codes)
        frequent = SimpleImputer(strategy="most_frequent").fit_transform(codes)
        filled[:, is_level] = frequent[:, is_level]
    result = frame.copy()
    for position, name in enumerate(frame.columns):
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            categories = frame[name].cat.categories
            nearest = np.clip(np.rint(filled[:, position]), 0, len(categories) - 1).astype(int)
            result[name] = pd.Categorical.from_codes(nearest, categories)
        else:
            result[name] = filled[:, position]
    return result


def structural_em(frame: pd.DataFrame, options: Options, seed: int) -> DiscretizedBayesNet:
    """Return the network of the oracle."""
    network = learner_of(options, seed).fit(frame).network_
    seen = {frozenset(network.edges)}
    for step in range(_MOST_ROUNDS):
        completed = network.impute(frame, "draw", random_state=np.random.default_rng([seed, step]))
        network = learner_of(options, seed).fit(completed).network_
        if frozenset(network.edges) in seen:
            break
        seen.add(frozenset(network.edges))
    return network


def climbed(frame: pd.DataFrame) -> DiscretizedBayesNet:
    """Return the network of pybnesian's hill climbing by BIC, with our probability tables."""
    import pybnesian

    learned = pybnesian.hc(
        frame, bn_type=pybnesian.DiscreteBNType(), score="bic", operators=["arcs"], max_indegree=_MOST_PARENTS
    )
    return DiscretizedBayesNet.from_table(
        read_table(frame, missing="keep"), learned.arcs(), {}, pseudo_count="auto"
    )


def without_edges(rows: pd.DataFrame, network: DiscretizedBayesNet) -> DiscretizedBayesNet:
    """Return the network without edges that has the bins of another one."""
    table = read_table(rows, kinds=dict.fromkeys(network.cut_points, "continuous"))
    return DiscretizedBayesNet.from_table(
        table, [], network.cut_points, shapes=network.shapes, pseudo_count="auto"
    )


def methods(
    rows: pd.DataFrame, gaps: pd.DataFrame, options: Options, seed: int
) -> Iterator[tuple[str, Callable[[], DiscretizedBayesNet]]]:
    """Give the methods by name, each a function that learns a network."""
    yield "available", lambda: learner_of(options, seed).fit(gaps).network_
    yield ("complete rows", lambda: learner_of(options, seed).set_params(missing="drop").fit(gaps).network_)
    yield "mean", lambda: learner_of(options, seed).fit(imputed(gaps, "mean")).network_
    yield "neighbours", lambda: learner_of(options, seed).fit(imputed(gaps, "neighbours")).network_
    if find_spec("pybnesian") and all(isinstance(dtype, pd.CategoricalDtype) for dtype in gaps.dtypes):
        yield "pybnesian", lambda: climbed(gaps)
    if options.oracle:
        yield "structural EM", lambda: structural_em(gaps, options, seed)


def skeleton_f1(truth: DiscretizedBayesNet, learned: DiscretizedBayesNet) -> float:
    """Return the F1 score of the pairs of neighbours."""
    true_pairs, learned_pairs = ({frozenset(edge) for edge in network.edges} for network in (truth, learned))
    return 2 * len(true_pairs & learned_pairs) / max(len(true_pairs) + len(learned_pairs), 1)


def samples(options: Options) -> Iterator[tuple[int, DiscretizedBayesNet | None, pd.DataFrame, pd.DataFrame]]:
    """Give seeds, true networks or None, rows to learn from, and held-out rows."""
    for seed in range(options.first, options.first + options.networks):
        if options.table:
            real = TABLES[options.table]()
            # equal values would be point masses, whose probabilities are no densities
            frame = jittered(real.frame, real.continuous)
            order = np.random.default_rng(seed).permutation(len(frame))
            n_train = round(0.7 * len(frame))
            train, test = (
                frame.iloc[part].reset_index(drop=True) for part in (order[:n_train], order[n_train:])
            )
            yield seed, None, train, test
            continue
        truth = (
            published_network(options.published)
            if options.published
            else random_network(options.variables, random_state=seed)
        )
        test = truth.sample(5_000, random_state=seed + 10**6)
        for n_rows in options.rows:
            yield seed, truth, truth.sample(n_rows, random_state=seed), test


def measured(options: Options) -> Iterator[tuple[object, ...]]:
    """Give method, mechanism, share, rows, F1, density and seconds of every run; NaN where a method has no result."""
    for seed, truth, rows, test in samples(options):
        learner, seconds = timed(learner_of(options, seed).fit, rows)
        full = learner.network_
        of_full = skeleton_f1(truth or full, full), full.score(test), seconds
        empty = without_edges(rows, full).score(test)
        for mechanism in options.mechanisms:
            for share in options.shares:
                of_runs = mechanism, share, len(rows)
                yield "full data", *of_runs, *of_full
                yield "no edges", *of_runs, 0.0, empty, np.nan
                gaps = amputated(rows, mechanism, share, np.random.default_rng([seed, int(100 * share)]))
                for name, learn in methods(rows, gaps, options, seed):
                    began = perf_counter()
                    f1, density = np.nan, np.nan
                    try:
                        network = learn()
                        f1, density = skeleton_f1(truth or full, network), network.score(test)
                    except GomeaBnError:
                        # too few complete rows, or levels that only incomplete rows have
                        pass
                    yield name, *of_runs, f1, density, perf_counter() - began


def printed_lines(part: pd.DataFrame) -> list[Sequence[object]]:
    """Return a line per method: means of the runs that have a result, and shares of the full data's."""
    lines: list[Sequence[object]] = []
    of = {name: runs.reset_index(drop=True) for name, runs in part.groupby("method", sort=False)}
    full, empty = of["full data"], of.pop("no edges")
    for name, runs in of.items():
        gain = (runs.density - empty.density).where(runs.density.notna())
        of_full = (full.density - empty.density).where(runs.density.notna())
        lines.append(
            (
                name,
                f"{runs.F1.mean():.3f}",
                f"{runs.F1.mean() / full.F1.where(runs.F1.notna()).mean():.1%}",
                f"{(full.density - runs.density).mean():.4f}",
                f"{gain.mean() / of_full.mean():.1%}",
                f"{runs.seconds.mean():.2f}",
                f"{runs.F1.notna().sum()}/{len(runs)}",
            )
        )
    return lines


def compared(options: Options) -> list[Sheet]:
    """Return a table for every mechanism, share and number of rows."""
    columns = ["method", "mechanism", "share", "rows", "F1", "density", "seconds"]
    frame = pd.DataFrame(measured(options), columns=columns)
    sheets = []
    for (mechanism, share, n_rows), part in frame.groupby(["mechanism", "share", "rows"], sort=False):
        heading = f"{share:.0%} missing by {mechanism}, {n_rows} rows"
        shown = ["method", "F1", "of full", "loss of density", "gain kept", "seconds", "results"]
        sheets.append(sheet(heading, shown, printed_lines(part)))
    return sheets


EXPERIMENTS = (
    tabulated(
        "missing-values",
        "Networks learned from rows with missing values, against what is done otherwise",
        "Values are removed at random, by a column that stays complete, or by the value itself.",
        compared,
        {
            "networks": Option(3, "Number of networks, or of samples of a published one.", least=1),
            "first": Option(0, "Seed of the first network."),
            "variables": Option(8, "Number of variables of a random network.", least=2),
            "published": Option(None, "A published network, such as asia, instead of random ones.", str),
            "table": Option(None, "A real table instead of random networks.", str, choices=sorted(TABLES)),
            "rows": Option((2_000,), "Numbers of rows.", least=1),
            "shares": Option((0.3,), "Shares of missing values."),
            "mechanisms": Option(MECHANISMS, "What removes values.", choices=(*MECHANISMS, "another")),
            "evaluations": Option(20_000, "Limit of a search.", least=1),
            "curves": Option("auto", "Densities of the learner.", choices=("auto", "none")),
            "oracle": Option(False, "Also run structural EM."),
        },
        split=("mechanisms", "shares", "rows"),
    ),
)
