"""Every public class of the optimiser has an example that runs as a doctest."""

import inspect
from importlib import import_module

import pytest

import gomea_bn

# modules whose public classes are those that a user of the optimiser makes or gets
MODULES = (
    "algorithms.archive",
    "algorithms.ask_tell",
    "algorithms.gomea",
    "algorithms.mogomea",
    "algorithms.rvgomea",
    "linkage.interaction_tree",
    "linkage.marginal_product",
    "linkage.models",
    "linkage.real",
    "problems.base",
    "problems.benchmarks",
    "problems.continuous",
    "problems.multi_objective",
    "problems.python_problem",
    "problems.spaces",
    "pymoo",
    "runtime.checkpoints",
    "runtime.limits",
)
# members of arrays, protocols, runs inside a search, and what another class has
_OTHERS = {
    "AnyProblem", "CompiledProblem", "FrontHistoryEntry", "FrontRun", "GomeaRun", "HistoryEntry", "NamedProblem",
    "Population", "RealFrontRun", "RealProblem", "RealRun", "AdaptedRun", "Section", "Space",
    "WithDefaults",
}  # fmt: skip


def public_classes() -> list[type]:
    classes = []
    for name in MODULES:
        module = import_module(f"gomea_bn.{name}")
        for each in vars(module).values():
            is_own = inspect.isclass(each) and each.__module__ == module.__name__
            if is_own and not each.__name__.startswith("_") and each.__name__ not in _OTHERS:
                classes.append(each)
    return [
        each for each in classes if not (hasattr(each, "_fields") or getattr(each, "_is_protocol", False))
    ]


@pytest.mark.parametrize("public", public_classes(), ids=lambda each: each.__name__)
def test_a_public_class_has_an_example(public: type) -> None:
    assert ">>>" in (public.__doc__ or "")


def test_the_names_of_the_package_are_among_them() -> None:
    names = {each.__name__ for each in public_classes()}
    wanted = ("GOMEA", "MOGOMEA", "RVGOMEA", "Custom", "Real", "Permutation", "KernelProblem", "Checkpoint")
    assert names.issuperset(wanted)
    assert set(wanted) <= set(gomea_bn.__all__)
