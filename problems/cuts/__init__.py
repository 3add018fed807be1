"""Cut points of one column: policies, the counts of its intervals, its Markov blanket, and exact optimal cuts."""
