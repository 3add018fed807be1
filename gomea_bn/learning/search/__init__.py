"""Searches for graphs and cuts: stages, rounds with discretizers, completed rows and tables, tables of curves."""
