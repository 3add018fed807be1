"""The cells of the notebooks in docs run, and show what the notebooks keep."""

import json
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("name", ["notebook", "questions", "own_problem"])
def test_the_cells_run_and_show_what_the_notebook_keeps(name):
    notebook = json.loads((DOCS / f"{name}.ipynb").read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    n_shown = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        *lines, last = "".join(cell["source"]).rstrip().splitlines()
        exec("\n".join(lines), names)
        value = eval(last, names)
        (output,) = cell["outputs"]
        by_kind = {kind: "".join(text) for kind, text in output["data"].items()}
        if "text/plain" in by_kind:
            # long texts are shortened
            assert repr(value).startswith(by_kind["text/plain"].removesuffix("..."))
        if "text/html" in by_kind:
            assert value._repr_html_().count("<rect") == by_kind["text/html"].count("<rect")
        n_shown += 1
    assert n_shown >= 3
