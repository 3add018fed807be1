"""Folders at the root, links inside the package, setuptools' mapping, and the names that users import."""

import ast
import graphlib
import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]
LINKED = ("linkage", "operators", "problems")


def python_files(*folders):
    for folder in folders:
        for path, names, files in os.walk(ROOT / folder, followlinks=False):
            names[:] = [name for name in names if not name.startswith((".", "__pycache__"))]
            yield from (Path(path) / file for file in files if file.endswith(".py"))


@pytest.mark.parametrize("name", LINKED)
def test_each_link_is_relative_and_leads_to_the_folder_at_the_root(name):
    link = ROOT / "gomea_bn" / name
    assert link.is_symlink()
    assert os.readlink(link) == f"../{name}"
    assert link.resolve() == ROOT / name
    assert not (ROOT / name).is_symlink()


def test_there_are_no_other_links():
    links = {path.name for path in (ROOT / "gomea_bn").iterdir() if path.is_symlink()}
    assert links == set(LINKED)


def test_setuptools_maps_every_package_to_the_folder_that_the_link_leads_to():
    mapping = SETUPTOOLS["package-dir"]
    assert mapping == {"gomea_bn": "gomea_bn", **{f"gomea_bn.{name}": name for name in LINKED}}
    for package, folder in mapping.items():
        assert (ROOT / folder / "__init__.py").is_file(), package


def test_every_folder_with_python_files_is_listed_as_a_package():
    packages = set()
    for path, names, files in os.walk(ROOT / "gomea_bn", followlinks=True):
        names[:] = [name for name in names if name != "__pycache__"]
        if any(file.endswith(".py") for file in files):
            assert "__init__.py" in files, path
            packages.add(Path(path).relative_to(ROOT).as_posix().replace("/", "."))
    assert packages == set(SETUPTOOLS["packages"])


@pytest.mark.parametrize("package", SETUPTOOLS["packages"])
def test_every_package_is_imported_from_this_tree(package):
    module = importlib.import_module(package)
    assert Path(module.__file__).resolve().is_relative_to(ROOT)


@pytest.mark.long
def test_nobody_imports_the_linked_folders_as_roots():
    wrong = []
    paths = list(python_files("gomea_bn", *LINKED, "scripts", "tests"))
    assert len(paths) > 200
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            wrong += [f"{path}: {name}" for name in names if name.split(".")[0] in LINKED]
    assert wrong == []


@pytest.mark.long
def test_relative_imports_are_not_used():
    # a linked folder has two parents, so a relative import could mean two modules
    paths = list(python_files("gomea_bn", *LINKED))
    assert len(paths) > 100
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.ImportFrom) and node.level), path


