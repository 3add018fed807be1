"""The experiment `optimal-tables`: held-out log density of real tables, ours and pyAgrum's best grid, in nats per row.

Continuous columns are scaled to [0, 1] by the training rows, and test values are clipped to that range. Densities are
printed twice: with the bins of the method, and with no bin narrower than 1/100 of the range, because narrow bins around
repeated values gain density without bound. For the second figure ours learns again with that least width; narrow bins
of others are joined to a neighbour.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn import DiscretizedBayesNet, average_families
from gomea_bn.data.table import Table, read_table
from lab.methods.discretizer_methods import mean_bins
from lab.methods.peers import GRID_SCORES, pyagrum_networks
from lab.published.algorithms import wide_cuts
from lab.runner.experiment import Experiment, Option, Options, Row, Task
from lab.runner.printing import mean_and_difference
from lab.runner.report import Record, Report, Sheet, by_method, group_by, measured_records, sheet
from lab.runner.runs import (
    LEARNER,
    RESOLUTION,
    make_learner,
    measure_text,
    named_options,
    smoothing,
    timed,
    warm_up,
)
from lab.samples.real_tables import TABLES

_TABLES = ("iris", "wine", "auto", "diabetes", "breast cancer")
WIDTHS = (0.0, 0.01)
"""Least widths of bins, as shares of the range."""
JITTER = 0.1
"""Largest noise of a jitter, as a share of the smallest gap between distinct values."""
JITTER_SEED = 8_231
OURS, PEERS = "ours", "pyAgrum, "
AVERAGED = {"averaged bins": "none", "averaged bins and lines": "auto"}
"""Averaged networks of ours, with their option `line`; their seconds are those of averaging alone."""


def tables(options: Options) -> list[Task]:
    """Return a task per table, method and fold."""
    methods = [OURS, *([] if options.without_peers else [PEERS])]
    return [
        {
            "table": name,
            "fold": fold,
            "folds": options.folds,
            "fold seed": options.fold_seed,
            "method": method,
            "seconds": options.seconds,
            "jitter": options.jitter,
            "resolution": options.resolution,
            "options": {"discretizer": options.discretizer, **named_options(options.option)},
        }
        for name in options.tables
        for method in methods
        for fold in range(options.folds)
    ]


def tables_report(options: Options, rows: Sequence[Row]) -> Report:
    """Return one table per data set, and then a summary of all of them."""
    setting = f"{options.folds} folds of seed {options.fold_seed}, {options.seconds:g} s a fit, ours: "
    setting += ", ".join([options.discretizer, *options.option]) + f"; {measure_text(options.resolution)}"
    if options.jitter:
        setting += "; values jittered"
    sheets, summary = [], []
    for (name,), group in group_by(rows, "table").items():
        of_table = by_method(measured_records(group))
        if OURS in of_table:
            one, cells = _sheet_of_one(name, of_table, setting)
            sheets.append(one)
            summary.append([name, *cells])
    columns = ("table", "best pyAgrum", "its best by BIC", "ours")
    wide = ("best pyAgrum, no bin under 1/100", "ours, no bin under 1/100")
    heading = f"Held-out log density, nats per row, columns scaled to [0, 1]; {setting}"
    return Report((*sheets, sheet(heading, (*columns, *wide), summary)))


def one_fold(task: Task) -> dict[str, list[Record]]:
    """Return one record per method for one fold of one table: ours or the peers."""
    from sklearn.model_selection import KFold

    real = TABLES[task["table"]]()
    folds = list(KFold(task["folds"], shuffle=True, random_state=task["fold seed"]).split(real.frame))
    train_rows, test_rows = folds[task["fold"]]
    frame = jittered(real.frame, real.continuous) if task["jitter"] else real.frame
    train, test = scaled(frame.iloc[train_rows], frame.iloc[test_rows], real.continuous)
    fixed = {"kinds": real.kinds, "n_jobs": 1, "random_state": 0, "max_seconds": task["seconds"]}
    if task["method"] == PEERS:
        table = read_table(train, kinds=real.kinds)
        counting = smoothing(make_learner(task["options"], **fixed))
        records = []
        for peer in pyagrum_networks(table):
            densities = held_out(PEERS + peer.label, table, peer.edges, peer.cuts, counting, test)
            records.append({**densities, "seconds": peer.seconds})
        return {"records": records}
    warm_up(task["options"])
    resolution = task["resolution"]
    return {"records": of_ours(task["options"], fixed, train, test, averages=True, resolution=resolution)}


def jittered(frame: pd.DataFrame, continuous: list[str]) -> pd.DataFrame:
    """Return the frame with uniform noise on its continuous columns, drawn from a fixed seed.

    The noise is between 0 and a tenth of the smallest gap between distinct values of the column. Equal values become
    distinct, and the order of distinct values does not change.
    """
    generator = np.random.default_rng(JITTER_SEED)
    columns = {}
    for name in continuous:
        values = frame[name].to_numpy(np.float64)
        gap = np.diff(np.unique(values)).min()
        columns[name] = values + JITTER * gap * generator.random(len(values))
    return frame.assign(**columns)


def scaled(
    train: pd.DataFrame, test: pd.DataFrame, continuous: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both parts with continuous columns scaled to [0, 1] by the first; the second is clipped to it."""
    low, high = train[continuous].min(), train[continuous].max()
    return (
        train.assign(**(train[continuous] - low) / (high - low)),
        test.assign(**((test[continuous] - low) / (high - low)).clip(0.0, 1.0)),
    )


