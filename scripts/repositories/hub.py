"""Repository `hub`: only a manifest, since the files are on a Hub of the user's choice."""

import argparse
import json
from pathlib import Path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", required=True)
    parser.add_argument("--spec", type=json.loads, required=True, help="the repository as the config has it, in JSON")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    known = {key: args.spec[key] for key in ("id", "config", "split")}
    args.out.mkdir(parents=True, exist_ok=True)
    partial = args.out / ".manifest.json.partial"
    unknown = {"files": None, "rows": None, "bytes": None}
    partial.write_text(json.dumps(known | unknown, indent=2) + "\n", encoding="utf-8")
    partial.replace(args.out / "manifest.json")


if __name__ == "__main__":
    main()
