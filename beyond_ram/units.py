"""Units of what is shown."""

MB, GB = 1e6, 1e9
