"""Averaged networks as JSON: the network, then the cuts and tables of its copies, then the lines."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.averaged.family_line import FamilyLine
from gomea_bn.network.averaged.network import AveragedBayesNet
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.formats import json_format
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.runtime.files.atomic_files import write_text
from gomea_bn.runtime.files.json_files import field_of, read_json
from gomea_bn.runtime.files.text_files import prefixed_errors

__all__ = ["FORMAT", "FORMAT_VERSION", "from_json", "to_json"]

FORMAT = "gomea-bn averaged network"
FORMAT_VERSION = 1


def to_json(averaged: AveragedBayesNet, path: str | os.PathLike[str] | None = None) -> str:
    """Return an averaged network as JSON text, and write it to `path` if given.

    The field "network" holds the network that is shown, as in a file of its own. A copy has its cut points and tables.
    Numbers are written so that reading them gives the same float64.
    """
    copies = [
        {
            "cut_points": {name: cuts.tolist() for name, cuts in copy.cut_points.items()},
            "tables": {name: table.tolist() for name, table in copy.tables.items()},
        }
        for copy in averaged.copies
    ]
    probabilities = {
        name: averaged.cut_probabilities(name)["probability"].tolist()
        for name in averaged.network.cut_points
        if averaged.has_cut_probabilities
    }
    intervals = {
        name: averaged.cut_intervals(name)[["low", "high"]].to_numpy().tolist()
        for name in averaged.network.cut_points
        if averaged.has_cut_intervals
    }
    head = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "n_rows": averaged.n_rows,
        "network": json.loads(averaged.network.to_json()),
        "lines": {name: line.to_content() for name, line in averaged.lines.items()},
        "scales": {name: shape.to_content() for name, shape in averaged.scales.items()},
        "units": {name: list(scale) for name, scale in averaged.units.items()},
        "cut_probabilities": probabilities,
        "cut_intervals": intervals,
    }
    fields = [f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in head.items()]
    lines = [f"    {json.dumps(copy, allow_nan=False)}" for copy in copies]
    fields.append('  "copies": [\n' + ",\n".join(lines) + "\n  ]")
    text = "{\n" + ",\n".join(fields) + "\n}\n"
    if path is not None:
        write_text(path, text)
    return text


def from_json(source: str | os.PathLike[str]) -> AveragedBayesNet:
    """Return the averaged network of a JSON file, or of JSON text, which begins with a brace.

    Raises
    ------
    GomeaBnError
        For a file that cannot be read, is not such JSON or has another format version, and for a description that is
        not a valid network.
    """
    content, where = read_json(source, "an averaged network", FORMAT, FORMAT_VERSION)
    with prefixed_errors(where):
        described = field_of(content, "network", dict, "the averaged network")
        network = json_format.network_from_content(described, "network", DiscretizedBayesNet)
        copies = field_of(content, "copies", list, "the averaged network")
        lines = field_of(content, "lines", dict, "the averaged network")
        scales = field_of(content, "scales", dict, "the averaged network")
        return AveragedBayesNet(
            network,
            [_copy_of(network, copy, f"copies[{k}]") for k, copy in enumerate(copies)],
            lines={name: FamilyLine.from_content(line) for name, line in lines.items()},
            scales={name: Shape.from_content(shape) for name, shape in scales.items()},
            # files of earlier versions have no lines in own units
            units=field_of({"units": {}, **content}, "units", dict, "the averaged network"),
            n_rows=field_of(content, "n_rows", int, "the averaged network"),
            cut_probabilities=field_of(content, "cut_probabilities", dict, "the averaged network"),
            # files of earlier versions have none
            cut_intervals=field_of(
                {"cut_intervals": {}, **content}, "cut_intervals", dict, "the averaged network"
            ),
        )


def _copy_of(network: DiscretizedBayesNet, content: Any, where: str) -> DiscretizedBayesNet:
    """Return a copy of a network with other cuts and tables."""
    if not isinstance(content, Mapping):
        raise GomeaBnError(f"{where} must be an object, got {type(content).__name__}.")
    return DiscretizedBayesNet(
        network.names,
        network.edges,
        cut_points=field_of(content, "cut_points", dict, where),
        support=network.support,
        levels=network.levels,
        tables=field_of(content, "tables", dict, where),
        shapes=network.shapes,
        curve_edges=network.curve_edges,
        pseudo_count=network.pseudo_count,
    )
