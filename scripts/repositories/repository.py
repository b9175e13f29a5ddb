"""What the sources of repositories share: their flags, and a repository that is there whole or not at all.

OUT/datasets/local/NAME/…   what the endpoint serves
OUT/manifest.json           what is in it
"""

import argparse
import json
import shutil
from pathlib import Path

ORGANISATION = "local"


def make(described, write):
    """Call `write(spec, folder)`, which fills the folder of the repository and returns its part of the manifest."""
    parser = argparse.ArgumentParser(description=described.splitlines()[0])
    parser.add_argument("--name", required=True)
    parser.add_argument("--spec", type=json.loads, required=True, help="the repository as the config has it, in JSON")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    partial = args.out.with_name(f".{args.out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    folder = partial / "datasets" / ORGANISATION / args.name
    folder.mkdir(parents=True)
    manifest = {"id": f"{ORGANISATION}/{args.name}"} | write(args.spec, folder)
    (partial / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    shutil.rmtree(args.out, ignore_errors=True)
    partial.replace(args.out)
