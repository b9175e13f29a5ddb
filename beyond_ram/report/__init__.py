"""Pages that people read: one file each, which needs no other and no network.

The report of the workflow, and the page of single runs, from the same parts. Words come from tables and findings; the
templates have none that data could contradict. Interactive parts are Plotly's and DataTables', whose bundles come with
their Python packages; what is read later is packed, and unpacked where it is shown.
"""
