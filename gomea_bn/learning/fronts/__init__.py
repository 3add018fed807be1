"""What `ParetoBayesNetLearner` is made of: options of a front, its search space and its record."""
