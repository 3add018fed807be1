"""Hooks of the documentation site: generated reference pages, and links to files outside `docs/`.

mkdocs calls the functions named `on_...` (`hooks` in mkdocs.yml). The pages under `reference/` are written from the
public names and from the commands, so that none can be missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# texts outside docs/ that are pages of the site
PAGES = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
STUDIES = "scripts/lab/studies/"
# scripts without which the search needs a server: browsers fetch neither the index nor the worker of a page from a disk
SEARCH_SCRIPTS = {
    "search/search_index.js": "var __index = {index}",
    "search/worker.js": (
        'if (location.protocol === "file:")\n'
        "  Worker = class extends Worker {{\n"
        "    constructor() {{\n"
        "      super(URL.createObjectURL(new Blob([{worker}])));\n"
        "    }}\n"
        "  }};\n"
    ),
}
# pages of the API reference by subject: title, and names by the module they are imported from, the first ones first;
# no names stand for all public names of the module
API_PAGES: dict[str, tuple[str, dict[str, tuple[str, ...]]]] = {
    "learning": (
        "Learning one network",
        {
            "gomea_bn": (
                "BayesNetLearner", "BayesNetEnsemble", "ExpertKnowledge", "Checkpoint", "GomeaBnError",
                "GomeaBnWarning", "RowsDiffer",
            ),
            "gomea_bn.learning": (
                "stability", "Stability", "network_of_graph",
            ),
        },
    ),
    "tables": ("Tables", {"gomea_bn": ("lagged", "read_table"), "gomea_bn.data": ()}),
    "networks": (
        "Networks",
        {
            "gomea_bn": ("DiscretizedBayesNet", "compare", "network_report"),
            "gomea_bn.studies": (),
            "gomea_bn.network": (),
        },
    ),
    "fronts": (
        "Fronts, and networks of experts",
        {
            "gomea_bn": (
                "ParetoBayesNetLearner", "OwnObjective", "Front", "review_page", "read_decision", "accept",
                "read_front", "write_front", "averaged_misfits", "ExpertNetwork",
            ),
            "gomea_bn.front": (),
        },
    ),
    "prediction": (
        "Prediction",
        {"gomea_bn": ("BayesNetClassifier", "BayesNetRegressor"), "gomea_bn.prediction": ()},
    ),
    "certainty": ("Certainty", {"gomea_bn.certainty": ()}),
    "discretization": (
        "Cuts and discretizers",
        {
            "gomea_bn": (
                "refine_boundaries", "RefinementResult", "cut_gains", "average_families", "fit_shape", "Shape",
            ),
            "gomea_bn.discretization": (),
        },
    ),
    "plots": ("Plots", {"gomea_bn.plots": ()}),
    "metrics": ("Distances to a true network", {"gomea_bn.metrics": ()}),
    "simulation": ("Random networks and experts", {"gomea_bn.simulation": (), "gomea_bn": ("simulated_expert",)}),
    "optimisation": (
        "Problems and optimisers",
        {
            "gomea_bn": (
                "optimise", "Real", "Integer", "Categorical", "Permutation", "check_problem",
                "GOMEA", "RVGOMEA", "MOGOMEA", "ElitistArchive", "LinkageTree", "StaticTree",
                "MarginalProduct", "Univariate", "Full", "Custom", "kernel", "KernelProblem", "RealKernelProblem",
                "register_problem",
            ),
            "gomea_bn.problems.base": (
                "CompiledProblem", "Journal", "Solution", "evaluate", "evaluate_partial", "new_journal",
                "set_aux", "set_gene", "set_term", "undo",
            ),
            "gomea_bn.problems.benchmarks": (
                "BimodalTrap", "HIFF", "IsingSpinGlass", "MaxCut", "NKLandscape", "OneMax", "Trap", "Unitation",
            ),
            "gomea_bn.problems.multi_objective": (),
            "gomea_bn.pymoo": (),
        },
    ),
}  # fmt: skip


def public_names() -> dict[str, list[tuple[str, str]]]:
    """Return by page of the API reference its names and where they are defined, each on the first page that has it."""
    seen: set[str] = set()
    pages: dict[str, list[tuple[str, str]]] = {}
    for page, (_, modules) in API_PAGES.items():
        pages[page] = []
        for module_name, listed in modules.items():
            module = import_module(module_name)
            for name in listed or sorted(module.__all__, key=str.lower):
                value = getattr(module, name)
                home = getattr(value, "__module__", None)
                path = f"{home or module_name}.{getattr(value, '__qualname__', name)}"
                # constants and compiled functions do not know where they are defined
                if home is None or not home.startswith("gomea_bn") or not hasattr(value, "__qualname__"):
                    path = f"{module_name}.{name}"
                if path not in seen:
                    seen.add(path)
                    pages[page].append((f"{module_name}.{name}", path))
    return pages


def api_page(page: str) -> str:
    """Return the Markdown of one page of the API reference; mkdocstrings replaces the lines that begin with ':::'."""
    title, modules = API_PAGES[page]
    parts = [f"# {title}", f"Import from {', '.join(f'`{module}`' for module in modules)}."]
    for _, path in public_names()[page]:
        # what a network holds is defined in its base class
        is_network = path.endswith(".DiscretizedBayesNet")
        parts.append(f"::: {path}" + ("\n    options:\n      inherited_members: true" if is_network else ""))
    return "\n\n".join(parts) + "\n"


def command_page() -> str:
    """Return the Markdown of the command line reference, from the commands themselves."""
    import click
    import typer

    from gomea_bn.cli.app import main

    group = typer.main.get_command(main)
    assert isinstance(group, typer.core.TyperGroup)
    context: Any = click.Context(group, info_name="gomea-bn")  # type: ignore[arg-type]
    parts = [
        "# Command line reference",
        "Generated from the commands. [Commands](../commands.md) has examples.",
    ]
    for name in sorted(group.list_commands(context)):
        command = group.get_command(context, name)
        parts += [f"## {name}", _prose(command.help or "")]
        rows = [_option_row(parameter, context) for parameter in command.params]
        if rows:
            parts.append("\n".join(["| argument or option | default | meaning |", "|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _option_row(parameter: Any, context: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    if parameter.param_type_name == "argument":
        names = f"`{parameter.metavar or parameter.name}`"
    default = parameter.default
    shown = "" if default in (None, False, ()) or callable(default) else f"`{default}`"
    return f"| {names} | {shown} | {_prose(getattr(parameter, 'help', None) or '')} |"


def _prose(text: str) -> str:
    return re.sub(r"([|<*\[\]])", r"\\\1", " ".join(text.replace("\b", "").split()))


def generated_pages() -> Iterator[tuple[str, str]]:
    """Return the path in the site and the Markdown of every page that is no file in `docs/`."""
    for page in API_PAGES:
        yield f"reference/{page}.md", api_page(page)
    yield "reference/command_line.md", command_page()
    for target, source in PAGES.items():
        yield target, (ROOT / source).read_text(encoding="utf-8")
    for study in sorted((ROOT / STUDIES).glob("*.md")):
        yield f"studies/{study.name}", study.read_text(encoding="utf-8")


def site_links(text: str, page: str) -> str:
    """Return a page with links to files outside `docs/` turned into links inside the site.

    Parameters
    ----------
    text : str
        Markdown.
    page : str
        Path of the page in the site.
    """
    back = "../" * page.count("/")
    for target, source in PAGES.items():
        text = text.replace(f"](../{source}", f"]({back}{target}")
    if page in PAGES:
        # links of files at the root
        text = text.replace("](docs/", "](")
        for target, source in PAGES.items():
            text = text.replace(f"]({source}", f"]({target}")
    # the tables of experiments are pages too, and their figures lie next to them; so are the studies
    text = text.replace(f"](../{STUDIES}", f"]({back}studies/").replace("](../../../docs/", f"]({back}")
    return text.replace("](../results/", f"]({back}results/")


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages, and the reports and figures of the experiments."""
    from mkdocs.structure.files import File

    for path, text in generated_pages():
        files.append(File.generated(config, path, content=text))
    for source in sorted((ROOT / "results").rglob("*")):
        if source.suffix in (".md", ".png"):
            path = source.relative_to(ROOT).as_posix()
            content = source.read_text(encoding="utf-8") if source.suffix == ".md" else source.read_bytes()
            files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Turn links to files outside `docs/` into links inside the site."""
    return site_links(markdown, page.file.src_uri)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Show the default of an option of a learner, without what its declaration says besides."""
    declared = r"<code><(\w+)[^<>]*>option</\1>\((&#39;.*?&#39;|[^,<>]+), .*?</code>"
    return re.sub(declared, r"<code>\2</code>", html)


def on_post_build(config: Any) -> None:
    """Write the scripts by which the search works on a disk; the theme loads the first, mkdocs.yml names the second."""
    site = Path(config.site_dir)
    [worker] = site.glob("assets/javascripts/workers/search.*.min.js")
    index = (site / "search/search_index.json").read_text(encoding="utf-8")
    source = json.dumps(worker.read_text(encoding="utf-8"))
    for path, script in SEARCH_SCRIPTS.items():
        (site / path).write_text(script.format(index=index, worker=source), encoding="utf-8")
