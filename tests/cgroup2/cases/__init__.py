"""Cases that run inside the guest, by its own interpreter: the standard library and the project only.

A module names its place (`PLACE`), and each function `case_NAME` is a case. It fails by an exception; what it returns,
a dictionary of numbers, is printed by the tests. `Skip` says why a case cannot be run.
"""


class Skip(Exception):  # noqa: N818
    """A need of the case is missing in the guest; the text says which."""
