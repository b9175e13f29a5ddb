"""Groups in the layout of each runtime, in the real cgroup tree, with a real process in each."""

import contextlib
import functools
import json
import os
import secrets
import subprocess
import time
import uuid
from pathlib import Path

import pytest

from beyond_ram.watch import containers

from .conftest import CLI, PYTHON, record_in, wait_until_begun

MB = 1_000_000
# Only for this process: tests of another checkout may run on this machine.
UID = str(uuid.uuid4())
ONE, TWO = (f"3f2{letter}{secrets.token_hex(30)}" for letter in "ab")
POD_SLICE = f"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UID.replace('-', '_')}.slice"
LAYOUTS = {
    "docker, cgroupfs": (f"docker/{ONE}", "container"),
    "docker, systemd": (f"system.slice/docker-{ONE}.scope", "docker"),
    "podman, systemd": (f"machine.slice/libpod-{ONE}.scope/container", "libpod"),
    "podman, cgroupfs": (f"libpod_parent/libpod-{ONE}", "libpod"),
    "podman, a user's": (f"user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ONE}.scope", "libpod"),
    "containerd": (f"default/{ONE}", "container"),
    "nerdctl, systemd": (f"system.slice/nerdctl-{ONE}.scope", "nerdctl"),
    "kubernetes, containerd, cgroupfs": (f"kubepods/burstable/pod{UID}/{ONE}", "container"),
    "kubernetes, containerd, systemd": (f"{POD_SLICE}/cri-containerd-{ONE}.scope", "containerd"),
    "kubernetes, CRI-O, systemd": (f"{POD_SLICE}/crio-{ONE}.scope", "crio"),
}
HOLDS = "import time; held = bytearray(60_000_000); print(flush=True); time.sleep(1000)"


def tree():
    """Return the folder where memory groups are mounted."""
    v1 = Path("/sys/fs/cgroup/memory")
    return v1 if (v1 / "cgroup.procs").exists() else Path("/sys/fs/cgroup")


@contextlib.contextmanager
def laid_out(*paths):
    """Make groups with a process that holds 60 MB in each, and remove them afterwards."""
    made = []
    running = []
    leaves = []
    try:
        for path in paths:
            folder = tree()
            for name in path.split("/"):
                if (control := folder / "cgroup.subtree_control").exists():
                    control.write_text("+memory")
                folder = folder / name
                with contextlib.suppress(FileExistsError):
                    folder.mkdir()
                    made.append(folder)
            leaves.append(folder)
            enter = f"open({str(folder / 'cgroup.procs')!r}, 'w').write('0')\n"
            running.append(subprocess.Popen([*PYTHON, enter + HOLDS], stdout=subprocess.PIPE))
        for process in running:
            assert process.stdout and process.stdout.readline() == b"\n"
        yield leaves
    finally:
        for process in running:
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()
        for folder in reversed(made):
            for _ in range(100 if folder in leaves else 1):  # others may use the folders above by now
                with contextlib.suppress(OSError):
                    folder.rmdir()
                    break
                time.sleep(0.05)
        assert not [folder for folder in leaves if folder.exists()]


@functools.cache
def _no_groups_reason():
    try:
        with laid_out(f"beyond-ram-test-of-layouts-{os.getpid()}"):
            return None
    except (OSError, AssertionError) as error:
        return f"no group can be made in the cgroup tree: {error}"


@pytest.fixture
def _tree():
    if reason := _no_groups_reason():
        pytest.skip(reason)


needs_tree = pytest.mark.usefixtures("_tree")


@pytest.fixture
def files(tmp_path):
    """Write files of runtimes: a container of Docker and one of Podman, a pod."""
    docker = tmp_path / "var/lib/docker/containers" / ONE
    docker.mkdir(parents=True)
    (docker / "config.v2.json").write_text(json.dumps({"ID": ONE, "Name": "/web"}))
    podman = tmp_path / "var/lib/containers/storage/overlay-containers"
    podman.mkdir(parents=True)
    (podman / "containers.json").write_text(json.dumps([{"id": TWO, "names": ["trainer"]}]))
    logs = tmp_path / "var/log/containers"
    logs.mkdir(parents=True)
    (logs / f"job-7x2_team-a_main-{ONE}.log").touch()
    (tmp_path / f"var/log/pods/team-a_job-7x2_{UID}").mkdir(parents=True)
    (docker / "hostconfig.json").write_text("no JSON")
    return tmp_path


@needs_tree
@pytest.mark.parametrize("layout", LAYOUTS)
def test_group_of_each_runtime_is_found(layout, tmp_path):
    path, kind = LAYOUTS[layout]
    monitor = f"machine.slice/libpod-conmon-{ONE}.scope"
    with laid_out(path, monitor) as (folder, _):
        container = containers.find(ONE[:12], root=tmp_path)
        assert folder.is_relative_to(container.folder)
        assert (container.id, container.kind) == (ONE, kind)
        if UID.replace("-", "_") in path or UID in path:
            assert containers.find(UID, root=tmp_path).folder == folder.parent
        target = containers.target(ONE, root=tmp_path)
        assert len(target.listed(())) == 1


@needs_tree
def test_names_are_read_from_the_files_of_runtimes(files):
    pod = f"kubepods/burstable/pod{UID}"
    with laid_out(f"{pod}/{ONE}", f"machine.slice/libpod-{TWO}.scope") as (first, second):
        for name in ("web", "main", "job-7x2/main", "team-a/job-7x2/main"):
            assert containers.find(name, root=files).folder == first, name
        assert containers.find("trainer", root=files).folder == second
        for name in ("job-7x2", "team-a/job-7x2"):
            assert containers.find(name, root=files).folder == first.parent, name


@needs_tree
def test_unknown_and_ambiguous_names_are_refused_with_candidates(files):
    with laid_out(f"docker/{ONE}", f"docker/{TWO}"):
        for word in ("nobody", ONE[:3]):
            with pytest.raises(ValueError, match=word) as unknown:
                containers.find(word, root=files)
            assert ONE[:12] in str(unknown.value)
            assert "web" in str(unknown.value)
        listed = files / "var/lib/containers/storage/overlay-containers/containers.json"
        listed.write_text(json.dumps([{"id": TWO, "names": ["web"]}]))
        with pytest.raises(ValueError, match="2 of them") as several:
            containers.find("web", root=files)
        assert "\n" not in str(several.value)
        assert TWO[:12] in str(several.value)


@needs_tree
def test_summary_has_memory_that_is_evicted_killed_and_kept(tmp_path):
    with laid_out(f"docker/{ONE}"):
        out = tmp_path / "out"
        command = [*CLI, "--container", ONE[:12], "--out", str(out)]
        running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        wait_until_begun(running, out)
        time.sleep(1)
        running.terminate()
        text = running.communicate(timeout=30)[1]
    assert running.returncode == 0, text
    record = record_in(out)
    assert record["attached"]["to"] == {"container": ONE[:12], "id": ONE}
    kept = record["peak"]["kept"]
    assert 60 * MB < kept["kept_bytes"] < 90 * MB
    assert kept["kept_bytes"] <= kept["working_set_bytes"] + MB <= record["peak"]["cgroup_bytes"] + MB
    starts = [line.split("  ")[0] for line in text.splitlines()]
    assert {"evicted by", "killed by", "kept"} <= set(starts), text
