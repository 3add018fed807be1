"""What the commands print, the codes that they exit with, and the files and pictures that they write."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from gomea_bn.errors import GomeaBnError, spelling
from gomea_bn.runtime.interrupts import delayed_interrupts, ignore_until_exit

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from gomea_bn.data.files.reading import TextForm

FAILED, WRONG_USE, UNUSABLE_DATA, INTERRUPTED = 1, 2, 3, 130
PICTURES = (".png", ".svg", ".pdf")
NOTHING_WRITTEN = "Interrupted; nothing was written."

# significant digits of numbers in files for people
_DIGITS = 6


def say(text: str, to_error: bool = True) -> None:
    """Print text with control characters escaped; nothing is lost but messages if nobody reads standard error."""
    shown = "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
    try:
        typer.echo(shown, err=to_error)
    except BrokenPipeError:
        if not to_error:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def silent(_text: str) -> None:
    """Print nothing."""


def fail(problem: str | GomeaBnError, code: int, names: Mapping[str, str] | None = None) -> NoReturn:
    """Print an error, its options spelled as on the command line by `spelling(names)`, and exit with a code."""
    say(f"Error: {problem if isinstance(problem, str) else problem.text(spelling(names))}")
    raise typer.Exit(code)


@contextmanager
def failing(
    code: int,
    names: Mapping[str, str] | None = None,
    *,
    of_options: int | None = None,
    interrupted: str | None = None,
) -> Iterator[None]:
    """Turn a `GomeaBnError` in the block into an exit with a code, as `fail` does.

    Errors about an option have the code `of_options` if it is given. With a text for it, Ctrl-C is an exit too.
    """
    try:
        yield
    except GomeaBnError as error:
        fail(error, of_options if of_options is not None and error.is_about_option else code, names)
    except KeyboardInterrupt:
        if interrupted is None:
            raise
        fail(interrupted, INTERRUPTED)


@contextmanager
def finishing(task: str) -> Iterator[Callable[[], bool]]:
    """Delay the first Ctrl-C until the end of the block, with a message; a second one interrupts at once.

    The block is the last work of the command: signals after it change nothing. It gets a function that returns whether
    there was a Ctrl-C, for work that it may leave out.
    """
    interrupts: list[bool] = []

    def announce() -> None:
        interrupts.append(True)
        say(f"Interrupted: finishing {task} first; a second Ctrl-C abandons that.")

    with delayed_interrupts(announce):
        yield lambda: bool(interrupts)
        ignore_until_exit()


@contextmanager
def writing(out: Path, task: str = "the file") -> Iterator[None]:
    """Finish a task that writes a file, and say that it was written; exits with code 1 if it cannot be."""
    with finishing(task):
        with failing(FAILED):
            yield
        say(f"Wrote {out}.")


def deliver(text: str, out: Path | None) -> None:
    """Print a text, or write it to a file; exits with code 1 if that cannot be written."""
    from gomea_bn.runtime.files import write_text

    if out is None:
        typer.echo(text, nl=False)
        return
    with writing(out):
        write_text(out, text)


def deliver_frame(
    frame: pd.DataFrame,
    out: Path | None,
    *,
    as_parquet: bool = False,
    index: bool = False,
    form: TextForm | None = None,
    given: NDArray[np.bool_] | None = None,
) -> None:
    """Print a table as CSV, or write it to a file as CSV or Parquet; exits with code 1 if that cannot be written.

    CSV has the separator and the decimal mark of a form, by default a comma and a point. Computed numbers have at most
    six significant digits, but those of cells that are `given`, bool of the shape of the frame, stay. Texts that
    a spreadsheet would take for formulas begin with an apostrophe, and a message says so.
    """
    from gomea_bn.data.frames import require_pyarrow
    from gomea_bn.runtime.files import write_bytes

    if out is None or not as_parquet:
        separator, decimal = (",", ".") if form is None else form
        # blanks that separate hide missing cells
        separator = "\t" if separator == " " else separator
        safe, n_changed = without_formulas(
            rounded_frame(frame.reset_index(names=frame.index.name or "") if index else frame, given)
        )
        if n_changed:
            cells = "1 text" if n_changed == 1 else f"{n_changed:,} texts"
            say(
                f"{cells} would be formulas in a spreadsheet, and are written with an apostrophe before them."
            )
        deliver(safe.to_csv(lineterminator="\n", index=False, sep=separator, decimal=decimal or "."), out)
        return
    with writing(out):
        require_pyarrow("Writing Parquet")
        write_bytes(out, frame.to_parquet(index=index))


def rounded_frame(frame: pd.DataFrame, given: NDArray[np.bool_] | None = None) -> pd.DataFrame:
    """Return a table whose floating-point numbers have at most six significant digits, but for cells that are given."""
    import numpy as np
    import pandas as pd

    changed = frame.copy(deep=False)
    for place, kind in enumerate(frame.dtypes):
        if not pd.api.types.is_float_dtype(kind):
            continue
        values = frame.iloc[:, place].to_numpy(np.float64, na_value=np.nan)
        texts = np.char.mod(f"%.{_DIGITS}g", values)
        stays = np.zeros(len(values), np.bool_) if given is None else given[:, place]
        changed.isetitem(place, np.where(stays, values, texts.astype(np.float64)))
    return changed


def without_formulas(frame: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return a table with an apostrophe before texts that a spreadsheet takes for formulas, and their number.

    These begin with "=", "@", a tab or a line end, or with a sign and are no number; a single sign is none. Names of
    columns count too.
    """
    import pandas as pd

    n_changed = 0

    def safe(value: object) -> object:
        nonlocal n_changed
        if not isinstance(value, str) or not _is_formula(value):
            return value
        n_changed += 1
        return f"'{value}"

    changed = frame.copy(deep=False)
    for place, kind in enumerate(frame.dtypes):
        if pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_datetime64_any_dtype(kind):
            continue
        column = frame.iloc[:, place]
        if any(isinstance(value, str) and _is_formula(value) for value in column.unique()):
            changed.isetitem(place, [safe(value) for value in column])
    changed.columns = [safe(name) for name in frame.columns]
    return changed, n_changed


