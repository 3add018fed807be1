"""Pictures that commands write."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from gomea_bn.cli.output import FAILED, WRONG_USE, fail, finishing, say
from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ENDINGS = (".png", ".svg", ".pdf")


def check_figure(option: str, target: Path) -> None:
    """Exit with code 2 if a file does not have the ending of a picture."""
    if target.suffix.lower() not in _ENDINGS:
        fail(f"{option}: '{target}' must end in .png, .svg or .pdf.", WRONG_USE)


def write_figure(draw: Callable[[], Axes], target: Path) -> None:
    """Write the figure of the axes that a function draws, or exit with code 1."""
    from gomea_bn.runtime.files.atomic_files import write_bytes

    content = BytesIO()
    figure = draw().get_figure(root=True)
    assert figure is not None
    figure.savefig(content, format=target.suffix[1:].lower(), bbox_inches="tight")
    with finishing("the plot"):
        try:
            write_bytes(target, content.getvalue())
        except GomeaBnError as error:
            fail(error, FAILED)
        say(f"Wrote {target}.")
