"""The experiment `generated-rows`: rows drawn by networks and by other generators, told from real rows by a classifier.

The measure is C2ST as the scripts of TabPC (arXiv 2603.23016) take it from the detection of sdmetrics. A classifier
learns from two thirds of the real and the generated rows to tell them apart, and is asked about the last third. The
score is the mean of 1 - (2 max(AUC, 1/2) - 1) over the three thirds: 1 if no row can be told apart, 0 if all can. There
are as many generated as real rows. Real rows are those that the generator has not seen, and, as in TabPC's table, those
that it learned from. TabPC takes XGBoost with default options, `--classifier xgboost`. The default is gradient boosting
of scikit-learn with the same number and depth of trees, step and penalty.
"""

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from multiprocessing import TimeoutError as OverTime
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from gomea_bn import BayesNetEnsemble
from lab.methods.generators import (
    Generator,
    adversarial_forest,
    gaussian_copula,
    gaussian_mixture,
    probabilistic_circuit,
)
from lab.methods.skeleton_peers import encoded
from lab.runner.experiment import Experiment, Option, Options, Row, Task
from lab.runner.printing import with_error
from lab.runner.report import Report, group_by, sheet
from lab.runner.runs import ReplaceableProcess, make_learner, named_options, timed, warm_up
from lab.samples.real_tables import TABLES, RealTable, keel_table

TRAINING_SHARE = 0.9
N_FOLDS = 3
NETWORK, AVERAGE = "one network", "average of networks"
GENERATED_TABLES: dict[str, Callable[[], RealTable]] = {
    **{name: partial(keel_table, name) for name in ("magic", "phoneme", "ring", "vehicle")},
    "breast cancer": TABLES["breast cancer"],
    "diabetes": TABLES["diabetes"],
}
PEERS: dict[str, tuple[str, Callable[..., Generator]]] = {
    "Gaussian mixtures, scikit-learn": ("sklearn", gaussian_mixture),
    "Gaussian copula, copulas": ("copulas", gaussian_copula),
    "sum-product network, spflow": ("spflow", probabilistic_circuit),
    "adversarial forest, arfpy": ("arfpy", adversarial_forest),
}
"""Module to import and function of a table, its training rows and a seed, by label."""


def _xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(eval_metric="logloss", random_state=0, n_jobs=1)


def _hist() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_depth=6, max_leaf_nodes=64, min_samples_leaf=4, learning_rate=0.3, l2_regularization=1.0,
        early_stopping=False, random_state=0,
    )  # fmt: skip


CLASSIFIERS: dict[str, Callable[[], Any]] = {"hist": _hist, "xgboost": _xgboost}


def c2st(real: pd.DataFrame, generated: pd.DataFrame, classifier: str = "hist") -> float:
    """Return how little a classifier tells generated from real rows: 1 - (2 max(AUC, 1/2) - 1), mean of three folds."""
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold

    rows = np.concatenate([encoded(real), encoded(generated)])
    is_real = np.repeat([1, 0], [len(real), len(generated)])
    scores = []
    for learn, judge in StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(rows, is_real):
        with threadpool_limits(1):
            model = CLASSIFIERS[classifier]().fit(rows[learn], is_real[learn])
            auc = roc_auc_score(is_real[judge], model.predict_proba(rows[judge])[:, 1])
        scores.append(2.0 - 2.0 * max(auc, 0.5))
    return float(np.mean(scores))


def generated(options: Options) -> list[Task]:
    """Return a task per table, split and method."""
    fixed = {
        "seconds": options.seconds,
        "networks": options.networks,
        "classifier": options.classifier,
        "options": {"discretizer": "optimal", "density": "averaged", **named_options(options.option)},
    }
    return [
        {**fixed, "table": name, "split": split, "method": method}
        | ({"timeout": options.timeout} if method in PEERS else {})
        for name in options.tables
        for split in range(options.splits)
        for method in (NETWORK, AVERAGE, *([] if options.without_peers else PEERS))
    ]


def one_split(task: Task) -> dict[str, Any]:
    """Return the scores of one method on one split of a table, or why there are none."""
    if task["method"] not in PEERS:
        warm_up(task["options"])
        return _scores(task)
    module = PEERS[task["method"]][0]
    if find_spec(module) is None:
        return {"note": f"needs {module}: pip install {module}"}
    try:
        with ReplaceableProcess() as process:
            return process.call(_scores, task, timeout=task["timeout"])
    except OverTime:
        return {"note": f"stopped after {task['timeout']:g} s"}


