"""The endpoints for pushing. Pushed files go into the folder; no login is needed."""

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from beyond_ram.hub.about import json_of, repository_of, text_of
from beyond_ram.hub.repos import LFS_FROM_BYTES, LFS_SUFFIXES, Kind, ServedRepository
from beyond_ram.hub.store import RefusedError, Store

COMMIT_BYTES = 1 << 26  # large files go to LFS
STORE: web.AppKey[Store] = web.AppKey("store", Store)
USER = "local"
KINDS: dict[str, Kind] = {"dataset": "datasets", "model": "models"}
LFS = "application/vnd.git-lfs+json"


def add_routes(app: web.Application, identifier: str, revision: str) -> None:
    """Add the routes, given the patterns of a repository and of a revision."""
    app.router.add_get("/api/whoami-v2", whoami, name="hub:whoami")
    app.router.add_post("/api/repos/create", create, name="hub:create")
    app.router.add_post("/api/validate-yaml", validate_yaml, name="hub:validate-yaml")
    for kind in KINDS.values():
        files = "" if kind == "models" else f"/{kind}"
        api, git = f"/api/{kind}/{identifier}", f"{files}/{identifier}.git/info/lfs/objects"
        app.router.add_get(f"{api}/refs", refs, name=f"{kind}:refs")
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


async def validate_yaml(request: web.Request) -> web.StreamResponse:
    """`/api/validate-yaml`: any head of a card is right."""
    await json_of(request)
    return web.json_response({"errors": [], "warnings": []})


async def refs(request: web.Request) -> web.StreamResponse:
    """`/refs`: the only branch, main."""
    now = await asyncio.to_thread(repository_of(request).listing)
    main = {"name": "main", "ref": "refs/heads/main", "targetCommit": now.commit}
    return web.json_response({"branches": [main], "converts": [], "tags": [], "pullRequests": []})


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
    lines = re.finditer(r"[^\n]+", await text_of(request, COMMIT_BYTES))
    oid = await asyncio.to_thread(request.app[STORE].commit, repository, [json.loads(line[0]) for line in lines])
    address = f"{_address(request, repository.kind, repository.id)}/commit/{oid}"
    return web.json_response({"success": True, "commitOid": oid, "commitUrl": address, "hookOutput": ""})


async def lfs_batch(request: web.Request) -> web.StreamResponse:
    """`.git/info/lfs/objects/batch`: where to upload each missing object."""
    repository = repository_of(request)
    body = await json_of(request)

    def answer() -> list[dict[str, Any]]:
        return [_lfs_object(request, repository, str(o["oid"]), int(o["size"])) for o in body.get("objects", [])]

    listed = await asyncio.to_thread(answer)
    return web.json_response({"transfer": "basic", "objects": listed, "hash_algo": "sha256"}, content_type=LFS)


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


def _lfs_object(request: web.Request, repository: ServedRepository, oid: str, size: int) -> dict[str, Any]:
    listed: dict[str, Any] = {"oid": oid, "size": size, "authenticated": True}
    if request.app[STORE].find(repository, oid) is None:
        objects = str(request.url.origin().join(request.url.with_query(None))).removesuffix("/batch")
        listed["actions"] = {"upload": {"href": f"{objects}/{oid}"}, "verify": {"href": f"{objects}/verify"}}
    return listed


def _repository_in(body: Mapping[str, Any]) -> tuple[Kind, str]:
    """The kind and name of a repository in a body; the owner is the user if no organisation is given."""
    kind = KINDS.get(body.get("type") or "model")
    if kind is None:
        raise RefusedError(f"there are no repositories of type {body.get('type')!r} here")
    name, owner = str(body.get("name", "")), body.get("organization")
    return kind, name if "/" in name else f"{owner or USER}/{name}"


def _address(request: web.Request, kind: Kind, identifier: str) -> str:
    return f"{request.url.origin()}/{'' if kind == 'models' else f'{kind}/'}{identifier}"
