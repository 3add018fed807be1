"""The experiment `answers-truth`: answers about an outcome next to the truth of a simulated table.

A file with a function `clinic(seed)` draws rows with the probability of their outcome, and `messy(frame, seed)` leaves
gaps; a limit, "<2", stands for numbers below it. Patients need no file, and have gaps in any case. Seven of ten rows
are learned from. Findings are the cells of all other columns, six at quantiles of the training rows, or levels, with at
least 150 of these rows. The truth of a finding is the mean of the probabilities of all rows with it. Other rows give
the AUC. Logistic regression has standardised numbers, indicators of levels, and medians and most frequent levels in
gaps.
"""

import importlib.util
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, ParetoBayesNetLearner
from gomea_bn.errors import GomeaBnError, GomeaBnWarning
from lab.peers.clinical import imputed
from lab.peers.pairs import CellCoder, chance_of_return, patients, split
from lab.peers.prediction import encoded
from lab.runner.experiment import Experiment, Option, Options, Row, Task, records
from lab.runner.printing import with_error
from lab.runner.report import Report, Sheet, group_by, sheet
from lab.runner.runs import warm_up

CLINIC, PATIENTS = "clinic", "patients"
OUTCOMES = {CLINIC: "returned", PATIENTS: "again"}
"""The outcome of every law."""
_LEAST_ROWS = 150
_COLUMNS = ("", "root mean square distance", "mean distance", "AUC", "edges")
LEARN, FOR_OUTCOME, OF_FRONT, REGRESSION, GROUP_BY, TRUTH = (
    "learn", "learn --target", "front, recommended", "logistic regression", "group-by", "truth",
)  # fmt: skip


