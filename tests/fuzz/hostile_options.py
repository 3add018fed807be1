"""Random calls of commands, with values of options that fit, that are on the edge, and that are nonsense."""

from __future__ import annotations

from pathlib import Path

from numpy.random import Generator

__all__ = ["command_line"]

_NUMBERS = (
    "0",
    "1",
    "2",
    "5",
    "-1",
    "1e-300",
    "1e300",
    "inf",
    "nan",
    "",
    "x",
    "99999999999999999999",
    "0.5",
    "1,5",
)
_TEXTS = (
    "a",
    "b",
    "c",
    "d",
    "zzz",
    "",
    " ",
    "a,b",
    "a=1",
    "=",
    "#1",
    "../x",
    "\x00",
    "é",
    "a->b",
    "b->a",
    "x" * 400,
)
# what every search gets last, so that it ends soon
_SHORT = ("--max-evaluations", "20", "--max-seconds", "3", "-q")
_SEARCH_OPTIONS: dict[str, tuple[str, ...]] = {
    "--max-bins": ("auto", *_NUMBERS),
    "--min-width": _NUMBERS,
    "--min-bin-count": _NUMBERS,
    "--shape": ("auto", "uniform", "marginal", "x"),
    "--max-indegree": ("auto", *_NUMBERS),
    "--max-candidates": ("all", "auto", *_NUMBERS),
    "--max-table-cells": _NUMBERS,
    "--seed": _NUMBERS,
    "--kind": ("a=discrete", "d=continuous", *_TEXTS),
    "--cut-points": ("a=0", "a=0,0", "a=nan", "d=0", "a=", *_TEXTS),
    "--require": ("a->b", "b->a", "a->a", *_TEXTS),
    "--forbid": ("a->b", "a->c", *_TEXTS),
    "--tier": ("a,b", "c", "d", *_TEXTS),
    "--missing": ("error", "drop", "x"),
    "--max-levels": _NUMBERS,
    "--pseudo-count": ("auto", *_NUMBERS),
    "--jobs": ("0", "1", "2", "1000000000", "-1", "x"),
    "--sep": (",", ";", "tab", "", "xx"),
    "--decimal": (".", ",", "x"),
    "--na-values": ("1", "?", "", "a,b"),
    "--columns": _TEXTS,
    "--drop": _TEXTS,
    "--header": ("none", "first-line", "x"),
    "--encoding": ("utf-8", "x", "utf-16"),
}
_COMMANDS: dict[str, dict[str, tuple[str, ...]]] = {
    "learn": {
        "--discretizer": ("optimal", "equal-frequency", "equal-width", "x", ""),
        "--scoring-method": ("density-bic", "density-bd", "bic", "bdeu", "x"),
        "--penalty": ("bic", "aic", *_NUMBERS),
        "--edge-cost": _NUMBERS,
        "--cut-cost": _NUMBERS,
        "--ess": _NUMBERS,
        "--prior": ("bdeu", "dirichlet", "x"),
        "--patience": _NUMBERS,
        "--max-generations": _NUMBERS,
        **_SEARCH_OPTIONS,
    },
    "front": {
        "--objective": ("misfit", "complexity", "expert_distance", "x"),
        "--max-complexity": _NUMBERS,
        "--single-share": _NUMBERS,
        "--single-evaluations": _NUMBERS,
        "--networks": _NUMBERS,
        "--misfit": ("left-out", "in-sample", "x"),
        **_SEARCH_OPTIONS,
    },
    "refine": {
        "--method": ("dp", "mdl", "x"),
        "--bin-counts": ("fixed", "free", "x"),
        "--max-bins": ("auto", *_NUMBERS),
        "--min-width": _NUMBERS,
        "--min-bin-count": _NUMBERS,
        "--seed": _NUMBERS,
        "--penalty": _NUMBERS,
    },
    "show": {},
    "export": {"--to": ("json", "bif", "dot", "xdsl", "csv", "x", ""), "--network": ("0", "knee", *_TEXTS)},
    "query": {"--target": _TEXTS, "--evidence": _TEXTS},
    "predict": {"--target": _TEXTS},
    "impute": {},
    "compare": {},
    "certify": {"--max-seconds": ("1", "x")},
    "fit": {"--pseudo-count": _NUMBERS, "--shape": ("auto", "uniform", "x")},
}


def command_line(rng: Generator, originals: Path, out: Path) -> list[str]:
    """Return a command with arguments and zero to three options; it writes to `out` alone."""
    rows, run, front = str(originals / "rows.csv"), str(originals / "run"), str(originals / "front")
    odd = (
        str(originals),
        str(out / "missing.csv"),
        rows,
        run,
        front,
        f"{front}#1",
        f"{front}#99",
        f"{front}#knee",
        "",
    )
    name = list(_COMMANDS)[int(rng.choice(len(_COMMANDS), p=[0.2, 0.2, *[0.6 / 9] * 9]))]
    arguments = {
        "learn": [rows],
        "front": [rows],
        "refine": [run, rows],
        "show": [run],
        "export": [front],
        "query": [run],
        "predict": [run, rows],
        "impute": [run, rows],
        "compare": [run, f"{front}#1"],
        "certify": [run, rows],
        "fit": [run, rows],
    }[name]
    if rng.random() < 0.15:
        arguments[int(rng.integers(len(arguments)))] = odd[int(rng.integers(len(odd)))]
    options = _COMMANDS[name]
    for option in rng.permutation(list(options))[: rng.integers(0, 4)].tolist():
        arguments += [option, str(options[option][int(rng.integers(len(options[option])))])]
    if name in ("learn", "front"):
        arguments += _SHORT
    if (rng.random() < 0.5 and name not in ("show", "query", "compare", "certify")) or name in (
        "refine",
        "fit",
        "impute",
    ):
        ending = {"learn": "", "front": "", "predict": ".csv", "impute": ".csv"}.get(name, ".json")
        arguments += ["--out", str(out / f"{name}-out{ending}")]
    return [name, *arguments]
