"""Cases that the guest's own interpreter runs. They use only the standard library and the project.

A module names its place (`PLACE`), and each function `case_NAME` is a case. It fails by an exception. The tests print
the numbers that it returns. `Skip` gives the reason why a case cannot run.
"""


class Skip(Exception):  # noqa: N818
    """The guest lacks something that the case needs; the text names it."""