def cases_of(path: str) -> Any:
    """Return the module of a file with a function `clinic`."""
    spec = importlib.util.spec_from_file_location("cases", path)
    if spec is None or spec.loader is None:
        raise GomeaBnError(f"--clinic must be a Python file, got {path!r}.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawn(law: str, clinic: str | None, seed: int, *, gaps: bool) -> tuple[pd.DataFrame, pd.DataFrame, Any]:
    """Return 8,000 rows of a law, the same as they are shown to learners, and the probabilities of the outcome."""
    if law == PATIENTS:
        rows = patients(8_000, seed)
        p = chance_of_return(rows["illnesses"], rows["days"]).to_numpy()
        # numbers in place of levels, as the visits to a clinic have
        rows[OUTCOMES[law]] = (rows[OUTCOMES[law]] == "yes").astype(int)
        return rows, rows, p
    assert clinic is not None
    cases = cases_of(clinic)
    rows, p = cases.clinic(seed)
    return rows, as_numbers(cases.messy(rows, seed), rows) if gaps else rows, p


def findings(
    train: pd.DataFrame, rows: pd.DataFrame, outcome: str
) -> list[tuple[str, object, NDArray[np.bool_]]]:
    """Return column, finding, and which rows have it, of the findings with enough training rows."""
    coder, found = CellCoder.of(train), []
    of_train, of_rows = coder.cells(train), coder.cells(rows)
    for name, size in coder.sizes.items():
        for cell in range(size if name != outcome else 0):
            if (of_train[name] == cell).sum() < _LEAST_ROWS:
                continue
            finding: object = coder.levels[name][cell] if name in coder.levels else None
            if finding is None:
                ends = [-np.inf, *coder.cuts[name].tolist(), np.inf]
                finding = pd.Interval(ends[cell], ends[cell + 1])
            found.append((name, finding, of_rows[name] == cell))
    return found


def network_of(
    method: str, train: pd.DataFrame, outcome: str, seconds: float, seed: int
) -> DiscretizedBayesNet:
    """Return the network that a method learns."""
    limits: dict[str, Any] = {"max_seconds": seconds, "random_state": seed, "n_jobs": 1}
    if method == OF_FRONT:
        front = ParetoBayesNetLearner(target=outcome, **limits).fit(train).front_
        return front.recommended().candidate.network
    target = outcome if method == FOR_OUTCOME else None
    return BayesNetLearner(target=target, **limits).fit(train).network_


def regression_answers(train: pd.DataFrame, new: pd.DataFrame, outcome: str) -> NDArray[np.float64]:
    """Return the probabilities of the outcome by logistic regression, float64 (n_new,)."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, others = encoded(*imputed(train.drop(columns=outcome), new.drop(columns=outcome)))
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)).fit(x, train[outcome])
    return np.asarray(model.predict_proba(others)[:, 1], np.float64)


def asked_of(network: DiscretizedBayesNet, name: str, finding: object) -> dict[str, object]:
    """Return a finding as evidence; an interval of a column of levels is the set of those inside."""
    if name in network.levels and isinstance(finding, pd.Interval):
        return {name: {level for level in network.levels[name] if level in finding}}
    return {name: finding}


def as_numbers(shown: pd.DataFrame, complete: pd.DataFrame) -> pd.DataFrame:
    """Return rows whose numbers may be missing or texts, "<2", with these columns as numbers: the limit for "<2"."""
    numbers = {
        name: pd.to_numeric(shown[name].astype(str).str.lstrip("<"), errors="coerce")
        for name in shown.columns
        if pd.api.types.is_numeric_dtype(complete[name])
    }
    return shown.assign(**numbers)


def one_table(task: Task) -> dict[str, Any]:
    """Return distances to the truth, AUC and edges of every method on one table."""
    from sklearn.metrics import roc_auc_score

    seed, target = task["seed"], OUTCOMES[task["law"]]
    complete, shown, p = drawn(task["law"], task["clinic"], seed, gaps=task["gaps"])
    # the same rows of all frames
    train, new = split(shown, seed)
    is_train = np.zeros(len(complete), np.bool_)
    is_train[split(pd.DataFrame({"row": np.arange(len(complete))}), seed)[0]["row"]] = True
    asked = findings(complete[is_train], complete, target)
    truth = np.array([p[rows].mean() for _, _, rows in asked])
    outcome = complete[target].to_numpy()
    warm_up({})
    found: dict[str, list[float | None]] = {}

    def add(method: str, answers: Any, predicted: Any, edges: int | None = None) -> None:
        distances: list[float | None] = [None, None]
        if answers is not None:
            gaps = np.asarray(answers, np.float64) - truth
            distances = [float((gaps**2).mean() ** 0.5), float(np.abs(gaps).mean())]
        auc = None if predicted is None else float(roc_auc_score(new[target], predicted))
        found[method] = [*distances, auc, edges]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GomeaBnWarning)
        for method in task["methods"]:
            network = network_of(method, train, target, task["seconds"], seed)
            answers = [network.query(target, asked_of(network, name, of)).iloc[1] for name, of, _ in asked]
            predicted = network.predict_proba(new.drop(columns=target), target).to_numpy()[:, 1]
            add(method, answers, predicted, len(network.edges))
    known = {name: shown[name].notna().to_numpy() & is_train for name, _, _ in asked}
    add(GROUP_BY, [outcome[rows & known[name]].mean() for name, _, rows in asked], None)
    add(REGRESSION, None, regression_answers(train, new, target))
    add(TRUTH, None, split(pd.DataFrame({"p": p}), seed)[1]["p"])
    return {"methods": found}


def tables_of(options: Options) -> list[Task]:
    """Return a task per table, without and with gaps; none of a law without the file that draws it."""
    fixed = {"clinic": options.clinic, "seconds": options.seconds, "methods": list(options.methods)}
    return [
        {"law": law, "gaps": gaps, "seed": options.seed + number, **fixed}
        for law in options.laws
        for gaps in ((True,) if law == PATIENTS else (False, True))
        for number in range(options.tables if law == PATIENTS or options.clinic is not None else 0)
    ]


def truth_report(options: Options, rows: Sequence[Row]) -> Report:
    """Return a table of means with standard errors over the tables, without and with gaps."""
    sheets = [
        _sheet(law, gaps, records(group)) for (law, gaps), group in group_by(rows, "law", "gaps").items()
    ]
    if CLINIC in options.laws and options.clinic is None:
        sheets.append(sheet("Clinic: left out, needs --clinic FILE.", ("",), ()))
    return Report(tuple(sheets))


def _sheet(law: str, gaps: bool, tables: list[dict[str, Any]]) -> Sheet:
    lines = []
    for label in tables[0]["methods"]:
        columns = zip(*(table["methods"][label] for table in tables), strict=True)
        cells = [
            "-" if None in column else with_error(column, digits)
            for column, digits in zip(columns, (4, 4, 3, 1), strict=True)
        ]
        lines.append([label, *cells])
    heading = f"{law}, {'with' if gaps else 'without'} gaps: {len(tables)} tables, means ± standard errors"
    return sheet(heading, _COLUMNS, lines)


EXPERIMENTS = (
    Experiment(
        name="answers-truth",
        title="Answers about an outcome next to the truth, and how well it is predicted",
        source=(__doc__ or "").partition("\n\n")[2],
        tasks=tables_of,
        measure=one_table,
        report=truth_report,
        options={
            "laws": Option((CLINIC, PATIENTS), "Laws of tables.", choices=(CLINIC, PATIENTS)),
            "clinic": Option(None, "File with functions clinic(seed) and messy(frame, seed).", str),
            "tables": Option(10, "Tables without gaps, and as many with gaps.", least=1),
            "methods": Option(
                (LEARN, FOR_OUTCOME, OF_FRONT), "Ways to learn.", choices=(LEARN, FOR_OUTCOME, OF_FRONT)
            ),
            "seconds": Option(15.0, "Limit of a search."),
            "seed": Option(1, "Seed of the first table.", least=0),
        },
    ),
)
"""All experiments by name."""
