"""Pages of the documentation site: links lead somewhere, every public name and every command is there once."""

import importlib
import json
import re
from pathlib import Path
from posixpath import dirname, normpath
from posixpath import join as joined
from types import SimpleNamespace

import docs_site
import pytest
from typer.testing import CliRunner

import gomea_bn
from gomea_bn.cli import app as cli

ROOT = Path(__file__).resolve().parent.parent.parent
# names that users import from modules
PACKAGES = (
    "gomea_bn", "gomea_bn.algorithms", "gomea_bn.certainty", "gomea_bn.data", "gomea_bn.discretization",
    "gomea_bn.expert", "gomea_bn.front", "gomea_bn.learning", "gomea_bn.metrics", "gomea_bn.network",
    "gomea_bn.plots", "gomea_bn.prediction", "gomea_bn.pymoo", "gomea_bn.review", "gomea_bn.simulation",
)  # fmt: skip


@pytest.fixture(scope="module")
def pages():
    """Return the Markdown of the site by path, with links as the site has them."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
    texts |= dict(docs_site.generated_pages())
    for report in (ROOT / "results").glob("*/report.md"):
        texts[report.relative_to(ROOT).as_posix()] = report.read_text(encoding="utf-8")
    return {path: docs_site.site_links(text, path) for path, text in texts.items()}


def without_code(text):
    return re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(text):
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", outside, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def test_every_link_and_picture_of_the_site_exists(pages):
    n_links = 0
    for path, text in pages.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
            if re.match(r"https?://", target):
                continue
            file, _, anchor = target.partition("#")
            linked = normpath(joined(dirname(path), file)) if file else path
            where = f"{path}: {target}"
            assert not linked.startswith(".."), where
            assert linked in pages or (ROOT / "docs" / linked).is_file() or (ROOT / linked).is_file(), where
            if anchor and linked in pages:
                assert anchor in anchors(pages[linked]), where
            n_links += 1
    assert n_links >= 100


def test_every_page_is_in_the_navigation(pages):
    navigation = (
        (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2].partition("not_in_nav")[0]
    )
    listed = re.findall(r"- (?:\w+: )?([\w/]+\.md)$", navigation, flags=re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert set(listed) == {path for path in pages if not path.startswith(("results/", "studies/"))}


def test_every_public_name_is_in_the_reference_once():
    listed = [path for names in docs_site.public_names().values() for _, path in names]
    assert len(listed) == len(set(listed))
    shown = "".join(docs_site.api_page(page) for page in docs_site.API_PAGES)
    for package in PACKAGES:
        module = importlib.import_module(package)
        assert module.__all__
        for name in module.__all__:
            value = getattr(module, name)
            home = getattr(value, "__module__", package)
            assert f"::: {home}.{name}\n" in shown or f"::: {package}.{name}\n" in shown, name


def test_public_names_have_docstrings():
    for name in gomea_bn.__all__:
        assert (getattr(gomea_bn, name).__doc__ or "").strip(), name


def test_every_command_and_option_is_in_the_reference():
    text = docs_site.command_page()
    commands = re.findall(r"^## ([\w-]+)$", text, flags=re.MULTILINE)
    listed = CliRunner().invoke(cli.main, ["--help"]).stdout
    assert sorted(commands) == sorted(re.findall(r"^  ([a-z][\w-]*)  ", listed, flags=re.MULTILINE))
    for command in commands:
        assert re.search(rf"\b{command}\b", listed), command
    section = text[text.index("## learn\n") :]
    for option in ("--max-seconds", "--seed", "--require", "--shape", "--checkpoint"):
        assert f"`{option}`" in section, option


def test_links_out_of_the_folder_become_links_of_the_site():
    text = "[a](../CONTRIBUTING.md#tests) ![b](../results/table1/kl.png)"
    assert docs_site.site_links(text, "a.md") == "[a](contributing.md#tests) ![b](results/table1/kl.png)"
    assert docs_site.site_links("[a](docs/tables.md)", "contributing.md") == "[a](tables.md)"


@pytest.mark.parametrize("default", ["None", "&#39;auto&#39;", "0.5"])
def test_defaults_of_options_are_values(default):
    declared = (
        f"<code><autoref identifier='o'>option</autoref>({default}, Integer(2, 255), &#39;Words.&#39;)</code>"
    )
    html = f"default: {declared}) <code>option(1, 2)</code>"
    shown = docs_site.on_page_content(html, None, None, None)
    assert shown == f"default: <code>{default}</code>) <code>option(1, 2)</code>"


def test_scripts_of_a_built_site_carry_the_index_and_the_worker_of_its_search(tmp_path):
    worker, index = 'let a = "{b}"; // </script>\n', '{"docs": [{"text": "{braces}"}]}'
    written = {"assets/javascripts/workers/search.0a.min.js": worker, "search/search_index.json": index}
    for path, text in written.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    docs_site.on_post_build(SimpleNamespace(site_dir=str(tmp_path)))
    assert (tmp_path / "search/search_index.js").read_text(encoding="utf-8") == f"var __index = {index}"
    script = (tmp_path / "search/worker.js").read_text(encoding="utf-8")
    carried = re.search(r"new Blob\(\[(.*)\]\)", script)
    assert carried is not None
    assert json.loads(carried[1]) == worker
    assert "- search/worker.js" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
