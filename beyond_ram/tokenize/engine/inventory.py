"""The input files: what names, folders and patterns hold, what is left out and why, and what identifies a file.

Standard library only.
"""

import collections
import fnmatch
import functools
import glob
import json
import os
import re
import stat
import sys

from records import digest_of
from trouble import Refused

ENDS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".txt": "text",
    ".text": "text",
}
PACKED = {".gz": "gzip", ".zst": "zstd"}
STATES = ("dataset_dict.json", "state.json")  # what `datasets` writes beside what it saves
START = re.compile(r"[a-z][a-z0-9+.-]*://|/?")  # of a path: an address, or the root
SPECIAL = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket", stat.S_IFCHR: "device", stat.S_IFBLK: "device"}


def kind_of(file):
    """The format and compression of a file by its name; format None if unknown."""
    stem, ending = os.path.splitext(os.path.basename(file))
    packing = PACKED.get(ending.lower())
    if packing:
        ending = os.path.splitext(stem)[1]
    kind = ENDS.get(ending.lower())
    return None if packing and kind in ("parquet", "arrow") else kind, packing


class Inventory:
    """The files of names, folders and patterns, in order, each once. `left_out`: what is not read, counted by reason.

    The name given decides the kind of a file, because a link may lead to any name. The real path only tells whether two
    names mean the same file. Files of a folder or pattern are sorted by the parts of their paths. `out` is no input.
    `tree` makes the disk of a name that is an address (None for another name); `objects`: what it says of its files.

    Raises Refused for a name without a file, and for what cannot be looked at.
    """

    def __init__(self, names, out, tree=lambda name: None):
        self.out, self.read_as, self.objects = os.path.realpath(out), {}, {}
        self.left_out: collections.Counter[str] = collections.Counter()
        for name in names:
            self.entered: dict[tuple[str, tuple[str, ...]], str] = {}
            self.readable = 0
            self.disk = tree(name) or Disk()
            self.saved_in = functools.lru_cache(64)(functools.partial(saved, self.disk, names=STATES))
            path = os.path.expanduser(name)
            kind = self.disk.what(path) if name else None
            if kind and glob.has_magic(path) and (others := {*self.matched(path)} - {path}):
                more = f"a {kind}, and also a pattern of {min(others)}"
                raise Refused(f"{name}: {more}; for this {kind} alone give {glob.escape(name)}")
            if kind == "file":
                self.add(path, named=True)
            elif kind in SPECIAL.values():
                raise Refused(f"{name}: a {kind}, and has to be a file or folder")
            elif kind and self.disk.real(path) == self.out:
                raise Refused(f"--out {out}: an input, and has to be another folder")
            else:
                paths = [path] if kind else self.matched(path) if name else []
                if not paths:
                    why = f" ({self.disk.why})" if self.disk.why else ""
                    raise Refused(f"{name or repr(name)}: no such file, folder or pattern with files{why}")
                self.walk(paths, path)
                if not self.readable:
                    raise Refused(f"{name}: no file in there that can be read ({', '.join(ENDS)}, also .gz and .zst)")

    @property
    def files(self):
        """The paths of the files, each by the name given in its real folder."""
        return list(self.read_as.values())

    def walk(self, paths, name):
        """Add the files of the paths of a folder or pattern and of all folders below them, in order."""
        waiting = [(path, None) for path in reversed(paths)]
        while waiting:
            path, member = waiting.pop()
            kind = self.disk.what(path)
            if member is None and (member := self.is_member(path, name)) is False:
                self.left_out["beside a saved dataset"] += 1
            elif kind == "file":
                self.add(path, member=bool(member))
            elif kind == "folder":
                waiting += self.inside(path)[::-1]
            elif kind:
                self.left_out[kind] += 1
            else:
                raise Refused(f"{path}: not there (any more)")

    def is_member(self, path, name):
        """Whether the datasets that are saved in the folders where a pattern looks name a path; None if there are none.

        The folders that the pattern itself names do not count: what is asked for by name is read.
        """
        folder, member, fixed = "", None, name.split("/")
        first = next((place for place, part in enumerate(fixed) if glob.has_magic(part)), len(fixed))
        for place, part in enumerate(path.split("/")):
            if place >= first and (members := self.saved_in(folder or ".")) is not None:
                member = part in members
                if not member:
                    return False
            folder = f"{folder}/{part}" if place else part or "/"
        return member

    def inside(self, folder):
        """The paths to visit in a folder, in order, each with whether a dataset that was saved there names it."""
        names = self.names(folder)
        members = saved(self.disk, folder, names)
        of_dataset = members is not None
        visit = members if of_dataset else [name for name in names if not name.startswith(".")]
        self.left_out["beside a saved dataset" if of_dataset else "hidden"] += len({*names} - {*visit})
        return [(os.path.join(folder, name), of_dataset) for name in visit]

    def names(self, folder, pattern=()):
        """The sorted names in a folder, to match with the rest of a pattern; none if it was entered before, because
        links may lead in circles."""
        key = (self.disk.real(folder), pattern)
        parent, out = os.path.split(self.out)
        if key[0] == self.out:
            self.left_out["output folder"] = 1
            return []
        if key in self.entered:
            self.left_out["folder read already"] += self.entered[key] != folder
            return []
        self.entered[key] = folder
        try:
            names = sorted(self.disk.names(folder))
        except OSError as error:
            raise Refused(f"{folder}: cannot be listed ({error.strerror})") from None
        if key[0] == parent and (not pattern or matches(out, pattern[0])):
            self.left_out["output folder"] = 1  # also where it does not exist yet: the next call counts the same
            names = [name for name in names if name != out]
        return names

    def matched(self, pattern):
        """The paths that a pattern matches as `glob` does, sorted, without those in a matched folder."""
        root = START.match(pattern)
        assert root, "START also matches nothing"
        start = root[0]
        parts = tuple(part for part in pattern[len(start) :].split("/") if part)
        waiting, paths = [(start, parts)], set()
        while waiting:
            folder, parts = waiting.pop()
            if not parts or parts == ("**",):
                paths.add(folder or ".")
                continue
            part, rest = parts[0], parts[1:]
            names = self.names(folder or ".", parts) if glob.has_magic(part) else [part]
            for name in reversed(names):  # so that links are entered in the same order as for a folder
                path = os.path.join(folder, name)
                if (
                    matches(name, part)
                    and (kind := self.disk.what(path))
                    and (kind == "folder" or (part != "**" and not rest))
                ):
                    waiting.append((path, parts if part == "**" else rest))
            if part == "**":
                waiting.append((folder, rest))
        outer: list[str] = []
        for path in sorted(paths, key=lambda path: path.split("/")):
            is_inside = outer and path.startswith(f"{outer[-1]}/")
            if not is_inside and (pattern[-1] != "/" or self.disk.what(path) == "folder"):
                outer.append(path)
        return outer

    def add(self, path, named=False, member=False):
        """Add a file. It may be left out if its name was not given, neither by the user nor by a saved dataset."""
        folder, name = os.path.split(path)
        kind, packing = kind_of(name)
        if kind is None and not named and not member:
            self.left_out[os.path.splitext(name)[1] or "no ending"] += 1
            return
        if not member and is_of_datasets(self.disk, folder, name):
            if named:
                raise Refused(f"{path}: `datasets` keeps it beside a dataset; name the folder of the dataset")
            self.left_out["cache of datasets"] += 1
            return
        if kind is None:
            raise Refused(f"{path}: cannot be read; it has to end in {', '.join(ENDS)} (text also with .gz or .zst)")
        self.readable += 1
        file = os.path.join(self.disk.real(folder), name)
        real = self.disk.real_file(file)
        if real.startswith(f"{self.out}/"):
            raise Refused(f"--out {self.out}: {file}, an input, is in there; name another folder")
        if real not in self.read_as:
            self.read_as[real] = file
            if self.disk.objects:
                self.objects[file] = self.disk.objects[path]
        elif kind_of(first := self.read_as[real]) == (kind, packing):
            self.left_out["read already"] += 1
        else:
            raise Refused(f"{file} and {first} are one file, and their endings mean two kinds; name one of them")


