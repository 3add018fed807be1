"""Files of cut points, which one command writes and another reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from gomea_bn.errors import GomeaBnError, is_real
from gomea_bn.runtime.files import field_of, head_of, json_text, read_json, write_text

FORMAT = "gomea-bn cut points"


def write_cut_file(path: str | os.PathLike[str], cut_points: Mapping[str, ArrayLike]) -> Path:
    """Write the inner cuts of every named column to a JSON file, replacing any file there, and return its path.

    The file is an object with three fields: "format" ("gomea-bn cut points"), "format_version" (1) and "cut_points".
    The latter maps a column's name to the increasing list of its inner cuts in the data's units, exact to the last bit.
    An empty list means one bin.
    """
    cuts = {name: np.asarray(inner, np.float64).tolist() for name, inner in cut_points.items()}
    content = {**head_of(FORMAT), "cut_points": cuts}
    return write_text(path, json_text(content, ["cut_points"]))


def read_cut_file(path: str | os.PathLike[str]) -> dict[str, list[float]]:
    """Return the inner cuts by column of a file that `write_cut_file` describes, or raise `GomeaBnError`."""
    content, where = read_json(Path(path), "a file of cut points", FORMAT)
    cut_points = field_of(content, "cut_points", dict, where)
    for name, cuts in cut_points.items():
        if not isinstance(cuts, list) or not all(is_real(cut) and isfinite(cut) for cut in cuts):
            raise GomeaBnError(
                f"{where}: the cuts of column {name!r} must be a list of numbers, got {cuts!r:.80}."
            )
    return {name: [float(cut) for cut in cuts] for name, cuts in cut_points.items()}
