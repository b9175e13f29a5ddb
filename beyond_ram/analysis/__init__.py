"""Pure functions from runs and tables to tables. They look at no machine and open no file.

Table NAME is the function `NAME` of the module `NAME`; its parameters say what it is made from (beyond_ram/outputs.py).
"""
