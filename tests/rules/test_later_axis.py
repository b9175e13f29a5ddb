"""Adding an axis to a workload later keeps its runs."""

import json
import re
from pathlib import Path

import pytest
import yaml

from .conftest import Snakemake

CONFIG = {
    "defaults": "none",
    "experiments": {"reading": {"workload": "scan", "matrix": {"stack": ["current"], "size_mb": [2]}}},
}
AXIS = """
    arenas: Annotated[Sizes, Axis("environment", unit="arenas", variable="MALLOC_ARENA_MAX", later=True)] = Field(
        [8], description="Arenas of malloc."
    )
"""
RUN = "runs/reading/stack~current/size_mb~2/rep~1"


@pytest.mark.slow
@pytest.mark.usefixtures("current")
def test_no_run_is_weighed_again(project: Path, snakemake: Snakemake, tmp_path: Path) -> None:
    config = tmp_path / "later.yaml"
    config.write_text(yaml.safe_dump(CONFIG))
    target = f"results-later/{RUN}/run.json"
    done = snakemake(target, "--configfile", str(config))
    assert done.returncode == 0, done.stderr[-3000:]
    workload = project / "beyond_ram/experiment/workloads/scan.py"
    before = workload.read_text()
    field = re.search(r"^    size_mb: .*?^    \)?.*?\n(?=\n)", before, re.DOTALL | re.MULTILINE)
    assert field
    workload.write_text(before[: field.end()].rstrip() + AXIS + before[field.end() :])
    try:
        again = snakemake(target, "--configfile", str(config), "--dry-run")
        assert "Nothing to be done" in again.stdout + again.stderr, (again.stdout + again.stderr)[-3000:]
        matrix = CONFIG["experiments"]["reading"]["matrix"] | {"arenas": [8, 1]}  # type: ignore[index]
        config.write_text(yaml.safe_dump(CONFIG | {"experiments": {"reading": {"workload": "scan", "matrix": matrix}}}))
        other = f"results-later/{RUN.replace('/rep', '/arenas~1/rep')}/run.json"
        planned = snakemake(target, other, "--configfile", str(config), "--dry-run")
        jobs = re.findall(r"^rule weigh:\n +input: .*\n +output: (\S+),?", planned.stdout, re.MULTILINE)
        assert len(jobs) == 1, planned.stdout[-3000:]
        assert "arenas~1" in jobs[0]
        done = snakemake(other, "--configfile", str(config))
        assert done.returncode == 0, done.stderr[-3000:]
        assert json.loads((project / other).read_text())["cell"]["arenas"] == 1
    finally:
        workload.write_text(before)
