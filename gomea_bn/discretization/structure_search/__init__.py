"""Structure searches that published discretizers are coupled with: K2 and tabu search."""
