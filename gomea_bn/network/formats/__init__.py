"""Networks as files and as objects of other libraries: JSON, BIF, DOT, text, pyAgrum, pgmpy, networkx."""
