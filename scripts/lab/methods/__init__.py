"""Methods of other libraries, and ours under the same interface."""
