"""The endpoints, as HTTP: what a client of the Hub asks in order to read."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from urllib.parse import urlencode

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from beyond_ram.hub.log import Request, RequestLog
from beyond_ram.hub.repos import File, Folder, Kind, NotFoundError, Repos, Repository, pieces

REPOS: web.AppKey[Repos] = web.AppKey("repos", Repos)
LOG: web.AppKey[RequestLog] = web.AppKey("log", RequestLog)
PAGE_SIZE: web.AppKey[int] = web.AppKey("page_size", int)
BYTES_SENT: web.RequestKey[int] = web.RequestKey("bytes_sent", int)

ID = "{id:[^/]+(?:/[^/]+)?}"
REVISION = "{revision:[^/]+}"


def create_app(repos: Repos, log: RequestLog, page_size: int = 1000) -> web.Application:
    """An application over `repos`; `page_size` is the number of entries in a page of a tree."""
    app = web.Application(middlewares=[_logged(log), _errors], client_max_size=64 << 20)
    app[REPOS] = repos
    app[LOG] = log
    app[PAGE_SIZE] = page_size
    for kind in ("datasets", "models"):
        # Models are resolved at the root, as on the Hub; the more specific routes come first.
        files = "" if kind == "models" else f"/{kind}"
        app.router.add_get(f"/api/{kind}/{ID}/revision/{REVISION}", info, name=f"{kind}:revision")
        app.router.add_get(f"/api/{kind}/{ID}/tree/{REVISION}", tree, name=f"{kind}:tree")
        app.router.add_get(f"/api/{kind}/{ID}/tree/{REVISION}/{{path:.*}}", tree, name=f"{kind}:subtree")
        app.router.add_post(f"/api/{kind}/{ID}/paths-info/{REVISION}", paths_info, name=f"{kind}:paths-info")
        app.router.add_get(f"/api/{kind}/{ID}/commits/{REVISION}", commits, name=f"{kind}:commits")
        app.router.add_get(f"/api/{kind}/{ID}", info, name=f"{kind}:info")
        app.router.add_get(f"{files}/{ID}/resolve/{REVISION}/{{path:.+}}", resolve, name=f"{kind}:resolve")
    return app


def _logged(log: RequestLog) -> Middleware:
    """Notes every request once it is answered, or broken off."""
    started = time.monotonic()
    in_flight = 0

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        nonlocal in_flight
        in_flight += 1
        arrived, others = time.monotonic(), in_flight
        status, length = 0, 0
        try:
            response = await handler(request)
            status = response.status
            if isinstance(response, web.Response) and isinstance(response.body, bytes) and request.method != "HEAD":
                length = len(response.body)
            return response
        finally:
            in_flight -= 1
            name = (request.match_info.route.name or ":unknown").split(":")[1].replace("subtree", "tree")
            identifier = request.match_info.get("id")
            peer = request.transport.get_extra_info("peername") if request.transport else None
            log.add(
                Request(
                    t_s=round(arrived - started, 6),
                    duration_s=round(time.monotonic() - arrived, 6),
                    method=request.method,
                    endpoint=name,
                    repo=f"{_kind(request)}/{identifier}" if identifier else "",
                    path=request.path_qs,
                    range=request.headers.get("Range", ""),
                    status=status,
                    bytes_sent=request.get(BYTES_SENT, length),
                    in_flight=others,
                    client=f"{peer[0]}:{peer[1]}" if peer else "",
                    user_agent=request.headers.get("User-Agent", ""),
                )
            )

    return middleware


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """What is not there, said as the Hub says it."""
    try:
        return await handler(request)
    except NotFoundError as error:
        # A path may hold what no header may: line ends, letters beyond ASCII.
        message = str(error).encode("unicode_escape").decode()
        headers = {"X-Error-Code": error.code, "X-Error-Message": message}
        return web.json_response({"error": str(error)}, status=404, headers=headers)
    except web.HTTPNotFound:
        return web.json_response({"error": "not served here"}, status=404)


def _kind(request: web.Request) -> Kind:
    return "datasets" if (request.match_info.route.name or "").startswith("datasets") else "models"


def _repository(request: web.Request) -> Repository:
    return request.app[REPOS].get(_kind(request), request.match_info["id"])


async def info(request: web.Request) -> web.StreamResponse:
    """`/api/datasets/ID` and `/revision/REVISION`."""
    repository = _repository(request)

    def answer() -> dict[str, object]:
        commit = repository.check_revision(request.match_info.get("revision", "main"))
        modified = _time(repository.modified())
        return {
            "_id": commit[:24],
            "id": repository.id,
            "author": repository.id.split("/")[0] if "/" in repository.id else None,
            "sha": commit,
            "createdAt": modified,
            "lastModified": modified,
            "private": False,
            "gated": False,
            "disabled": False,
            "downloads": 0,
            "likes": 0,
            "tags": [],
            "siblings": [{"rfilename": file.path} for file in repository.files()],
        }

    return web.json_response(await asyncio.to_thread(answer))


async def tree(request: web.Request) -> web.StreamResponse:
    """`/tree/REVISION[/PATH]`, a page at a time."""
    repository = _repository(request)
    under = request.match_info.get("path", "")
    recursive = request.query.get("recursive", "false").lower() in ("true", "1")

    def answer() -> list[File | Folder]:
        repository.check_revision(request.match_info["revision"])
        return repository.entries(under, recursive)

    entries = await asyncio.to_thread(answer)
    try:
        size = min(int(request.query.get("limit", request.app[PAGE_SIZE])), request.app[PAGE_SIZE])
        start = int(request.query.get("cursor", 0))
    except ValueError:
        return web.json_response({"error": "limit and cursor are numbers"}, status=400)
    headers = {}
    if size > 0 and start + size < len(entries):
        query = urlencode({**request.query, "cursor": start + size})
        headers["Link"] = f'<{request.url.origin()}{request.rel_url.raw_path}?{query}>; rel="next"'
    return web.json_response([_entry(entry) for entry in entries[start : start + size]], headers=headers)


async def paths_info(request: web.Request) -> web.StreamResponse:
    """`/paths-info/REVISION`: files and folders by name; what is not there is left out."""
    repository = _repository(request)
    if request.content_type == "application/json":
        body = await request.json()
        wanted = body.get("paths", []) if isinstance(body, dict) else []
    else:
        wanted = (await request.post()).getall("paths", [])
    paths = [wanted] if isinstance(wanted, str) else [str(path) for path in wanted]

    def answer() -> list[dict[str, object]]:
        repository.check_revision(request.match_info["revision"])
        there = {entry.path: entry for entry in repository.entries(recursive=True)}
        return [_entry(there[path]) for path in paths if path in there]

    return web.json_response(await asyncio.to_thread(answer))


async def commits(request: web.Request) -> web.StreamResponse:
    """`/commits/REVISION`: the one commit there is."""
    repository = _repository(request)

    def answer() -> dict[str, object]:
        commit = repository.check_revision(request.match_info["revision"])
        date = _time(repository.modified())
        return {"id": commit, "title": "as the folder is now", "message": "", "authors": [], "date": date}

    return web.json_response([await asyncio.to_thread(answer)], headers={"X-Total-Count": "1"})


async def resolve(request: web.Request) -> web.StreamResponse:
    """`/resolve/REVISION/PATH`: the file itself, or a range of it."""
    repository = _repository(request)

    def found() -> tuple[str, File]:
        return repository.check_revision(request.match_info["revision"]), repository.file(request.match_info["path"])

    commit, file = await asyncio.to_thread(found)
    headers = {"X-Repo-Commit": commit, "ETag": f'"{file.etag}"', "Accept-Ranges": "bytes"}
    if file.lfs_oid:
        headers |= {"X-Linked-Size": str(file.size), "X-Linked-ETag": f'"{file.lfs_oid}"'}
    try:
        start, stop, _ = request.http_range.indices(file.size)
    except ValueError:
        start, stop = file.size, file.size
    partial = "Range" in request.headers
    if partial and start >= stop:
        return web.Response(status=416, headers={**headers, "Content-Range": f"bytes */{file.size}"})
    if partial:
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{file.size}"
    response = web.StreamResponse(status=206 if partial else 200, headers=headers)
    response.content_type = "application/octet-stream"
    response.content_length = stop - start
    await response.prepare(request)
    if request.method != "HEAD":
        await _send(request, response, file, start, stop)
    return response


async def _send(request: web.Request, response: web.StreamResponse, file: File, start: int, stop: int) -> None:
    request[BYTES_SENT] = 0
    for piece in pieces(file.local, start, stop):
        await response.write(piece)
        request[BYTES_SENT] += len(piece)
    await response.write_eof()


def _entry(entry: File | Folder) -> dict[str, object]:
    if isinstance(entry, Folder):
        return {"type": "directory", "oid": entry.oid, "size": 0, "path": entry.path}
    listed: dict[str, object] = {"type": "file", "oid": entry.oid, "size": entry.size, "path": entry.path}
    if entry.lfs_oid:
        listed["lfs"] = {"oid": entry.lfs_oid, "size": entry.size, "pointerSize": 134}
    return listed


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
