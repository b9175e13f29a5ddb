"""Common parts of the repository programs: flags and manifest.

OUT/datasets/local/NAME/…   what the endpoint serves
OUT/manifest.json           its content
"""

import argparse
import json
from pathlib import Path

ORGANISATION = "local"


def make(described, write):
    """Parse the flags, call `write(spec, folder)`, and write the manifest.

    `write` fills the folder of the repository and returns its part of the manifest.
    """
    parser = argparse.ArgumentParser(description=described.splitlines()[0])
    parser.add_argument("--name", required=True)
    parser.add_argument("--spec", type=Path, required=True, help="JSON file: the repository as the config has it")
    parser.add_argument("--out", type=Path, required=True, help="empty folder to fill; made where it is not there")
    args = parser.parse_args()
    spec = json.loads(args.spec.read_text(encoding="utf-8"))
    folder = args.out / "datasets" / ORGANISATION / args.name
    folder.mkdir(parents=True)
    manifest = {"id": f"{ORGANISATION}/{args.name}"} | write(spec, folder)
    (args.out / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