def held_out(
    name: str,
    table: Table,
    edges: Any,
    cuts: Any,
    counting: dict[str, Any],
    test: pd.DataFrame,
    widths: Sequence[float] = WIDTHS,
) -> Record:
    """Return the densities of a graph with cuts for every least width; `counting` says how its tables are counted."""
    record: Record = {"method": name, "n edges": len(edges)}
    for width in widths:
        network = DiscretizedBayesNet.from_table(table, edges, wide_cuts(cuts, table, width), **counting)
        record[f"density {width}"] = network.log_density(test)
        record[f"bins {width}"] = mean_bins(network.cut_points.values())
    return record


def of_ours(
    options: dict[str, Any],
    fixed: dict[str, Any],
    train: pd.DataFrame,
    test: pd.DataFrame,
    widths: Sequence[float] = WIDTHS,
    *,
    averages: bool = False,
    resolution: str = "steps",
) -> list[Record]:
    """Return the densities of the learner, which learns once per least width, and if asked of averaged networks."""
    record: Record = {"method": OURS}
    averaged: list[Record] = [{"method": method} for method in AVERAGED] if averages else []
    for width in widths:
        least = {"min_width": width} if width else {}
        learner, seconds = timed(make_learner({**options, **least}, **fixed).fit, train)
        record.setdefault("seconds", seconds)
        network = learner.network_
        # a learner with cuts of its own may keep narrower bins; bins with a shape have no least width
        uniform = {name: c for name, c in network.cut_points.items() if name not in network.shapes}
        cuts = {**network.cut_points, **wide_cuts(uniform, learner.table_, width)}
        if any(len(cuts[name]) < len(of_column) for name, of_column in network.cut_points.items()):
            counting = smoothing(learner)
            network = DiscretizedBayesNet.from_table(
                learner.table_, network.edges, cuts, shapes=network.shapes, **counting
            )
        record[f"density {width}"] = network.log_density(test, resolution=resolution)
        record[f"bins {width}"] = mean_bins(network.cut_points.values())
        record.setdefault("n edges", len(network.edges))
        for of_method in averaged:
            line = AVERAGED[of_method["method"]]
            families, seconds = timed(average_families, network, learner.table_, line=line)
            of_method.setdefault("seconds", seconds)
            of_method[f"density {width}"] = families.log_density(test, resolution=resolution)
            of_method[f"bins {width}"] = mean_bins(families.cut_points.values())
            of_method[f"weight {width}"] = families.conditionals.mean_line_weight(families)
            of_method.setdefault("n edges", len(network.edges))
    return [record, *averaged]


