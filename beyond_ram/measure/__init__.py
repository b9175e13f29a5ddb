"""Measuring: one run, and campaigns of runs in blocks, until a policy has its answer or a budget is used up."""
