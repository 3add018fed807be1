"""Cut points of one column: policies and their libraries, counts of intervals, blankets, and exact optimal cuts."""
