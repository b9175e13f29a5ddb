"""List and copy objects of stores, for `stores.py`: a program of its own, run by the interpreter of the stack `stores`.

It takes orders as JSON lines, and answers each by JSON lines. Texts of libraries may hold a secret, such as a signed
address, so an answer has only names of errors and codes.
"""

import concurrent.futures
import contextlib
import ctypes
import functools
import json
import os
import re
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable

from inventory import STATES
from trouble import NO_ROOM, Refused

TRIES, WAIT_S = 4, 0.5  # of an object whose copy fails; the wait doubles. The libraries themselves try again too
STATE_MOST = 1 << 24  # bytes of a `state.json`
# What changes with the content of an object, as stores call it.
MARKS = ("blob_id", "xet_hash", "ETag", "etag", "md5Hash", "content_md5", "generation", "sha", "checksum", "mtime",
         "LastModified", "last_modified", "Last-Modified", "modify")  # fmt: skip
# One stream per copy, because parts that come out of order are kept in memory; no listing is kept.
OPTIONS: dict[str, dict[str, int]] = {
    "s3": {"max_concurrency": 1, "use_listings_cache": False},
    "hf": {"use_listings_cache": False},
}
SAY = threading.Lock()


class OtherSize(Exception):
    """A copy has not the size that the store says."""


def say(**answer):
    with SAY:
        os.write(ANSWERS, json.dumps(answer).encode() + b"\n")


def reason(error):
    """The names and codes of an error and its causes."""
    names: list[str] = []
    while error is not None and len(names) < 6:
        names.append(type(error).__name__)
        answer = getattr(error, "response", None)
        code = answer.get("Error", {}).get("Code") if isinstance(answer, dict) else getattr(answer, "status_code", None)
        for one in (code, getattr(error, "status", None)):
            if re.fullmatch(r"\w{1,60}", str(one or "")):
                names.append(str(one))
        error = error.__cause__
    return ", ".join(dict.fromkeys(names))


@functools.cache
def opened(protocol, options):
    import fsspec

    return fsspec.filesystem(protocol, **json.loads(options)), threading.Lock()


def store(url):
    """The file system of an address, and a lock if it serves one thread at a time. Raises Refused."""
    import fsspec
    from fsspec.registry import known_implementations

    protocol = url.partition("://")[0]
    try:
        kind = fsspec.get_filesystem_class(protocol)
    except ValueError:
        raise Refused(f"{url}: fsspec knows no store {protocol!r}") from None
    except ImportError:
        why = known_implementations[protocol]["err"]
        raise Refused(f"{url}: {why} (a line in envs/stores.in, then `beyond-ram stack upgrade stores`)") from None
    options = {**OPTIONS.get(protocol, {}), **kind._get_kwargs_from_urls(url)}
    system, lock = opened(protocol, json.dumps(options, sort_keys=True))
    return system, contextlib.nullcontext() if system.async_impl or protocol == "hf" else lock


def mark(info):
    """What tells one content of an object from another."""
    marks = {name: info[name] for name in MARKS if info.get(name)}
    for name, value in marks.items():
        if hasattr(value, "timestamp"):
            marks[name] = int(value.timestamp())
    return json.dumps(marks, sort_keys=True, default=str)


def listed(url):
    """Answer with the objects at and below an address, each with its size, its mark and where it is read."""
    try:
        system, _ = store(url)
        path = system._strip_protocol(url)
        try:
            info = None if url.endswith("/") else system.info(path)
        except FileNotFoundError:
            info = None
        below = {path: info} if info and info["type"] == "file" else system.find(path, detail=True)
        for source, info in below.items():
            if info["type"] != "file":
                continue
            end = source.removeprefix(path.rstrip("/"))
            name = f"{url.rstrip('/')}/{end.removeprefix('/')}" if end else url
            if info.get("size") is None:
                raise Refused(f"{name}: its store does not say its size")
            state = None
            if name.rpartition("/")[2] in STATES and info["size"] <= STATE_MOST:
                state = system.cat_file(source).decode("utf-8", "replace")
            say(object=name, size=info["size"], mark=mark(info), source=source, state=state)
        say(end=True, why="")
    except Refused as error:
        say(refused=str(error))
    except FileNotFoundError as error:
        say(end=True, why=reason(error))
    except MemoryError:
        say(refused=f"{url}: the memory is not enough to list it; give more, or name fewer objects")
    except Exception as error:
        hint = ""
        if "NoCredentials" in (why := reason(error)):
            hint = "; give the credentials, or FSSPEC_S3_ANON=true for a public bucket"
        say(refused=f"{url}: cannot be listed ({why}){hint}")


def copied(unit, name, size, before, source, path):
    """Copy an object, and answer."""
    for attempt in range(TRIES):
        try:
            whole(name, size, before, source, path)
            return say(copied=unit)
        except Refused as error:
            return say(refused=str(error))
        except Exception as error:
            why, errno = reason(error), getattr(error, "errno", None)
            if errno in NO_ROOM:
                return say(lost=f"{name}: the disk of the output folder has no room for a copy of {size:,} bytes")
            if isinstance(error, FileNotFoundError) or "404" in why:
                return say(refused=f"{name}: not there any more ({why})")
            if isinstance(error, PermissionError) or "401" in why or "403" in why:
                return say(refused=f"{name}: cannot be read ({why})")
        if attempt < TRIES - 1:
            time.sleep(WAIT_S * 2**attempt)
    return say(lost=f"{name}: cannot be copied ({why})")


def whole(name, size, before, source, path):
    """Copy an object. Raises Refused if it was changed since it was listed, or an error if the copy is another."""
    system, lock = store(name)
    with lock:
        system.get_file(source, path)
        after = system.info(source)
    if after["size"] != size or mark(after) != before:
        raise Refused(f"{name} was changed while it was read; remove the output folder and start again")
    if os.stat(path).st_size != size:
        raise OtherSize


def main():
    """`copier.py THREADS BYTES`: orders are served by some threads, and limited to some bytes of memory (0: not)."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    threading.stack_size(1 << 19)
    threads, most = map(int, sys.argv[1:])
    if most:
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    orders: dict[str, Callable[..., None]] = {"list": listed, "copy": copied}
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for line in sys.stdin.buffer:
            order = json.loads(line)
            pool.submit(orders[order[0]], *order[1:])


if __name__ == "__main__":
    ANSWERS = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no answer
    main()
