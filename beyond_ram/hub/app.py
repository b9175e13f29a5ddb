"""The endpoints for reading, and the middlewares of all requests: log, latency, errors."""

import asyncio
import errno
import time
from datetime import UTC, datetime
from urllib.parse import parse_qs, unquote, urlencode

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from yarl import URL

from beyond_ram.hub.about import REPOS, endpoint_of, json_of, kind_of, repository_of, text_of
from beyond_ram.hub.clients import Clients
from beyond_ram.hub.conditions import Traffic
from beyond_ram.hub.log import BYTES_SENT, INJECTED_S, STORAGE, Request, RequestLog
from beyond_ram.hub.push import STORE, add_routes
from beyond_ram.hub.relay import Relay
from beyond_ram.hub.repos import KINDS, File, Folder, NotFoundError, Repos
from beyond_ram.hub.sending import FAULT, TRAFFIC, send
from beyond_ram.hub.store import RefusedError, Store
from beyond_ram.hub.xet_routes import add_xet_routes, stored_file, xet_headers

PAGE_SIZE: web.AppKey[int] = web.AppKey("page_size", int)

TITLE = "as the folder is now"
# Query keys whose values are logged. Values of other keys may be signatures, so only the keys are logged.
LOGGED_KEYS = {"cursor", "create_pr", "expand", "limit", "recursive"}
# Status codes for errors of the file system. Any other OSError is a fault of the endpoint.
REFUSALS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), 507),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), 403),
    **dict.fromkeys((errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP), 422),
    **dict.fromkeys((errno.EBUSY, errno.EXDEV), 422),  # a folder that cannot be replaced, such as a mount
    errno.ENOENT: 404,
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), 503),
}
MESSAGE_LETTERS = 1000  # clients take headers up to 8 KB

ID = "{id:[^/]+(?:/[^/]+)?}"
REVISION = "{revision:[^/]+}"


def create_app(repos: Repos, log: RequestLog, page_size: int, traffic: Traffic) -> web.Application:
    """An application that serves `repos`; `page_size` is the number of entries in a page of a tree."""
    app = _app([_logged(log), _guarded, _errors], traffic)
    app[REPOS] = repos
    app[STORE] = Store(repos)
    app[PAGE_SIZE] = page_size
    return app


def create_relay(upstream: str, log: RequestLog, traffic: Traffic, secret: str) -> web.Application:
    """An application that forwards reads to the Hub at `upstream` for clients that send `secret`, and logs requests."""
    relay = Relay(upstream, traffic, secret)

    @web.middleware
    async def forwarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        return await relay.answer(request)

    app = _app([_logged(log), _guarded, _errors, forwarded], traffic)
    # These routes only name the endpoints: the relay answers every request.
    app.router.add_get("/elsewhere/{key}/{path:.*}", info, name="hub:elsewhere")
    for kind in KINDS:  # the Hub redirects reads of small files to this path
        app.router.add_get(f"/api/resolve-cache/{kind}/{ID}/{REVISION}/{{path:.+}}", info, name=f"{kind}:resolve-cache")
    app.cleanup_ctx.append(relay.running)
    return app


def _app(middlewares: list[Middleware], traffic: Traffic) -> web.Application:
    """An application with all endpoints and network conditions."""
    app = web.Application(middlewares=middlewares)
    app[TRAFFIC] = traffic
    add_routes(app, ID, REVISION)
    add_xet_routes(app, ID, REVISION)
    for kind in KINDS:
        # Files of models are at the root, as on the Hub. The more specific routes come first.
        files = "" if kind == "models" else f"/{kind}"
        app.router.add_get(f"/api/{kind}/{ID}/revision/{REVISION}", info, name=f"{kind}:revision")
        app.router.add_get(f"/api/{kind}/{ID}/tree/{REVISION}", tree, name=f"{kind}:tree")
        app.router.add_get(f"/api/{kind}/{ID}/tree/{REVISION}/{{path:.*}}", tree, name=f"{kind}:subtree")
        app.router.add_post(f"/api/{kind}/{ID}/paths-info/{REVISION}", paths_info, name=f"{kind}:paths-info")
        app.router.add_get(f"/api/{kind}/{ID}/commits/{REVISION}", commits, name=f"{kind}:commits")
        app.router.add_get(f"/api/{kind}/{ID}", info, name=f"{kind}:info")
        app.router.add_get(f"/cdn/{kind}/{ID}/{REVISION}/{{path:.+}}", cdn, name=f"{kind}:cdn")
        app.router.add_get(f"{files}/{ID}/resolve/{REVISION}/{{path:.+}}", resolve, name=f"{kind}:resolve")
    return app


