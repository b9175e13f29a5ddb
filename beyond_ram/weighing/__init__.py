"""Weigh one cell: private folder, cache state, watched workload, interruption, record."""
