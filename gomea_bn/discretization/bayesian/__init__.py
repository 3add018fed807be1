"""The Bayesian discretizer of Chen, Wheeler & Kochenderfer (2017), and LDBN, which couples it with K2."""