def modules_of_package():
    """Return the path of every module of the package by its name."""
    modules = {}
    for folder, names, files in os.walk(ROOT / "gomea_bn", followlinks=True):
        names[:] = [name for name in names if name != "__pycache__"]
        for path in (Path(folder) / file for file in files if file.endswith(".py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            modules[".".join(parts).removesuffix(".__init__")] = path
    return modules


def named_modules(path, modules):
    """Return the modules that a file names: imported at once, when called or for types, or by their names as text."""
    named = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            named |= inner & set(modules) or {node.module}
            # a package whose public names are imported beside its modules
            named |= {node.module} if inner - set(modules) else set()
        elif isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # folders of data are named by their package
            path_of_text = modules.get(node.value)
            named |= {node.value} if path_of_text and path_of_text.name != "__init__.py" else set()
    return named & set(modules)


def circle_among(imports):
    """Return modules that import each other in a circle, or None."""
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return None


def test_no_file_imports_itself_over_others():
    modules = modules_of_package()
    imports = {name: named_modules(path, modules) - {name} for name, path in modules.items()}
    assert sum(map(len, imports.values())) > 1_000
    assert circle_among(imports) is None


def test_a_circle_is_found_however_it_is_imported(tmp_path):
    texts = {
        "p.a": "from p.b import x",
        "p.b": "def f():\n    from p import c",
        "p.c": "if TYPE_CHECKING:\n    import p.d",
        "p.d": "HOMES = {'y': 'p.a'}",
    }
    modules = {name: tmp_path / f"{name}.py" for name in texts}
    for name, path in modules.items():
        path.write_text(texts[name], encoding="utf-8")
    circle = circle_among({name: named_modules(path, modules) for name, path in modules.items()})
    assert circle is not None
    assert set(circle) == set(texts)


def test_importing_the_package_stays_light():
    heavy = ("numpy", "numba", "pandas", "scipy", "rich", "typer", "pymoo")
    check = f"import sys, gomea_bn; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_learner_loads_its_options_alone():
    check = "import sys, gomea_bn.learning.learner; print(sum(n.split('.')[0] == 'gomea_bn' for n in sys.modules))"
    run = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert int(run.stdout) <= 15


def test_a_command_loads_no_other_command():
    check = (
        "import sys\n"
        "from gomea_bn.cli.app import main\n"
        "main(['learn', '--help'], standalone_mode=False)\n"
        "print([name for name in sys.modules if name.startswith('gomea_bn.cli.commands.')])"
    )
    run = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "['gomea_bn.cli.commands.learn']"


def test_learning_loads_neither_answers_nor_problems_in_python():
    check = (
        "import sys, numpy as np, pandas as pd\n"
        "from gomea_bn import BayesNetLearner\n"
        "frame = pd.DataFrame({'a': np.arange(60.0), 'b': np.arange(60.0)[::-1] ** 2})\n"
        "BayesNetLearner(max_evaluations=50, random_state=1).fit(frame).network_.to_json()\n"
        "late = ('network.inference.', 'problems.python_problem', 'data.row_counters', 'cli.')\n"
        "print([name for name in sys.modules if name.removeprefix('gomea_bn.').startswith(late)])"
    )
    run = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"


def test_every_public_name_exists_and_is_listed():
    package = importlib.import_module("gomea_bn")
    assert sorted(package._HOMES) == sorted(package.__all__)
    for name in package.__all__:
        assert getattr(package, name).__name__ == name
        assert getattr(package, name).__module__.startswith("gomea_bn.")
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="has no attribute 'NoSuchName'"):
        _ = package.NoSuchName


def test_every_public_class_has_an_example():
    package = importlib.import_module("gomea_bn")
    classes = [value for name in package.__all__ if isinstance(value := getattr(package, name), type)]
    assert len(classes) > 30
    assert [c.__name__ for c in classes if ">>>" not in (c.__doc__ or "")] == []


@pytest.mark.long
def test_no_submodule_takes_the_place_of_a_public_name():
    # a submodule becomes an attribute of its package once it is imported, and then hides a lazy name
    check = """
import importlib, pkgutil, types
import gomea_bn
for found in pkgutil.walk_packages(gomea_bn.__path__, "gomea_bn."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
for name in gomea_bn.__all__:
    space = {}
    exec(f"from gomea_bn import {name}", space)
    if isinstance(space[name], types.ModuleType):
        print(name)
"""
    run = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert run.stdout == ""


def test_the_version_is_the_same_everywhere():
    package = importlib.import_module("gomea_bn")
    version = PROJECT["project"]["version"]
    assert package.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    of_benchpress = ROOT / "scripts" / "lab" / "benchpress" / "gomea_bn" / "info.json"
    assert json.loads(of_benchpress.read_bytes())["version"] == version


def test_the_conda_recipe_is_that_of_the_project():
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    project = PROJECT["project"]
    run = recipe.split("  run:\n")[1].split("\n\n")[0]
    required = {line.strip().removeprefix("- ").replace(" ", "") for line in run.splitlines()}
    # the part of matplotlib that needs no window
    assert {line.replace("matplotlib-base", "matplotlib") for line in required} == {
        f"python{project['requires-python']}",
        *project["dependencies"],
    }
    host = recipe.split("  host:\n")[1].split("  run:\n")[0]
    assert f"- python {project['requires-python']}" in host
    assert [line.replace(" ", "") for line in re.findall(r"- (setuptools.*)", host)] == PROJECT[
        "build-system"
    ]["requires"]
    assert f'version: "{project["version"]}"' in recipe
    assert f'summary: "{project["description"]}"' in recipe
    ((command, function),) = project["scripts"].items()
    assert f"- {command} = {function}" in recipe
    for module in re.findall(r"- (gomea_bn\S*)", recipe.split("imports:\n")[1].split("- script")[0]):
        assert module in SETUPTOOLS["packages"]


def test_every_dependency_has_its_reason():
    reasons = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    requirements = list(PROJECT["project"]["dependencies"])
    for extra in PROJECT["project"]["optional-dependencies"].values():
        requirements += extra
    assert len(requirements) > 20
    for requirement in requirements:
        name = requirement.split(">=")[0]
        assert name.startswith("gomea-bn[") or f"**{name}**" in reasons, name


def test_extras_that_others_name_exist():
    extras = PROJECT["project"]["optional-dependencies"]
    named = {match for text in extras.values() for match in re.findall(r"gomea-bn\[(.*?)\]", " ".join(text))}
    assert {name for group in named for name in group.split(",")} <= set(extras)


# names of the first version by module; they stay, or warn for one version before they go
PUBLIC = {
    "gomea_bn": """
        BayesNetEnsemble BayesNetLearner Custom DiscretizedBayesNet ElitistArchive ExpertKnowledge
        ExpertNetwork Front Full GOMEA GomeaBnError KernelProblem LinkageTree MOGOMEA MarginalProduct
        OwnObjective ParetoBayesNetLearner RVGOMEA RealKernelProblem RefinementResult Shape StaticTree
        Univariate accept compare cut_gains fit_shape kernel network_report optimise read_decision read_front
        read_table refine_boundaries register_problem review_page simulated_expert write_front
    """,
    "gomea_bn.plots": """
        density_bins edge_marks front_points history_steps marginal_density network_layout plot_density
        plot_front plot_history plot_network
    """,
    "gomea_bn.discretization": """
        BayesianDiscretizer DISCRETIZERS DescriptionLength Discretizer EqualFrequency EqualWidth K2 KMeans
        LDBN LatentDiscretizer MDLDiscretizer MDLNetwork MDLP MGCDiscretizer Tabu description_length
        discretizer
    """,
    "gomea_bn.metrics": """
        Estimate accuracy cpdag cpdag_tpr_fpr held_out_log_density histogram_baseline kl_divergence
        sensitivity shd
    """,
    "gomea_bn.pymoo": """
        GOMEA RVGOMEA as_problem
    """,
    "gomea_bn.problems.base": """
        CompiledProblem Journal KernelProblem Solution evaluate evaluate_partial new_journal
        register_problem set_aux set_gene set_term undo
    """,
    "gomea_bn.problems.benchmarks": """
        BimodalTrap HIFF IsingSpinGlass MaxCut NKLandscape OneMax Trap Unitation
    """,
    "gomea_bn.problems.multi_objective": """
        LOTZ MultiObjectiveKnapsack MultiObjectiveMaxCut OneMaxZeroMax TrapInverseTrap brute_force_front
    """,
}


@pytest.mark.parametrize(("module", "names"), PUBLIC.items())
def test_what_users_import_stays(module, names):
    missing = [name for name in names.split() if not hasattr(importlib.import_module(module), name)]
    assert missing == []


def test_the_extra_of_the_site_brings_what_the_reference_imports():
    # the pages of the predictors import scikit-learn
    assert "gomea-bn[predict]" in PROJECT["project"]["optional-dependencies"]["docs"]
