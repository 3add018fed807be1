"""How experiments run: described as independent tasks, run on one machine or a cluster, and reported.

`experiment` says what an experiment is, `results` where rows are kept, `cluster` how tasks run, `run` joins them, and
`report` and `page` print. `registry` lists all experiments by name.
"""
