"""Runs one cell: private folder, cache state, the watcher around the workload, the interruption, the record."""
