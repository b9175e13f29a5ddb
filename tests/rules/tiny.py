"""The cheapest runs: a script that takes a size and runs the code of a file that is not one of its inputs."""

from contextlib import contextmanager

import yaml

SCRIPT = """
import pathlib, sys
size = int(sys.argv[1])
exec(pathlib.Path("besides").read_text() if pathlib.Path("besides").exists() else "")
"""


def run_of(size, experiment="tiny"):
    return f"{experiment}/stack~current/script~tiny/arguments~size-{size}/side~none/rep~1"


def write_config(file, results, **sizes):
    """Write a config with experiments of some sizes, and the script beside it."""
    folder = file.parent / "tiny"
    folder.mkdir(exist_ok=True)
    (folder / "tiny.py").write_text(SCRIPT)
    matrix = {"stack": ["current"], "script": ["tiny"]}
    experiments = {
        name: {"workload": "script", "repeats": 1, "matrix": matrix | {"arguments": [f"size-{one}" for one in each]}}
        for name, each in sizes.items()
    }
    arguments = {f"size-{one}": str(one) for each in sizes.values() for one in each}
    content = {"defaults": "none", "results": results, "experiments": experiments}
    file.write_text(yaml.safe_dump(content | {"scripts": {"tiny": {"file": "tiny/tiny.py", "arguments": arguments}}}))
    return file


@contextmanager
def besides(project, code):
    """Let the script also run this code while the block runs."""
    (project / "tiny" / "besides").write_text(code)
    yield
    (project / "tiny" / "besides").unlink(missing_ok=True)
