"""Did this change make it worse: two sets of requirements, the same cells, until each metric is decided."""
