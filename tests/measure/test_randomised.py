"""Each run draws what a session would fix, and its record has the seed."""

import json

import pytest

from beyond_ram.experiment import Job
from beyond_ram.measure import randomised

from .conftest import EVENTS, measured

PROGRAM = f"""
import json, os
{EVENTS}
names = ("PYTHONHASHSEED", "BEYOND_RAM_PADDING")
json.dump({{name: os.environ[name] for name in names}}, open(sys.argv[sys.argv.index("--tell") + 1], "w"))
events.emit("work", rows=1)
"""


def test_seed_gives_the_variables():
    drawn = [randomised.environment(seed) for seed in range(200)]
    assert drawn == [randomised.environment(seed) for seed in range(200)]
    assert len({variables["PYTHONHASHSEED"] for variables in drawn}) == 200
    sizes = [len(variables["BEYOND_RAM_PADDING"]) for variables in drawn]
    assert min(sizes) < 200
    assert 3800 < max(sizes) < 4096


@pytest.mark.slow
def test_each_run_draws_a_seed_and_records_it(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    records = []
    for repeat in (1, 2):
        path, environment_file = f"drawn/stack~current/case~flat/rep~{repeat}", tmp_path / "environment.json"
        arguments = ("--tell", str(environment_file))
        job = Job(path=path, workload="soak", program=str(tmp_path / "program.py"), arguments=arguments)
        records.append(measured(job, tmp_path))
        drawn = records[-1]["provenance"]["randomised"]
        assert json.loads(environment_file.read_text()) == randomised.environment(drawn["seed"])
        assert records[-1]["measuring_s"] >= records[-1]["duration_s"]
    seeds = [record["provenance"]["randomised"]["seed"] for record in records]
    assert seeds[0] != seeds[1]
