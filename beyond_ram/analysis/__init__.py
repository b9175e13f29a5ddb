"""Pure functions that make tables from runs and from other tables. They read no machine state and open no file.

Table NAME is made by the function `NAME` in the module `NAME`. Its parameters are what it needs
(beyond_ram/workflow/chapters.py).
"""

import pandas as pd

# Tables have some thirty columns of text and few lines. Arrow's arrays of text are made for many lines: with them a
# report took half as long again.
pd.options.mode.string_storage = "python"