def _is_formula(text: str) -> bool:
    # first letters of formulas
    if text[:1] in ("=", "@", "\t", "\r", "\n"):
        return True
    if text[:1] not in ("+", "-") or len(text.strip()) < 2:
        return False
    try:
        float(text.replace(",", "."))
    except ValueError:
        return True
    return False


def check_writable(target: Path) -> None:
    """Exit with code 1 if a file cannot be written.

    Its folder is missing or may not be written to, it is a folder itself, or its name is too long.
    """
    from gomea_bn.runtime.files import check_name

    if os.path.isdir(target):
        fail(f"Cannot write '{target}': it is a folder.", FAILED)
    if not os.path.isdir(target.absolute().parent):
        fail(f"Cannot write '{target}': its folder does not exist.", FAILED)
    if not os.access(target.absolute().parent, os.W_OK | os.X_OK):
        fail(f"Cannot write '{target}': no permission to write in its folder.", FAILED)
    with failing(FAILED):
        check_name(target)


def check_output(
    option: str, out: Path | None, inputs: Mapping[str, Iterable[Path]], endings: Sequence[str]
) -> None:
    """Exit if the file that an option names is one of the inputs of `check_targets`, or cannot be written.

    Its ending, of any case, must be one of those of the format that is written.
    """
    if out is not None:
        check_targets({option: [out]}, inputs)
        check_ending(option, out, endings)
        check_writable(out)


def check_ending(option: str, out: Path, endings: Sequence[str]) -> None:
    """Exit with code 2 if the name of a file that an option names has another ending, of any case."""
    if out.suffix.lower() not in endings:
        most = ", ".join(endings[:-1]) + " or " if len(endings) > 1 else ""
        fail(f"{option}: '{out}' must end in {most}{endings[-1]}.", WRONG_USE)


def check_targets(targets: Mapping[str, Iterable[Path]], inputs: Mapping[str, Iterable[Path]]) -> None:
    """Exit with code 2 if a command would replace an input, or write two results to one file.

    Every command that writes calls this with all files that it reads, and with the tables behind them, before it writes
    anything. Both are given by option or argument; a folder stands for all files in it.
    """
    files = [(option, path) for option, paths in targets.items() for path in paths]
    for option, target in files:
        for source_option, sources in inputs.items():
            if any(_overlap(target, source) for source in sources):
                fail(
                    f"{option}: cannot write '{target}', since it is an input ({source_option}) and would be lost; "
                    "choose another.",
                    WRONG_USE,
                )
    for position, (option, target) in enumerate(files):
        for other_option, other in files[:position]:
            if other_option != option and _overlap(target, other):
                fail(f"{other_option} and {option} must be two files, got '{target}' twice.", WRONG_USE)


def _overlap(path: Path, other: Path) -> bool:
    """Return whether two paths are one file, also through links, or one is a folder that holds the other."""
    first, second = Path(os.path.realpath(path)), Path(os.path.realpath(other))
    if first == second:
        return True
    # a folder that is absent will be made
    if any(
        outer in inner.parents and not outer.is_file() for outer, inner in ((first, second), (second, first))
    ):
        return True
    return os.path.exists(first) and os.path.exists(second) and first.samefile(second)


def write_figure(draw: Callable[[], Axes], target: Path) -> None:
    """Write the figure of the axes that a function draws, or exit with code 1."""
    from matplotlib.figure import Figure

    from gomea_bn.runtime.files import write_bytes

    content = BytesIO()
    figure = draw().figure
    assert isinstance(figure, Figure)
    figure.savefig(content, format=target.suffix[1:].lower(), bbox_inches="tight")
    with writing(target, "the plot"):
        write_bytes(target, content.getvalue())
