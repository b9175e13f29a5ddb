"""The endpoints for pushing. Pushed files go into the folder; no login is needed."""

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

import yaml
from aiohttp import web

from beyond_ram.hub.about import json_of, repository_of
from beyond_ram.hub.repos import LFS_FROM_BYTES, LFS_SUFFIXES, Kind, Repository
from beyond_ram.hub.store import RefusedError, Store

COMMIT_BYTES = 1 << 30
OPERATION_BYTES = 1 << 26  # larger files go to LFS
OPERATIONS = 100_000
YAML_DEPTH = 100  # parsing takes quadratic time
STORE: web.AppKey[Store] = web.AppKey("store", Store)
USER = "local"
KINDS: dict[str, Kind] = {"dataset": "datasets", "model": "models"}
LFS = "application/vnd.git-lfs+json"


def add_routes(app: web.Application, identifier: str, revision: str) -> None:
    """Add the routes, given the patterns of a repository and of a revision."""
    app.router.add_get("/api/whoami-v2", whoami, name="hub:whoami")
    app.router.add_post("/api/repos/create", create, name="hub:create")
    app.router.add_delete("/api/repos/delete", delete, name="hub:delete")
    app.router.add_post("/api/validate-yaml", validate_yaml, name="hub:validate-yaml")
    for kind in KINDS.values():
        files = "" if kind == "models" else f"/{kind}"
        api, git = f"/api/{kind}/{identifier}", f"{files}/{identifier}.git/info/lfs/objects"
        app.router.add_get(f"{api}/refs", refs, name=f"{kind}:refs")
        app.router.add_post(f"{api}/branch/{revision}", branch, name=f"{kind}:branch")
        app.router.add_post(f"{api}/preupload/{revision}", preupload, name=f"{kind}:preupload")
        app.router.add_post(f"{api}/commit/{revision}", commit, name=f"{kind}:commit")
        app.router.add_post(f"{git}/batch", lfs_batch, name=f"{kind}:lfs-batch")
        app.router.add_put(f"{git}/{{oid}}", lfs_put, name=f"{kind}:lfs-put")
        app.router.add_post(f"{git}/verify", lfs_verify, name=f"{kind}:lfs-verify")


async def whoami(request: web.Request) -> web.StreamResponse:
    """`/api/whoami-v2`: the same user for any token."""
    access = {"type": "access_token", "accessToken": {"displayName": USER, "role": "write"}}
    return web.json_response({"type": "user", "id": USER, "name": USER, "fullname": USER, "orgs": [], "auth": access})


async def create(request: web.Request) -> web.StreamResponse:
    """`/api/repos/create`; 409 if it exists."""
    body = await json_of(request)
    kind, identifier = _repository_in(body)
    created = await asyncio.to_thread(request.app[STORE].create, kind, identifier)
    answer: dict[str, Any] = {"url": _address(request, kind, identifier), "name": identifier, "id": identifier}
    if not created:
        answer["error"] = "You already created this repo"
    return web.json_response(answer, status=200 if created else 409)


async def delete(request: web.Request) -> web.StreamResponse:
    """`/api/repos/delete`."""
    kind, identifier = _repository_in(await json_of(request))
    await asyncio.to_thread(request.app[STORE].delete, kind, identifier)
    return web.json_response({})


async def validate_yaml(request: web.Request) -> web.StreamResponse:
    """`/api/validate-yaml`: whether the head of a card is YAML. The Hub checks the keys too."""
    content = str((await json_of(request)).get("content", ""))
    head = content.split("---")[1] if content.startswith("---") and content.count("---") > 1 else ""
    try:
        await asyncio.to_thread(_check_yaml, head)
    except yaml.YAMLError as error:
        return web.json_response({"errors": [{"message": str(error)}], "warnings": []}, status=400)
    return web.json_response({"errors": [], "warnings": []})


async def refs(request: web.Request) -> web.StreamResponse:
    """`/refs`: the only branch, main."""
    now = await asyncio.to_thread(repository_of(request).listing)
    main = {"name": "main", "ref": "refs/heads/main", "targetCommit": now.commit}
    return web.json_response({"branches": [main], "converts": [], "tags": [], "pullRequests": []})


async def branch(request: web.Request) -> web.StreamResponse:
    """`/branch/NAME`: refused, because a folder has one state and so one branch."""
    repository_of(request)
    if request.match_info["revision"] == "main":
        return web.json_response({"error": "Reference already exists"}, status=409)
    raise RefusedError("a repository here has one branch, main")