def _logged(log: RequestLog) -> Middleware:
    """Log every request when it is answered or aborted."""
    started = time.monotonic()
    in_flight = 0
    clients = Clients()

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        nonlocal in_flight
        in_flight += 1
        meter = request.app[TRAFFIC].meter
        before, arrived, others = meter.begin(), time.monotonic(), in_flight
        status, length = 0, 0
        pid: int | None = None
        try:
            # Before the answer, because a client may exit once it has the answer.
            pid, request[INJECTED_S] = await asyncio.gather(
                clients.of(request.transport), request.app[TRAFFIC].latency()
            )
            response = await handler(request)
            status = response.status
            if isinstance(response, web.Response) and isinstance(response.body, bytes) and request.method != "HEAD":
                length = len(response.body)
            return response
        finally:
            in_flight -= 1
            after = meter.end()
            log.add(
                Request(
                    t_s=round(arrived - started, 6),
                    monotonic_s=round(arrived, 6),
                    duration_s=round(time.monotonic() - arrived, 6),
                    injected_s=round(request.get(INJECTED_S, 0.0), 6),
                    status=status,
                    bytes_sent=request.get(BYTES_SENT, length),
                    in_flight=others,
                    pid=pid,
                    before=before,
                    after=after,
                    **_log_fields(request),
                )
            )

    return middleware


def _log_fields(request: web.Request) -> dict[str, str]:
    """The fields of a request in the log."""
    return {
        "method": request.method,
        "endpoint": endpoint_of(request),
        "path": _logged_path(request),
        "range": request.headers.get("Range", ""),
        "fault": request.get(FAULT, ""),
    }


def _logged_path(request: web.Request) -> str:
    """The path and query of a request, without secrets such as signatures."""
    if endpoint_of(request) == "elsewhere":
        return f"/elsewhere/{request.get(STORAGE, '')}/{request.match_info['path']}"
    pairs = (urlencode({k: v}) if k in LOGGED_KEYS else urlencode({k: ""})[:-1] for k, v in request.query.items())
    query = "&".join(pairs)
    return f"{request.path}?{query}" if query else request.path


@web.middleware
async def _guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse requests that a web page of another origin makes through a browser on this machine."""
    port = request.transport.get_extra_info("sockname")[1] if request.transport else 0
    ours = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
    if request.headers.get("Host") not in ours:
        return web.json_response({"error": f"Host is not 127.0.0.1:{port}"}, status=421)
    if request.headers.get("Origin", f"http://127.0.0.1:{port}").removeprefix("http://") not in ours:
        return web.json_response({"error": "pages of another origin are refused"}, status=403)
    if not request.raw_path.startswith("/"):
        return web.json_response({"error": "the path does not begin with /"}, status=400)
    if {".", ".."} & set(unquote(request.raw_path.partition("?")[0]).split("/")):
        return web.json_response({"error": "not served here"}, status=404)
    return await handler(request)


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer errors as the Hub does: a status, X-Error-Code and X-Error-Message."""
    headers = {}
    try:
        return await handler(request)
    except NotFoundError as error:
        status, message = 404, str(error)
        headers["X-Error-Code"] = error.code
    except RefusedError as error:
        status, message = error.status, str(error)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        status, message = 400, f"invalid body: {error!r}"
    except OSError as error:
        if error.errno not in REFUSALS:
            raise
        status, message = REFUSALS[error.errno], f"the folder cannot be used: {error.strerror}"
    except (web.HTTPNotFound, web.HTTPMethodNotAllowed):
        status, message = 404, "not served here"
    message = message[:MESSAGE_LETTERS]
    # A header may contain neither line ends nor characters beyond ASCII.
    headers["X-Error-Message"] = message.encode("unicode_escape").decode()
    return web.json_response({"error": message}, status=status, headers=headers)


async def info(request: web.Request) -> web.StreamResponse:
    """`/api/datasets/ID` and `/revision/REVISION`."""
    repository = repository_of(request)

    def answer() -> dict[str, object]:
        commit = repository.check_revision(request.match_info.get("revision", "main"))
        modified = _time(repository.listing().modified_s)
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
            "siblings": [{"rfilename": file.path} for file in repository.listing().files],
        }

    return web.json_response(await asyncio.to_thread(answer))