def best_peer(groups: dict[str, list[Record]], width: float, score: str = "") -> str | None:
    """Return the combination of pyAgrum that is best on the test rows, of one score or of all."""
    means = {
        method: densities_of(group, width).mean()
        for method, group in groups.items()
        if method.startswith(PEERS) and method.endswith(score)
    }
    return max(means, key=lambda method: means[method]) if means else None


def densities_of(group: list[Record], width: float) -> NDArray[np.float64]:
    """Return the densities of all test rows, fold by fold."""
    return np.concatenate([record[f"density {width}"] for record in group])


def _sheet_of_one(name: str, groups: dict[str, list[Record]], setting: str) -> tuple[Sheet, list[str]]:
    """Return every method of one table, pyAgrum's as the best with each score, and the row of the summary."""
    best = {width: best_peer(groups, width) for width in WIDTHS}
    shown = [method for method in (OURS, *AVERAGED) if method in groups]
    peers_shown = [best_peer(groups, width, score) for score in GRID_SCORES for width in WIDTHS]
    shown += [method for method in dict.fromkeys(peers_shown) if method is not None]
    rows = []
    for method in shown:
        group = groups[method]
        cells: list[str] = []
        for width in WIDTHS:
            reference = None if best[width] in (None, method) else groups.get(best[width] or "", group)
            cells += density_cells(group, width, reference)
        edges = f"{np.mean([record['n edges'] for record in group]):.1f}" if "n edges" in group[0] else "-"
        seconds = [record["seconds"] for record in group]
        rows.append([method, *cells, edges, f"{np.mean(seconds):.2f}", f"{np.max(seconds):.2f}"])
    columns = ("density", "minus best pyAgrum", "bins")
    heading = f"{name}, {len(densities_of(groups[OURS], 0.0))} rows, {setting}"
    wide = ("no bin under 1/100", *columns[1:])
    notes = []
    for method in AVERAGED:
        if AVERAGED[method] == "auto" and method in groups:
            weight = np.mean([record[f"weight {WIDTHS[0]}"] for record in groups[method]])
            notes.append(f"mean weight of lines over columns with continuous parents: {weight:.2f}")
    one = sheet(heading, ("method", *columns, *wide, "edges", "seconds", "longest"), rows, "\n".join(notes))

    def peer_text(width: float, score: str = "") -> str:
        method = best_peer(groups, width, score)
        return "-" if method is None else f"{densities_of(groups[method], width).mean():.2f}"

    ours = [f"{densities_of(groups[OURS], width).mean():.2f}" for width in WIDTHS]
    return one, [peer_text(0.0), peer_text(0.0, "BIC"), ours[0], peer_text(0.01), ours[1]]


def density_cells(group: list[Record], width: float, reference: list[Record] | None) -> list[str]:
    """Return the mean density, its difference from the reference and the number of bins as text."""
    bins = f"{np.mean([record[f'bins {width}'] for record in group]):.1f}"
    mean, difference = mean_and_difference(
        densities_of(group, width), densities_of(reference or group, width)
    )
    return [mean, difference if reference else "-", bins]


EXPERIMENTS = (
    Experiment(
        name="optimal-tables",
        title="Held-out density of real tables, ours and pyAgrum's best grid",
        source="Columns scaled to [0, 1]; the peers are in the extra peers.",
        tasks=tables,
        measure=one_fold,
        report=tables_report,
        options={
            "tables": Option(_TABLES, "Tables.", choices=sorted(TABLES)),
            "folds": Option(5, "Number of folds.", least=2),
            "fold_seed": Option(0, "Seed of the folds."),
            "jitter": Option(
                False, "Add noise up to a tenth of the smallest gap between distinct values of a column."
            ),
            "without_peers": Option(False, "Leave pyAgrum out."),
            "seconds": Option(10.0, "Deadline of a run."),
            **RESOLUTION,
            **LEARNER,
        },
    ),
)