def what(path):
    """What a path leads to: "file", "folder", "pipe", "socket", "device"; None if there is nothing. Raises Refused."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # a name in a state.json may be no path
        if os.path.islink(path):
            raise Refused(f"{path}: a link that leads nowhere; remove it") from None
        return None
    except OSError as error:
        raise Refused(f"{path}: cannot be read ({error.strerror})") from None
    return "folder" if stat.S_ISDIR(mode) else SPECIAL.get(stat.S_IFMT(mode), "file")


class Disk:
    """What the paths of this machine lead to. `stores.ObjectTree` has the same methods for objects of a store."""

    objects, why = None, ""
    what = staticmethod(what)
    names = staticmethod(os.listdir)
    exists = staticmethod(os.path.exists)

    def __init__(self):
        self.real = functools.lru_cache(64)(os.path.realpath)

    @staticmethod
    def real_file(path):
        return os.path.realpath(path) if os.path.islink(path) else path

    @staticmethod
    def read(path):
        with open(path, encoding="utf-8") as file:
            return file.read()


def matches(name, part):
    """Whether a name matches a part of a pattern; hidden names only match one that begins with a dot."""
    if not glob.has_magic(part):
        return name == part
    return fnmatch.fnmatchcase(name, part) and (not name.startswith(".") or part.startswith("."))


def saved(disk, folder, names):
    """The files of a dataset that `datasets` saved, in its order, or the sorted folders of a `DatasetDict`; None for
    another folder. Raises Refused."""
    for name, key in zip(STATES, ("splits", "_data_files"), strict=True):
        path = os.path.join(folder, name)
        if name not in names or disk.what(path) != "file":
            continue
        try:
            content = json.loads(disk.read(path))
            members = sorted(content[key]) if key == "splits" else [one["filename"] for one in content[key]]
            chosen = content.get("_indices_data_files")
            "".join(members)
        except OSError as error:
            raise Refused(f"{path}: cannot be read ({error.strerror})") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise Refused(f"{path}: not as `datasets` writes it; name the files themselves") from None
        if chosen:
            raise Refused(f"{path}: a file of indices chooses the rows, and is not read; `flatten_indices`, then save")
        needed = [os.path.join(member, "state.json") if key == "splits" else member for member in members]
        for one in needed:
            if (kind := disk.what(os.path.join(folder, one))) != "file":
                raise Refused(f"{path} names {one}, which " + (f"is a {kind}, no file" if kind else "does not exist"))
        return members
    return None


def is_of_datasets(disk, folder, name):
    """Whether a file describes a dataset, or is a result that `datasets` keeps beside one."""
    info = "dataset_info.json"
    is_cache = name.startswith("cache-") and name.endswith(".arrow")
    return name == info or (is_cache and disk.exists(os.path.join(folder, info)))


def identity(file):
    """The identity of an input across runs. Raises Refused."""
    try:
        with open(file, "rb") as opened:
            return [file, *status(opened.fileno())]
    except OSError as error:
        raise Refused(f"{file}: cannot be read ({error.strerror})") from None


def status(file):
    """Values that change with any change of a file: only the kernel sets the time of status change."""
    now = os.stat(file)
    return [now.st_size, now.st_mtime_ns, now.st_ctime_ns, now.st_ino]


if __name__ == "__main__":
    # A digest of the state of the inputs, which tells a plan whether one has changed: inventory.py OUT INPUT…
    try:
        states = [[file, *status(file)] for file in Inventory(sys.argv[2:], sys.argv[1]).files]
    except (Refused, OSError) as error:
        sys.exit(f"beyond-ram: {error}")
    print(digest_of(states))
