"""What the texts of options stand for: kinds, cuts, edges, tiers and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gomea_bn.cli.output import say
from gomea_bn.data.files.reading import ReadingOptions, reading_file
from gomea_bn.errors import GomeaBnError, Option
from gomea_bn.runtime.files import file_text, prefixed_errors

if TYPE_CHECKING:
    from gomea_bn.problems.knowledge import ExpertKnowledge
    from gomea_bn.runtime.checkpoints import Checkpoint


_FIELD = re.compile(r'\s*(?:"((?:[^"]|"")*)"|((?:[^",\s][^,]*)?))\s*(,|\Z)')
# a name on either side of an arrow, quoted or without commas and arrows
_NAME = r'(\s*"(?:[^"]|"")*"\s*|\s*(?!["\s])(?:(?!->)[^,])*)'
_ARROW = re.compile(f"{_NAME}->{_NAME}")


def read_reading(given: Mapping[str, Any], recorded: Mapping[str, Any] | None = None) -> ReadingOptions:
    """Return the options for reading tables.

    `given` has None for options that the user did not give; `recorded` has values for those, as of
    `ReadingOptions.given`.
    """
    options = {name: value for name, value in given.items() if value is not None}
    if "na_values" in options:
        fields = [field for text in options["na_values"] for field in fields_of("--na-values", text)]
        options["na_values"] = [field for field in fields if field]
    for name in ("columns", "drop"):
        if name in options:
            options[name] = [field for text in options[name] for field in _names(f"--{name}", text)]
    recorded = dict(recorded or {})
    if "forms" in options:
        options["forms"] = {**recorded.get("forms", {}), **read_forms(options["forms"])}
    return ReadingOptions.of(**{**recorded, **options})


def read_reading_file(file: Path) -> dict[str, Any]:
    """Return the options of a file of options for reading, also those of `OF_TABLE`."""
    with prefixed_errors("--reading"):
        return reading_file(file)


def read_forms(texts: Iterable[str]) -> dict[str, str]:
    """Return the forms in "name=number in mg" and "name=date day-month"; the last "=" separates name and form."""
    forms: dict[str, str] = {}
    for text in texts:
        name, form = _assignment("--form", text, "name=FORM, such as 'day=date day-month'")
        if name in forms:
            raise GomeaBnError(f"--form names '{name}' twice; give one form per column.")
        forms[name] = form
    return forms


def read_kinds(texts: Iterable[str]) -> dict[str, str]:
    """Return the kinds in "name=continuous" and "name=discrete"; the last "=" separates name and kind."""
    kinds: dict[str, str] = {}
    for text in texts:
        name, kind = _assignment("--kind", text, "name=continuous or name=discrete")
        if kind not in ("continuous", "discrete"):
            raise GomeaBnError(f"--kind: '{name}' must be continuous or discrete, got {kind!r}.")
        if name in kinds:
            raise GomeaBnError(f"--kind names '{name}' twice; give one kind per column.")
        kinds[name] = kind
    return kinds


def value_of_column(text: str, names: Iterable[str]) -> tuple[str, str] | None:
    """Return the column and the value that "column=value" names, of which both may contain "="; None for others."""
    # the longest name first, since names may begin with others
    for name in sorted(names, key=len, reverse=True):
        rest = text.strip().removeprefix(name).lstrip()
        if text.strip().startswith(name) and rest.startswith("="):
            return name, rest[1:].strip()
    return None


def read_cells(option: str, text: str, names: Iterable[str]) -> dict[str, str]:
    """Return the values in "age=70, alone=yes" by column; `names` are the columns of the table."""
    cells: dict[str, str] = {}
    form = "column=value, ..., such as 'age=70, alone=yes'"
    for field in fields_of(option, text):
        name, value = value_of_column(field, names) or _assignment(option, field, form)
        if name in cells:
            raise GomeaBnError(f"{option} names '{name}' twice; give one value per column.")
        cells[name] = value
    return cells


def read_cut_points(texts: Iterable[str]) -> dict[str, list[float]]:
    """Return the cuts in "name=1,2.5,4" and in files of cuts; "name=" stands for one bin without cuts."""
    cut_points: dict[str, list[float]] = {}
    for text in texts:
        for name, cuts in _cuts_in(text).items():
            if name in cut_points:
                raise GomeaBnError(f"--cut-points names '{name}' twice; give all its cuts at once.")
            cut_points[name] = cuts
    return cut_points


def cut_files(texts: Iterable[str]) -> list[Path]:
    """Return the files among the texts of `--cut-points`: those without an equals sign."""
    return [Path(text) for text in texts if "=" not in text]


def _cuts_in(text: str) -> dict[str, list[float]]:
    """Return the cuts by column in one text of `--cut-points`."""
    for file in cut_files([text]):
        from gomea_bn.discretization.cut_files import read_cut_file

        with prefixed_errors("--cut-points"):
            return read_cut_file(file)
    name, numbers = _assignment("--cut-points", text, "name=18,40,65 or a file")
    try:
        return {name: [float(number) for number in numbers.split(",")] if numbers else []}
    except ValueError:
        raise GomeaBnError(
            f"--cut-points of '{name}' must be numbers separated by commas, got {numbers!r}."
        ) from None


def read_edges(option: str, texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return the (parent, child) pairs in "a,b" or "a->b"; names with commas or arrows are quoted as in CSV."""
    edges = []
    for text in texts:
        arrow = _ARROW.fullmatch(text)
        sides = [text] if arrow is None else arrow.groups()
        fields = [field for side in sides for field in fields_of(option, side)]
        if len(fields) != 2 or not all(fields):
            raise GomeaBnError(f"{option} must be parent,child or parent->child, got {text!r}.")
        edges.append((fields[0], fields[1]))
    return edges


