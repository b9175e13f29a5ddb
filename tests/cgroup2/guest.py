"""A real kernel with cgroup v2 in QEMU without KVM, on this machine's file system, which it does not change.

There are two places: `plain`, this machine's programs as root without systemd, and `systemd`, a small Debian with
systemd as its first process. Kernel and Debian are built once from Debian's packages, in the user's cache folder.
"""

import compileall
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..conftest import CACHE

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
PLACES = ("plain", "systemd")
PACKAGES = ("systemd", "systemd-sysv", "dbus", "dbus-user-session", "libpam-systemd", "python3", "procps", "util-linux",
            "iproute2", "munge", "slurmctld", "slurmd", "slurm-client")  # fmt: skip
_MODULES = ("drivers/virtio/virtio", "drivers/virtio/virtio_ring", "drivers/virtio/virtio_pci_legacy_dev",
            "drivers/virtio/virtio_pci_modern_dev", "drivers/virtio/virtio_pci", "fs/fuse/fuse", "fs/fuse/virtiofs",
            "fs/overlayfs/overlay", "drivers/block/virtio_blk")  # fmt: skip
_UNITS = ("job.service", "job.target")
_VIRTIOFSD = ("/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd")
_MEMORY = "3G"
_DISK_BYTES = 8 << 30  # a sparse file: for page cache of files on a disk
# The longest boot takes about 40 s, and the cases of a place some minutes, or many more beside other tests.
_BOOT_S = 1500


def missing():
    """Return the reason why this machine cannot boot a guest, or None."""
    if os.getuid():
        return "the guest needs root: its file system is served by virtiofsd, its Debian made by debootstrap"
    if not any(Path(path).exists() for path in _VIRTIOFSD):
        return "the guest needs virtiofsd, which comes with Debian's qemu-system-x86"
    programs = ("qemu-system-x86_64", "mkfs.ext4", "busybox", "cpio", "debootstrap", "apt-get", "dpkg")
    return next((f"the guest needs {name}" for name in programs if not shutil.which(name)), None)


def cases(place):
    """Return the cases of a place as `module.name`, in the order of their modules."""
    texts = {file.stem: file.read_text() for file in sorted((HERE / "cases").glob("*.py"))}
    return [
        f"{module}.{name}"
        for module, text in texts.items()
        if f'PLACE = "{place}"\n' in text
        for name in re.findall(r"^def case_(\w+)", text, re.MULTILINE)
    ]


@dataclass(frozen=True)
class Result:
    """The result of a case in the guest."""

    outcome: str
    """`passed`, `failed` or `skipped`."""
    text: str
    numbers: dict[str, Any]
    duration_s: float


def boot(place, names):
    """Boot the place, run these cases in it, and return their results.

    Raises RuntimeError, with the guest's output, if it does not boot or does not run all cases.
    """
    # The guest compiles twenty times slower. Its Python reads this bytecode if both are the same release.
    compileall.compile_dir(PROJECT / "beyond_ram", quiet=2)
    compileall.compile_dir(HERE, quiet=2)
    first = [(HERE / name).read_text() for name in ("init", *_UNITS)]
    kernel = _cached("kernel", _make_kernel, [first, _MODULES])
    base = _cached("root", _make_root, PACKAGES) if place == "systemd" else None
    work = Path(tempfile.mkdtemp(prefix="beyond-ram-guest-", dir="/var/tmp"))
    try:
        (work / "project").write_text(str(PROJECT))
        (work / "job").write_text(_job(place, names))
        console, results = work / "console", work / "results"
        words = f"work={work}"
        if base:
            words += f" base={base} systemd.unit=job.target systemd.show_status=no"
        with (work / "disk").open("wb") as disk:
            disk.truncate(_DISK_BYTES)
        _output_of(["mkfs.ext4", "-q", "-F", str(work / "disk")])
        with _served(work) as socket:
            status = _run_qemu(kernel, socket, words, work)
        lines = [json.loads(line) for line in results.read_text().splitlines() if line.strip()]
        ended = {line.pop("name"): Result(**line) for line in lines}
        if set(names) - set(ended):
            tail = console.read_text(errors="replace")[-4000:]
            raise RuntimeError(f"the guest ended with {status} after {len(ended)} of {len(names)} cases:\n{tail}")
        return ended
    finally:
        shutil.rmtree(work)


def _job(place, names):
    """Return the shell script that the guest runs as root."""
    python, project = ("/usr/bin/python3", "/project") if place == "systemd" else (sys.executable, str(PROJECT))
    lines = [f"export PATH={os.environ['PATH']}:/usr/sbin:/sbin HOME=/root LC_ALL=C.UTF-8"]
    if "REQUESTS" in os.environ:
        lines += ["export REQUESTS=1"]
    if place == "plain":
        lines += [
            "mount -t tmpfs tmpfs /dev/shm 2>/dev/null || { mkdir -p /dev/shm; mount -t tmpfs tmpfs /dev/shm; }",
            "umount -R /sys/fs/cgroup 2>/dev/null; mount -t cgroup2 cgroup2 /sys/fs/cgroup",
            # The project may be below /tmp.
            f"mkdir /run/project && mount --bind {PROJECT} /run/project && mount -t tmpfs tmpfs /tmp",
            f"mkdir -p {PROJECT} && mount --bind /run/project {PROJECT}; ip link set lo up",
        ]
    lines += [
        "mount /dev/vda /var/tmp && chmod 1777 /var/tmp",
        "stty -F /dev/ttyS1 raw -echo",
        f"{python} {project}/tests/cgroup2/inside.py {' '.join(names)} >/dev/ttyS1 </dev/null",
        "sleep 0.5",
    ]
    if place == "plain":
        lines += ["echo o >/proc/sysrq-trigger", "sleep 9"]
    return "\n".join(lines) + "\n"