async def tree(request: web.Request) -> web.StreamResponse:
    """`/tree/REVISION[/PATH]`, a page at a time."""
    repository = repository_of(request)
    under = request.match_info.get("path", "")
    recursive = request.query.get("recursive", "false").lower() in ("true", "1")

    def answer() -> tuple[str, list[File | Folder]]:
        return repository.check_revision(request.match_info["revision"]), repository.entries(under, recursive)

    commit, entries = await asyncio.to_thread(answer)
    more: dict[str, object] = {}
    if request.query.get("expand", "false").lower() in ("true", "1"):
        date = _time((await asyncio.to_thread(repository.listing)).modified_s)
        more = {"lastCommit": {"id": commit, "title": TITLE, "date": date}}
    try:
        size = min(int(request.query.get("limit", request.app[PAGE_SIZE])), request.app[PAGE_SIZE])
        start = int(request.query.get("cursor", 0))
    except ValueError:
        size = start = -1
    if min(size, start) < 0:
        return web.json_response({"error": "limit and cursor are numbers from 0 on"}, status=400)
    headers = {}
    if size > 0 and start + size < len(entries):
        query = urlencode({**request.query, "cursor": start + size})
        headers["Link"] = f'<{request.url.origin()}{request.rel_url.raw_path}?{query}>; rel="next"'
    return web.json_response(
        [{**_entry(request, entry), **more} for entry in entries[start : start + size]], headers=headers
    )


async def paths_info(request: web.Request) -> web.StreamResponse:
    """`/paths-info/REVISION`: files and folders by name; missing ones are left out."""
    repository = repository_of(request)
    if request.content_type == "application/json":
        requested = (await json_of(request)).get("paths", [])
    else:
        requested = parse_qs(await text_of(request)).get("paths", [])
    paths = [requested] if isinstance(requested, str) else [str(path) for path in requested]

    def answer() -> list[dict[str, object]]:
        repository.check_revision(request.match_info["revision"])
        entries = {entry.path: entry for entry in repository.entries(recursive=True)}
        return [_entry(request, entries[path]) for path in paths if path in entries]

    return web.json_response(await asyncio.to_thread(answer))


async def commits(request: web.Request) -> web.StreamResponse:
    """`/commits/REVISION`: the only commit."""
    repository = repository_of(request)

    def answer() -> dict[str, object]:
        commit = repository.check_revision(request.match_info["revision"])
        date = _time(repository.listing().modified_s)
        return {"id": commit, "title": TITLE, "message": "", "authors": [], "date": date}

    return web.json_response([await asyncio.to_thread(answer)], headers={"X-Total-Count": "1"})


async def resolve(request: web.Request) -> web.StreamResponse:
    """`/resolve/REVISION/PATH`: the file, a range of it, or a redirect to it."""
    commit, file = await _file(request)
    headers = {"X-Repo-Commit": commit}
    if file.lfs_oid:
        headers |= {"X-Linked-Size": str(file.size), "X-Linked-ETag": f'"{file.lfs_oid}"'}
        headers |= xet_headers(request, commit, file)
    if file.lfs_oid and request.app[TRAFFIC].conditions.redirect:
        location = (
            URL(request.app[TRAFFIC].cdn) / "cdn" / kind_of(request) / request.match_info["id"] / commit / file.path
        )
        return web.Response(status=302, headers={**headers, "ETag": f'"{file.etag}"', "Location": str(location)})
    return await send(request, file, headers)


async def cdn(request: web.Request) -> web.StreamResponse:
    """`/cdn/KIND/ID/REVISION/PATH`: the target of redirects, which is another host on the Hub."""
    _, file = await _file(request)
    return await send(request, file, {})


async def _file(request: web.Request) -> tuple[str, File]:
    repository = repository_of(request)

    def read() -> tuple[str, File]:
        return repository.check_revision(request.match_info["revision"]), repository.file(request.match_info["path"])

    return await asyncio.to_thread(read)


def _entry(request: web.Request, entry: File | Folder) -> dict[str, object]:
    if isinstance(entry, Folder):
        return {"type": "directory", "oid": entry.oid, "size": 0, "path": entry.path}
    listed: dict[str, object] = {"type": "file", "oid": entry.oid, "size": entry.size, "path": entry.path}
    if entry.lfs_oid:
        listed["lfs"] = {"oid": entry.lfs_oid, "size": entry.size, "pointerSize": 134}
    if stored := stored_file(request, entry):
        listed["xetHash"] = stored.xet_hash
    return listed


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
