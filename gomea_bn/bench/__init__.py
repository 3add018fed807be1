"""The published experiments: described, run as independent tasks on one machine or a cluster, and reported.

`experiment` says what one is, `results` where rows lie, `cluster` how tasks run, `run` joins them, and `page` prints.
Every other module holds experiments of one kind; `registry` knows them by name.
"""