@contextmanager
def _served(work):
    """Serve this machine's file system to the guest, and yield the server's socket."""
    socket = work / "socket"
    server = next(path for path in _VIRTIOFSD if Path(path).exists())
    words = [server, f"--socket-path={socket}", "-o", "source=/", "-o", "cache=always", "-o", "sandbox=chroot"]
    with (work / "virtiofsd").open("w") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 10
        while not socket.exists():
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"virtiofsd does not start: {(work / 'virtiofsd').read_text()[-1000:]}")
            time.sleep(0.05)
        yield socket
    finally:
        process.kill()
        process.wait()


def _run_qemu(kernel, socket, words, work):
    console, results = work / "console", work / "results"
    # A processor with fewer features is emulated with 10 % less CPU time than `max`.
    options = f"""
        -accel tcg -cpu Nehalem -no-reboot -nodefaults -display none
        -m {_MEMORY} -object memory-backend-memfd,id=m,size={_MEMORY},share=on -numa node,memdev=m
        -kernel {kernel}/vmlinuz -initrd {kernel}/first.gz
        -serial file:{console} -serial file:{results}
        -chardev socket,id=c,path={socket} -device vhost-user-fs-pci,queue-size=1024,chardev=c,tag=host
        -drive if=virtio,format=raw,cache=unsafe,file={work}/disk
    """
    command = ["qemu-system-x86_64", *options.split()]
    command += ["-append", f"console=ttyS0 loglevel=3 panic=1 mitigations=off {words}"]
    results.touch()
    console.touch()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        return process.wait(_BOOT_S)
    except subprocess.TimeoutExpired:
        return f"nothing after {_BOOT_S} s"
    finally:
        process.kill()
        process.wait()


def _cached(name, make, recipe):
    """Return a folder of the cache, built once, and again if its recipe or this machine's release changed. A failed
    build leaves nothing."""
    cache = CACHE
    cache.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(repr(recipe).encode() + Path("/etc/os-release").read_bytes()).hexdigest()
    folder = cache / f"{name}-{digest[:12]}"
    with (cache / f".{name}-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.is_dir():
            return folder
        for old in [*cache.glob(f"{name}-*"), *cache.glob(f".{name}-made-*")]:
            shutil.rmtree(old)
        temporary = Path(tempfile.mkdtemp(prefix=f".{name}-made-", dir=cache))
        try:
            temporary.chmod(0o755)  # other users configure Debian's packages
            make(temporary)
            temporary.rename(folder)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    return folder


def _make_kernel(folder):
    """Download Debian's kernel for virtual machines, and build a first root with its modules."""
    depends = _output_of(["apt-cache", "depends", "linux-image-cloud-amd64"])
    package = depends.split("Depends: ")[1].split()[0]
    _output_of(["apt-get", "download", package], cwd=folder)
    (package_file,) = folder.glob("*.deb")
    _output_of(["dpkg", "-x", str(package_file), str(folder / "package")])
    package_file.unlink()
    next((folder / "package/boot").glob("vmlinuz-*")).rename(folder / "vmlinuz")
    first = folder / "first"
    for name in ("bin", "proc", "sys", "dev", "lower", "upper", "new", "modules", "units"):
        (first / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox") or "", first / "bin" / "busybox")
    shutil.copy(HERE / "init", first / "init")
    (first / "init").chmod(0o755)
    for unit in _UNITS:
        shutil.copy(HERE / unit, first / "units")
    for module in _MODULES:
        for file in folder.glob(f"package/lib/modules/*/kernel/{module}.ko"):
            shutil.copy(file, first / "modules")
    shutil.rmtree(folder / "package")
    _output_of(["sh", "-c", "cd first && find . | cpio -o -H newc | gzip -1 > ../first.gz"], cwd=folder)


def _make_root(folder):
    """Build a small Debian of this machine's release, from this machine's source of packages."""
    release = {key: value.strip('"') for key, _, value in (
        line.partition("=") for line in Path("/etc/os-release").read_text().splitlines()
    )}["VERSION_CODENAME"]  # fmt: skip
    chosen = ["Identifier: Packages", f"Codename: {release}", "Origin: Debian"]
    sites = _output_of(["apt-get", "indextargets", "--format", "$(REPO_URI)", *chosen]).split()
    if not sites:
        raise RuntimeError("apt knows no source of Debian's packages")
    _output_of(["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", release, str(folder), sites[0]])
    for file in folder.glob("var/cache/apt/archives/*.deb"):
        file.unlink()


def _output_of(command, cwd=None):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {(done.stdout + done.stderr)[-1000:]}")
    return done.stdout
