"""The experiment `kept-numbers`: what a network keeps of a table, and what it says of held-out rows.

Numbers kept are those that the conditionals hold: cells of tables and coefficients of effects. The file is the network
as JSON, against the table as CSV. The density is of held-out rows, in nats a row; repeated values count as bins of one
measuring step. Held-out numbers are clipped to the range of the training rows. Ours is learned as it is by default, and
with `prefer="density"`. pyAgrum's tabu search learns from six quantile cells a column, whose density is uniform inside.
"""

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from gomea_bn import BayesNetLearner, DiscretizedBayesNet
from gomea_bn.errors import GomeaBnError, GomeaBnWarning
from lab.methods.peers import GRID_SCORES
from lab.peers.pairs import CellCoder, patients, split
from lab.peers.prediction import table_of
from lab.published.search_engine import pyagrum_edges
from lab.runner.experiment import Option, Options, tabulated
from lab.runner.report import Sheet, sheet
from lab.runner.runs import timed, warm_up

_COLUMNS = ("", "numbers kept", "share of rows", "file / table", "edges", "density", "seconds")
# tables that come with the packages of the extra "peers" or are drawn
_TABLES = ("diabetes", "auto-mpg", "wine", "breast-cancer", "pima", "patients")
_MOST_PARENTS = 5
# a number of at most so many values has levels
_FEW = 2


def table_of_kept(name: str) -> pd.DataFrame | None:
    """Return the rows of a table or of a file, or None if a package that has them is not there."""
    if name == "patients":
        return patients()
    if name in _TABLES:
        found = table_of(name, None)
        return None if found is None else found[0].assign(target=found[1].to_numpy())
    if not Path(name).is_file():
        raise GomeaBnError(f"The table {name!r} is neither one of {', '.join(_TABLES)} nor a file.")
    return pd.read_csv(name, sep=None, engine="python")


def within(train: pd.DataFrame, held_out: pd.DataFrame) -> pd.DataFrame:
    """Return held-out rows with numbers clipped to the range of the training rows, without levels these lack."""
    known = np.ones(len(held_out), bool)
    clipped: dict[str, pd.Series] = {}
    for name, column in ((str(name), held_out[name]) for name in held_out):
        if pd.api.types.is_numeric_dtype(column) and column.nunique() > _FEW:
            clipped[name] = column.clip(train[name].min(), train[name].max())
        else:
            known &= (column.isna() | column.isin(train[name].dropna().unique())).to_numpy()
    return held_out.assign(**clipped).loc[known].reset_index(drop=True)


def _ours(rows: pd.DataFrame, options: Options, prefer: str) -> DiscretizedBayesNet:
    learner = BayesNetLearner(max_seconds=options.seconds, prefer=prefer, random_state=options.seed, n_jobs=1)
    return learner.fit(rows).network_


def _of_cells(rows: pd.DataFrame, score: str, ess: float) -> DiscretizedBayesNet:
    """Return the network that pyAgrum's tabu search learns from six quantile cells a column."""
    coder = CellCoder.of(rows)
    cells = coder.cells(rows)
    complete = np.logical_and.reduce([codes >= 0 for codes in cells.values()])
    frame = pd.DataFrame(
        {name: pd.Categorical(codes[complete], range(coder.sizes[name])) for name, codes in cells.items()}
    )
    edges = pyagrum_edges("useLocalSearchWithTabuList", frame, score, ess, most=_MOST_PARENTS)
    of_levels = rows.astype({name: pd.CategoricalDtype(levels) for name, levels in coder.levels.items()})
    return DiscretizedBayesNet.from_table(of_levels, edges, dict(coder.cuts), pseudo_count=1.0)


def kept_of_table(name: str, frame: pd.DataFrame, options: Options) -> Sheet:
    """Return one row per method."""
    rows, others = split(frame, options.seed)
    held_out = within(rows, others)
    of_text = len(rows.to_csv(index=False).encode())
    methods: dict[str, Callable[[], DiscretizedBayesNet]] = {
        "ours": lambda: _ours(rows, options, "simple"),
        "ours, density": lambda: _ours(rows, options, "density"),
    }
    if find_spec("pyagrum") is not None:
        methods["pyAgrum tabu, BIC"] = lambda: _of_cells(rows, *GRID_SCORES["BIC"])
    lines = []
    for label, learn in methods.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GomeaBnWarning)
            network, seconds = timed(learn)
            density = network.log_density(held_out, resolution="steps")
        lines.append(
            [
                label,
                f"{network.n_parameters:,}",
                f"{network.n_parameters / len(rows):.2f}",
                f"{len(network.to_json().encode()) / of_text:.2f}",
                len(network.edges),
                f"{density.mean():.3f} ± {density.std() / np.sqrt(len(density)):.3f}",
                f"{seconds:.1f}",
            ]
        )
    heading = (
        f"{Path(name).name}: {len(rows):,} training rows, {len(held_out):,} held out, {rows.shape[1]} columns"
    )
    return sheet(heading, _COLUMNS, lines)


def tables_of_kept(options: Options) -> list[Sheet]:
    """Return the sheets of the tables; those that are not there have a line that says so."""
    warm_up({})
    sheets = []
    for name in options.tables:
        frame = table_of_kept(name)
        if frame is None:
            sheets.append(sheet(f"{name}: left out, its package is not installed.", ("",), ()))
        else:
            sheets.append(kept_of_table(name, frame, options))
    return sheets


EXPERIMENTS = (
    tabulated(
        "kept-numbers",
        "Numbers that a network keeps, its file and its density of held-out rows",
        "A network is learned as it is by default, and as the density of left-out rows prefers it.",
        tables_of_kept,
        {
            "tables": Option(_TABLES, f"Tables: {', '.join(_TABLES)}, or files of columns with a header."),
            "seconds": Option(10.0, "Limit of a search."),
            "seed": Option(1, "Seed of the split and of the search."),
        },
        split=("tables",),
    ),
)
