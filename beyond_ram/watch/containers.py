"""The memory group of a container or a pod, from the cgroup tree and the files of container runtimes.

No client of a runtime is called. A container's id is part of its group's name, whichever runtime made it:

    docker/ID, system.slice/docker-ID.scope                        Docker, drivers cgroupfs and systemd
    machine.slice/libpod-ID.scope, libpod_parent/libpod-ID         Podman; of a user below user@UID.service/user.slice
    kubepods/burstable/podUID/ID                                   Kubernetes, driver cgroupfs
    kubepods.slice/…/kubepods-burstable-podUID.slice/RUNTIME-ID.scope    driver systemd
    NAMESPACE/ID, system.slice/nerdctl-ID.scope                    containerd without Kubernetes

RUNTIME is cri-containerd, crio or docker. The name of a slice has `_` instead of `-` in a pod's UID. Groups of `conmon`
hold Podman's and CRI-O's monitor.
"""

import contextlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import targets

GROUPS = Path("/sys/fs/cgroup")
# A shorter word can only be a name.
LEAST_DIGITS = 4
_SHOWN_DIGITS, _CANDIDATES = 12, 8
_CONTAINER = re.compile(r"(?:(?P<runtime>[a-z][a-z-]*)-)?(?P<id>[0-9a-f]{64})(?:\.scope)?")
_POD = re.compile(r"(?:.*-)?pod(?P<uid>[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?")
_LOG = re.compile(r"(?P<pod>[^_]+)_(?P<namespace>[^_]+)_(?P<container>.+)-(?P<id>[0-9a-f]{64})\.log")


@dataclass(frozen=True)
class Container:
    """A container or a pod that has a group on this machine."""

    id: str
    """64 digits; for a pod, its UID."""
    folder: Path
    kind: str
    """The runtime in the group's name, `container` if the name has none, or `pod`."""
    names: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        name = f" ({self.names[0]})" if self.names else ""
        return f"{self.kind} {self.id if self.kind == 'pod' else self.id[:_SHOWN_DIGITS]}{name}"


def target(word: str, reader: str | None = None, groups: Path = GROUPS, root: Path = Path("/")) -> targets.Target:
    """The processes of a container or pod. Raises ValueError for none or several matches.

    `word` is an id, the beginning of one, or a name. `groups` is the mount point of the groups; `root` is the folder
    below which runtimes keep their files.
    """
    one = find(word, groups, root)
    request: dict[str, object] = {"container": word, "id": one.id}
    return targets.of_folder(request, f"container {one}" if one.kind != "pod" else str(one), one.folder, reader)


def find(word: str, groups: Path = GROUPS, root: Path = Path("/")) -> Container:
    """The container or pod with this id, beginning of an id, or name. Raises ValueError with the candidates for none or
    several matches."""
    names: dict[str, dict[str, None]] = {}
    for container, name in (*_docker(root), *_storage(root), *_kubernetes(root)):
        names.setdefault(container, {})[name] = None
    present = [replace(one, names=tuple(names.get(one.id, ()))) for one in _present(groups)]
    matches = [one for one in present if word in (one.id, *one.names)] or [
        one for one in present if len(word) >= LEAST_DIGITS and one.id.startswith(word.lower())
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise ValueError(f"--container {word}: it means {len(matches)} of them, give a longer id: {_listed(matches)}")
    if not present:
        raise ValueError(
            f"--container {word}: no container has a group below {groups}; in a container of its own the watcher sees "
            "no others"
        )
    raise ValueError(f"--container {word}: no container or pod has that id or name; here are {_listed(present)}")


def _listed(containers: list[Container]) -> str:
    more = f", and {len(containers) - _CANDIDATES} more" if len(containers) > _CANDIDATES else ""
    return ", ".join(map(str, containers[:_CANDIDATES])) + more


def _present(groups: Path) -> Iterator[Container]:
    """Containers and pods by the names of their groups, each once, with its outermost group."""
    memory = groups / "memory"
    top = memory if (memory / "cgroup.procs").exists() else groups
    above: set[str] = set()
    for folder, below, _ in os.walk(top):
        below.sort()
        name = os.path.basename(folder)  # noqa: PTH119
        if pod := _POD.fullmatch(name):
            yield Container(pod["uid"].replace("_", "-"), Path(folder), "pod")
        elif match := _CONTAINER.fullmatch(name):
            runtime = (match["runtime"] or "container").removeprefix("cri-")
            nested = any(folder.startswith(f"{outer}/") and match["id"] in outer.rpartition("/")[2] for outer in above)
            if not (nested or runtime.endswith("conmon")):
                above.add(folder)
                yield Container(match["id"], Path(folder), runtime)


def _docker(root: Path) -> Iterator[tuple[str, str]]:
    for file in root.glob("var/lib/docker/containers/*/config.v2.json"):
        content = _json(file)
        if isinstance(content, dict) and isinstance(content.get("Name"), str):
            yield str(content.get("ID", file.parent.name)), content["Name"].removeprefix("/")


def _storage(root: Path) -> Iterator[tuple[str, str]]:
    """Podman's and CRI-O's names, of the machine and of its users."""
    places = [f"{lib}/containers/storage" for lib in ("var/lib", "run", "home/*/.local/share", "root/.local/share")]
    places.append("run/user/*/containers")
    for place in places:
        for file in root.glob(f"{place}/*-containers/*containers.json"):
            content = _json(file)
            for entry in content if isinstance(content, list) else ():
                if isinstance(entry, dict) and isinstance(entry.get("names"), list):
                    yield from ((str(entry.get("id")), str(name)) for name in entry["names"])


def _kubernetes(root: Path) -> Iterator[tuple[str, str]]:
    """Containers as CONTAINER, POD/CONTAINER and NAMESPACE/POD/CONTAINER; pods as POD and NAMESPACE/POD."""
    for file in root.glob("var/log/containers/*.log"):
        if match := _LOG.fullmatch(file.name):
            pod, container = match["pod"], match["container"]
            for name in (f"{match['namespace']}/{pod}/{container}", f"{pod}/{container}", container):
                yield match["id"], name
    for folder in root.glob("var/log/pods/*_*_*"):
        namespace, pod, uid = folder.name.split("_", 2)
        yield from ((uid, name) for name in (f"{namespace}/{pod}", pod))


def _json(file: Path) -> Any:
    """The content of a file; None if it cannot be read."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        return json.loads(file.read_bytes())
    return None
