"""Pure functions that make tables from runs and from other tables. They read no machine state and open no file.

Table NAME is made by the function `NAME` in the module `NAME`. Its parameters are what it needs
(beyond_ram/outputs.py).
"""
