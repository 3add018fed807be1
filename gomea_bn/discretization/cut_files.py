"""Cut points in a file of their own, so that one command's cuts can be the next one's."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from gomea_bn.errors import GomeaBnError, is_real
from gomea_bn.runtime.atomic_files import write_text

__all__ = ["read_cut_file", "write_cut_file"]

FORMAT = "gomea-bn cut points"
FORMAT_VERSION = 1


def write_cut_file(path: str | os.PathLike[str], cut_points: Mapping[str, ArrayLike]) -> Path:
    """Return the path after a JSON file with the inner cuts of every named column replaced the file there.

    The file is an object with three fields: "format" ("gomea-bn cut points"), "format_version" (1) and "cut_points",
    from a column's name to the increasing list of its inner cuts in the data's units, exact to the last bit. An empty
    list is one bin.

    Raises
    ------
    GomeaBnError
        If the file cannot be written.
    """
    lines = [
        f"    {json.dumps(name)}: {json.dumps(np.asarray(cuts, np.float64).tolist(), allow_nan=False)}"
        for name, cuts in cut_points.items()
    ]
    listed = "{\n" + ",\n".join(lines) + "\n  }" if lines else "{}"
    head = f'  "format": {json.dumps(FORMAT)},\n  "format_version": {FORMAT_VERSION},\n'
    return write_text(path, "{\n" + head + f'  "cut_points": {listed}\n' + "}\n")


def read_cut_file(path: str | os.PathLike[str]) -> dict[str, list[float]]:
    """Return the inner cuts by column of a file that `write_cut_file` describes.

    Raises
    ------
    GomeaBnError
        For a file that cannot be read, or is none of that kind.
    """
    shown = f"File '{os.fspath(path)}'"
    try:
        with open(path, encoding="utf-8-sig") as file:
            content = json.load(file)
    except OSError as error:
        raise GomeaBnError(f"{shown} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise GomeaBnError(f"{shown} is not JSON: {error}.") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        got = repr(content.get("format")) if isinstance(content, dict) else type(content).__name__
        raise GomeaBnError(f'{shown} holds no cut points: wanted "format": {FORMAT!r}, got {got:.80}.')
    version = content.get("format_version")
    if version != FORMAT_VERSION or isinstance(version, bool):
        raise GomeaBnError(
            f"{shown} has format_version {version!r:.40}; this release reads {FORMAT_VERSION}. "
            "A newer file needs a newer gomea-bn."
        )
    cut_points = content.get("cut_points")
    if not isinstance(cut_points, dict):
        raise GomeaBnError(f"{shown}: wanted an object under 'cut_points', got {type(cut_points).__name__}.")
    for name, cuts in cut_points.items():
        if not isinstance(cuts, list) or not all(is_real(cut) and isfinite(cut) for cut in cuts):
            raise GomeaBnError(
                f"{shown}: the cuts of column {name!r} must be a list of numbers, got {cuts!r:.80}."
            )
    return {name: [float(cut) for cut in cuts] for name, cuts in cut_points.items()}
