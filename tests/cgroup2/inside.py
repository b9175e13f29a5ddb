"""Run cases in the guest, and print a line of JSON for each: its outcome, return value and duration."""

import contextlib
import importlib
import io
import json
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.cgroup2.cases import Skip


def main(names):
    for full_name in names:
        module, _, name = full_name.partition(".")
        numbers = {}
        printed = io.StringIO()
        began_s = time.monotonic()
        with contextlib.redirect_stdout(printed):
            try:
                case = getattr(importlib.import_module(f"tests.cgroup2.cases.{module}"), f"case_{name}")
                numbers, outcome, text = case() or {}, "passed", ""
            except Skip as reason:
                outcome, text = "skipped", str(reason)
            except BaseException:
                outcome, text = "failed", traceback.format_exc()
        line = {"name": full_name, "outcome": outcome, "text": printed.getvalue() + text, "numbers": numbers}
        print(json.dumps(line | {"duration_s": round(time.monotonic() - began_s, 2)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
