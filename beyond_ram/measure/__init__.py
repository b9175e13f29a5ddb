"""Campaigns: what is run (members, in blocks), until a policy has its answer or a budget is used up."""
