"""N MB in an SQLite database: in memory (argv 2: memory), or on disk with a cache of 20 MB."""

import sqlite3
import sys
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory(dir=sys.argv[3]) as folder:
    base = sqlite3.connect(":memory:" if sys.argv[2] == "memory" else Path(folder, "base"))
    base.execute("PRAGMA cache_size = -20000")
    base.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, text BLOB)")
    base.executemany("INSERT INTO rows VALUES (?, ?)", ((n, bytes(10_000)) for n in range(int(sys.argv[1]) * 100)))
    base.commit()
    base.execute("SELECT sum(length(text)) FROM rows").fetchone()