def read_tiers(texts: Iterable[str], file: Path | None) -> list[list[str]]:
    """Return the tiers, earliest first, in repeated "a,b" texts or in a file with one such line per tier."""
    if file is None:
        return [_names("--tier", text) for text in texts]
    if list(texts):
        raise GomeaBnError("Give --tier or --tiers, not both.")
    with prefixed_errors("--tiers"):
        lines = file_text(file, "a list of tiers").splitlines()
    tiers = [_names("--tiers", line) for line in lines if line.strip()]
    if not tiers:
        raise GomeaBnError(
            f"--tiers: file '{file}' names no column; write one tier per line, its names separated by commas."
        )
    return tiers


def read_knowledge(
    *,
    require: Iterable[str] | None,
    forbid: Iterable[str] | None,
    rules: Path | None,
    tier: Iterable[str] | None,
    tiers: Path | None,
    max_table_cells: int,
) -> ExpertKnowledge:
    """Return the rules on edges that the options of these names state."""
    from gomea_bn.problems.knowledge import ExpertKnowledge

    temporal_order = read_tiers(tier or (), tiers)
    if len(temporal_order) == 1:
        option = "--tiers" if tiers is not None else "--tier"
        say(f"Warning: {option}: one tier alone rules out no edge; name at least two, earliest first.")
    required, forbidden = read_edges("--require", require or ()), read_edges("--forbid", forbid or ())
    if rules is not None:
        from gomea_bn.front.decision import read_decision

        with prefixed_errors("--rules"):
            decision = read_decision(rules)
        if not decision.required_edges and not decision.forbidden_edges:
            say(f"Warning: --rules: file '{rules}' has no rule about an edge.")
        required = list(dict.fromkeys([*required, *decision.required_edges]))
        forbidden = list(dict.fromkeys([*forbidden, *decision.forbidden_edges]))
    return ExpertKnowledge(
        required_edges=required,
        forbidden_edges=forbidden,
        temporal_order=temporal_order,
        max_table_cells=max_table_cells,
    )


def read_jobs(jobs: int) -> int:
    """Return the number of threads that --jobs stands for; 0 is all cores."""
    from gomea_bn.runtime.threads import thread_count

    return thread_count(jobs or -1)


def _assignment(option: str, text: str, form: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals or not name.strip():
        raise GomeaBnError(f"{option} must be {form}, got {text!r}.")
    return name.strip(), value.strip()


def _names(option: str, text: str) -> list[str]:
    names = fields_of(option, text)
    if not all(names):
        raise GomeaBnError(f"{option} must be column names separated by commas, got {text!r}.")
    return names


def fields_of(option: str, text: str) -> list[str]:
    """Return the fields of a text that are separated by commas, and may be quoted as in CSV."""
    fields, end = [], 0
    while True:
        field = _FIELD.match(text, end)
        if field is None:
            raise GomeaBnError(
                f"{option}: {text!r} cannot be read: a name that begins with a quote must end with one, and "
                "quotes in it must be written twice."
            )
        quoted, plain, comma = field.groups()
        fields.append(plain.strip() if quoted is None else quoted.replace('""', '"').strip())
        if not comma:
            return fields
        end = field.end()


def checkpoint_of_options(folder: Path | None, every: float | None, resume: bool) -> Checkpoint | None:
    """Return what `--checkpoint`, `--every` and `--resume` ask for; raises `GomeaBnError` if it cannot be used."""
    from gomea_bn.runtime.checkpoints import Checkpoint

    if folder is None:
        for name, is_given in (("resume", resume), ("every", every is not None)):
            if is_given:
                raise GomeaBnError([Option(name), " needs the folder of ", Option("checkpoint"), "."])
        return None
    checkpoint = Checkpoint(folder, resume=resume) if every is None else Checkpoint(folder, every, resume)
    checkpoint.check()
    return checkpoint
