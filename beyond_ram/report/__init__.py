"""HTML pages: the report of the workflow, and the page of single runs, made from the same parts.

Each page is one file that needs no other file and no network. All sentences come from tables and findings, so that a
template cannot contradict the data. Content that is opened later is compressed, and unpacked when it is shown.
"""