async def preupload(request: web.Request) -> web.StreamResponse:
    """`/preupload/REVISION`: which files to upload by LFS, and which inside the commit."""
    repository_of(request)
    files = []
    for file in (await json_of(request)).get("files", []):
        by_lfs = int(file["size"]) >= LFS_FROM_BYTES or str(file["path"]).endswith(tuple(LFS_SUFFIXES))
        files.append({"path": file["path"], "uploadMode": "lfs" if by_lfs else "regular", "shouldIgnore": False})
    return web.json_response({"files": files})


async def commit(request: web.Request) -> web.StreamResponse:
    """`/commit/REVISION`: one operation per line of JSON."""
    repository = repository_of(request)
    if request.query.get("create_pr") in ("1", "true"):
        raise RefusedError("a repository here has no pull requests")
    await asyncio.to_thread(repository.check_revision, request.match_info["revision"])
    oid = await asyncio.to_thread(request.app[STORE].commit, repository, await _operations(request))
    address = f"{_address(request, repository.kind, repository.id)}/commit/{oid}"
    return web.json_response({"success": True, "commitOid": oid, "commitUrl": address, "hookOutput": ""})


async def _operations(request: web.Request) -> list[dict[str, Any]]:
    """The operations of a commit, a line each, read one by one. Raises RefusedError, TypeError, ValueError."""
    operations, line, size = list[dict[str, Any]](), bytearray(), 0
    async for piece in request.content.iter_any():
        size += len(piece)
        if size > COMMIT_BYTES:
            raise web.HTTPRequestEntityTooLarge(COMMIT_BYTES, size)
        *ended, rest = re.split(rb"\n+", piece)
        for end in ended:
            operations += _operation(line + end)
            line.clear()
        line += rest
        if len(line) > OPERATION_BYTES or len(operations) > OPERATIONS:
            raise RefusedError(f"a commit has at most {OPERATIONS:,} operations of {OPERATION_BYTES / 1e6:.0f} MB each")
    return operations + _operation(line)


def _operation(line: bytearray) -> list[dict[str, Any]]:
    if not line.strip():
        return []
    operation = json.loads(line.decode())
    if not isinstance(operation["value"], dict):
        raise TypeError("the value of an operation is no object")
    return [operation]


async def lfs_batch(request: web.Request) -> web.StreamResponse:
    """`.git/info/lfs/objects/batch`: where to upload each missing object; Xet if the client offers it."""
    repository = repository_of(request)
    body = await json_of(request)
    transfer = "xet" if "xet" in body.get("transfers", []) else "basic"

    def answer() -> list[dict[str, Any]]:
        return [_lfs_object(request, repository, str(o["oid"]), int(o["size"])) for o in body.get("objects", [])]

    listed = await asyncio.to_thread(answer)
    return web.json_response({"transfer": transfer, "objects": listed, "hash_algo": "sha256"}, content_type=LFS)


async def lfs_put(request: web.Request) -> web.StreamResponse:
    """Receive the bytes of an object."""
    repository_of(request)
    await request.app[STORE].put(request.match_info["oid"], request.content.iter_chunked(1 << 20))
    return web.Response()


async def lfs_verify(request: web.Request) -> web.StreamResponse:
    """Check that an object has arrived whole."""
    body = await json_of(request)
    stored = request.app[STORE].object(str(body.get("oid")))
    if not stored.is_file() or stored.stat().st_size != body.get("size"):
        return web.json_response({"error": "no such object"}, status=404)
    return web.json_response({})


def _lfs_object(request: web.Request, repository: Repository, oid: str, size: int) -> dict[str, Any]:
    listed: dict[str, Any] = {"oid": oid, "size": size, "authenticated": True}
    if request.app[STORE].find(repository, oid) is None:
        objects = str(request.url.origin().join(request.url.with_query(None))).removesuffix("/batch")
        listed["actions"] = {"upload": {"href": f"{objects}/{oid}"}, "verify": {"href": f"{objects}/verify"}}
    return listed


def _check_yaml(text: str) -> None:
    """Raise YAMLError for invalid YAML. Aliases are not expanded, because the result may be far larger than the
    text."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > YAML_DEPTH:
            raise yaml.YAMLError(f"nested deeper than {YAML_DEPTH}")


def _repository_in(body: Mapping[str, Any]) -> tuple[Kind, str]:
    """The kind and name of a repository in a body; the owner is the user if no organisation is given."""
    kind = KINDS.get(body.get("type") or "model")
    if kind is None:
        raise RefusedError(f"there are no repositories of type {body.get('type')!r} here")
    name, owner = str(body.get("name", "")), body.get("organization")
    return kind, name if "/" in name else f"{owner or USER}/{name}"


def _address(request: web.Request, kind: Kind, identifier: str) -> str:
    return f"{request.url.origin()}/{'' if kind == 'models' else f'{kind}/'}{identifier}"