def _scores(task: Task) -> dict[str, Any]:
    method = task["method"]
    real = GENERATED_TABLES[task["table"]]()
    order = np.random.default_rng(task["split"]).permutation(len(real.frame))
    parts = np.split(order, [int(TRAINING_SHARE * len(order))])
    train, test = (real.frame.iloc[rows].reset_index(drop=True) for rows in parts)
    fit = partial(PEERS[method][1], seed=task["split"]) if method in PEERS else partial(_ours, task=task)
    generator, to_fit = timed(fit, real, train)
    drawn, to_draw = timed(generator.sample, len(train))
    # mixtures draw one part after another
    drawn = drawn.iloc[np.random.default_rng(0).permutation(len(drawn))]
    densities = generator.log_density(test)
    possible = np.isfinite(densities)
    return {
        "held-out": c2st(test, drawn.iloc[: len(test)], task["classifier"]),
        "training": c2st(train, drawn, task["classifier"]),
        "density": float(densities[possible].mean()),
        "impossible": int((~possible).sum()),
        "seconds": {"fit": to_fit, "draw": to_draw},
        "note": "",
    }


def _ours(real: RealTable, train: pd.DataFrame, task: Task) -> Generator:
    """Return one network, or the average of networks that share the seconds of one."""
    fixed = {"kinds": real.kinds, "n_jobs": 1, "random_state": task["split"], "max_seconds": task["seconds"]}
    learner = make_learner(task["options"], **fixed)
    density: Any
    if task["method"] == NETWORK:
        density = learner.fit(train).network_
    else:
        density = BayesNetEnsemble(learner, n_networks=task["networks"], random_state=task["split"]).fit(
            train
        )
    return Generator(
        partial(density.sample, random_state=task["split"]), partial(density.log_density, resolution="steps")
    )


def generated_report(options: Options, rows: Sequence[Row]) -> Report:
    """Return one table per data set, a row for every method."""
    sheets = []
    for (name,), group in group_by(rows, "table").items():
        lines, notes = [], []
        for (method,), of_method in group_by(group, "method").items():
            results = [row["measured"] for row in of_method]
            ended = [result for result in results if not result["note"]]
            notes += [f"{method}: {note}" for note in {result["note"] for result in results} if note]
            if ended:
                cells = [with_error([result[key] for result in ended]) for key in ("held-out", "training")]
                density = with_error([result["density"] for result in ended], 2)
                if impossible := sum(result["impossible"] for result in ended):
                    density += f" without {impossible} impossible rows"
                times = [
                    f"{np.mean([result['seconds'][part] for result in ended]):.1f}"
                    for part in ("fit", "draw")
                ]
                lines.append([method, *cells, density, *times])
        heading = (
            f"{name}, {options.splits} splits, {options.seconds:g} s a fit, averages of {options.networks}, "
            f"classifier {options.classifier}: " + ", ".join(["defaults", *options.option])
        )
        columns = ("method", "C2ST, held-out rows", "C2ST, training rows", "nats a row", "seconds", "to draw")
        sheets.append(sheet(heading, columns, lines, "\n".join(notes)))
    return Report(tuple(sheets))


EXPERIMENTS = (
    Experiment(
        name="generated-rows",
        title="Rows drawn by networks and by other generators, told from real rows by a classifier",
        source="C2ST of TabPC (arXiv 2603.23016), and held-out log density in the units of the table.",
        tasks=generated,
        measure=one_split,
        report=generated_report,
        options={
            "tables": Option(("breast cancer", "diabetes"), "Tables.", choices=sorted(GENERATED_TABLES)),
            "splits": Option(3, "Number of splits: a tenth of the rows is held out.", least=1),
            "networks": Option(20, "Number of networks of an average.", least=1),
            "seconds": Option(20.0, "Deadline of a fit, of one network or of all that are averaged."),
            "timeout": Option(1_800.0, "Seconds after which another library is stopped."),
            "classifier": Option("hist", "Classifier that judges.", choices=sorted(CLASSIFIERS)),
            "option": Option((), "NAME=VALUE: an option of BayesNetLearner.", str),
            "without_peers": Option(False, "Leave other libraries out."),
        },
        in_turn=True,
    ),
)
