"""The endpoints of Xet: tokens, and reading from storage by the public protocol (https://huggingface.co/docs/xet).

A client asks which parts of which xorbs make a file, or a range of it, and reads these parts.
"""

import time
from typing import Any

from aiohttp import web

from beyond_ram.hub.about import kind_of, repository_of
from beyond_ram.hub.push import STORE
from beyond_ram.hub.repos import KINDS, File, NotFoundError
from beyond_ram.hub.sending import TRAFFIC, range_of, send
from beyond_ram.hub.xet import Segment, Storage, Stored

HASH = "{hash:[0-9a-f]{64}}"


def add_xet_routes(app: web.Application, identifier: str, revision: str) -> None:
    """Add the routes, given the patterns of a repository and of a revision."""
    for kind in KINDS:
        api = f"/api/{kind}/{identifier}"
        app.router.add_get(f"{api}/xet-read-token/{revision}", read_token, name=f"{kind}:xet-read-token")
    app.router.add_get(f"/{{version:v[12]}}/reconstructions/{HASH}", reconstruction, name="xet:reconstruction")
    app.router.add_get(f"/xorbs/{HASH}", xorb, name="xet:xorb")


def stored_file(request: web.Request, file: File) -> Stored | None:
    """A file in the storage; None if it is not there, or is not offered from there."""
    offered = file.lfs_oid and request.app[TRAFFIC].conditions.xet
    return request.app[STORE].xet.find(file.lfs_oid) if file.lfs_oid and offered else None


def xet_headers(request: web.Request, commit: str, file: File) -> dict[str, str]:
    """What tells a client that it may read a file from the storage, and where to get a token."""
    if not (stored := stored_file(request, file)):
        return {}
    api = f"{request.url.origin()}/api/{kind_of(request)}/{request.match_info['id']}"
    return {"X-Xet-Hash": stored.xet_hash, "Link": f'<{api}/xet-read-token/{commit}>; rel="xet-auth"'}


async def read_token(request: web.Request) -> web.StreamResponse:
    """`/xet-read-token/REVISION`: this endpoint, at the address of its storage."""
    repository_of(request)
    token: dict[str, Any] = {"casUrl": request.app[TRAFFIC].cdn, "exp": int(time.time()) + 3600, "accessToken": "none"}
    headers = {
        "X-Xet-Cas-Url": token["casUrl"],
        "X-Xet-Token-Expiration": str(token["exp"]),
        "X-Xet-Access-Token": token["accessToken"],
    }
    return web.json_response(token, headers=headers)


async def reconstruction(request: web.Request) -> web.StreamResponse:
    """`/v1/reconstructions/HASH` and `/v2/…`: the parts of a file, or of a range of it."""
    storage = request.app[STORE].xet
    stored = storage.get(request.match_info["hash"])
    if stored is None:
        raise NotFoundError("EntryNotFound", f"no file {request.match_info['hash']} in Xet storage")
    start, stop = range_of(request.headers["Range"], stored.size) if "Range" in request.headers else (0, stored.size)
    if start >= stop and stored.size:
        return web.Response(status=416)

    answer = _answer(storage, stored, start, stop, request.match_info["version"], request.app[TRAFFIC].cdn)
    return web.json_response(answer)


async def xorb(request: web.Request) -> web.StreamResponse:
    """`/xorbs/HASH`: a xorb, or a range of it."""
    name = request.match_info["hash"]
    path = request.app[STORE].xet.xorb(name)
    if not path.is_file():
        raise NotFoundError("EntryNotFound", f"no xorb {name} in Xet storage")
    return await send(request, File(name, path, path.stat().st_size, name, None), {})


def _answer(storage: Storage, stored: Stored, start: int, stop: int, version: str, address: str) -> dict[str, Any]:
    """The chunks with the bytes from `start` to before `stop` of a file, and the bytes of xorbs that hold them."""
    before, segments = storage.within(stored, start, stop)
    terms = [
        {"hash": part.xorb, "unpacked_length": part.size, "range": {"start": part.first, "end": part.stop}}
        for part in segments
    ]
    parts: dict[str, list[Any]] = {}
    for name, ranges in _joined(segments).items():
        url, pairs = f"{address}/xorbs/{name}", []
        for chunks in ranges:
            first, after = storage.bytes_of(name, *chunks)
            # The end of chunks is after the last, the end of bytes is the last.
            pairs.append(({"start": chunks[0], "end": chunks[1]}, {"start": first, "end": after - 1}))
        if version == "v1":
            parts[name] = [{"url": url, "range": chunks, "url_range": part} for chunks, part in pairs]
        else:
            parts[name] = [{"url": url, "ranges": [{"chunks": chunks, "bytes": part} for chunks, part in pairs]}]
    return {
        "offset_into_first_range": before,
        "terms": terms,
        "fetch_info" if version == "v1" else "xorbs": parts,
    }


def _joined(segments: list[Segment]) -> dict[str, list[tuple[int, int]]]:
    """The chunks to read of each xorb, as first and stop; those that touch are one range."""
    ranges: dict[str, list[tuple[int, int]]] = {}
    for segment in sorted(segments, key=lambda segment: segment.first):
        of_xorb = ranges.setdefault(segment.xorb, [])
        touches = of_xorb and of_xorb[-1][1] >= segment.first
        first, stop = of_xorb.pop() if touches else (segment.first, segment.stop)
        of_xorb.append((first, max(stop, segment.stop)))
    return ranges
