"""Below a step of Slurm, whose daemons run in the guest with the plugin cgroup/v2."""

import os
import subprocess
from functools import cache
from pathlib import Path

from . import Skip, common
from .common import MB, holds, wait_until, watch
from .systemd import BELOW, user

PLACE = "systemd"
_CONF = """ClusterName=c
SlurmctldHost=node1
SlurmUser=root
AuthType=auth/munge
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldLogFile=/var/log/slurm/ctld.log
SlurmdLogFile=/var/log/slurm/d.log
SlurmctldTimeout=300
MessageTimeout=100
NodeName=node1 CPUs=1 RealMemory=1500 State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES State=UP MaxTime=INFINITE
"""
_CGROUP = """CgroupPlugin=cgroup/v2
ConstrainRAMSpace=yes
ConstrainSwapSpace=yes
AllowedRAMSpace=100
AllowedSwapSpace=0
"""


@cache
def _up():
    """Start Slurm's daemons. Raises Skip if they do not come up."""
    # slurmd needs its name to resolve to an address other than loopback's, and the guest has no network card.
    for command in ("hostname node1", "ip link set lo up", "ip address add 10.99.0.1/32 dev lo"):
        subprocess.run(command.split(), check=True)
    Path("/etc/hosts").write_text("127.0.0.1 localhost\n10.99.0.1 node1\n")
    for folder in ("/etc/slurm", "/var/spool/slurmctld", "/var/spool/slurmd", "/var/log/slurm"):
        Path(folder).mkdir(parents=True, exist_ok=True)
    key = Path("/etc/munge/munge.key")
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    subprocess.run(["chown", "munge:munge", str(key)], check=True)
    Path("/etc/slurm/slurm.conf").write_text(_CONF)
    Path("/etc/slurm/cgroup.conf").write_text(_CGROUP)
    daemons = ["munge", "slurmctld", "slurmd"]
    subprocess.run(["systemctl", "-q", "unmask", *daemons], check=True)
    subprocess.run(["systemctl", "daemon-reload"], check=True)
    for daemon in daemons:
        subprocess.run(["systemctl", "start", daemon])
    if not wait_until(lambda: b"idle" in subprocess.run(["sinfo", "-h"], capture_output=True).stdout, 60):
        log = Path("/var/log/slurm/d.log")
        raise Skip(f"slurmd does not come up: {log.read_text()[-1500:] if log.exists() else 'it wrote no log'}")


def _step(mebibytes, who=()):
    _up()
    return [*who, "srun", "--chdir=/tmp", f"--mem={mebibytes}"]


def _worker():
    user("submitter")
    return ["setpriv", "--reuid=submitter", "--regid=submitter", "--init-groups", "env", "HOME=/home/submitter"]


def case_step_of_a_user():
    """The group is Slurm's: no limit can be set below it, but its limit, peak and kills are read."""
    refused = watch("--memory-limit", "150M", "--", "true", prefix=_step(200, _worker()))
    assert refused.status == 2
    assert "sbatch --mem" in refused.stderr
    measured = watch("--", *holds(60 * MB), prefix=_step(200, _worker()))
    around = measured.record["peak"]["around"]
    assert (measured.status, around["limit_bytes"]) == (0, 200 << 20)
    assert around["peak_bytes"] > 60 * MB
    assert measured.record["pressure"]["of"] != "machine"
    killed = watch("--", *holds(300 * MB), prefix=_step(200, _worker()))
    assert killed.record["killed_for_memory"], killed.record


def case_step_of_root():
    result = watch("--memory-limit", "60M", "--", *holds(100 * MB), prefix=_step(400))
    assert (result.record["outcome"], result.mechanism) == ("killed_at_limit", BELOW)
    assert result.record["peak"]["around"]["limit_bytes"] == 400 << 20


def case_attach_to_a_job():
    end = Path("/var/tmp/end-of-job")
    words = [*_step(300, _worker()), *common.holds_until(end, 60 * MB)]
    running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        squeue = ["squeue", "-h", "-t", "R", "-o", "%A"]
        assert wait_until(lambda: subprocess.run(squeue, capture_output=True).stdout.strip())
        job = subprocess.run(squeue, capture_output=True, text=True, check=True).stdout.strip()
        result = watch("--slurm", job, "--wait", "10", end=end)
        assert result.status == 0
        assert result.record["peak"]["around"]["limit_bytes"] == 300 << 20
        assert result.cgroup_bytes > 60 * MB
    finally:
        end.touch()
        running.wait()
