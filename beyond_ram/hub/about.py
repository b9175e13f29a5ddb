"""The endpoint, repository and body of a request."""

import json
from typing import Any

from aiohttp import web

from beyond_ram.hub.repos import Kind, Repos, ServedRepository

REPOS: web.AppKey[Repos] = web.AppKey("repos", Repos)
# Enough for some ten thousand paths; only a commit is longer.
BODY_BYTES = 1 << 24


def endpoint_of(request: web.Request) -> str:
    """The endpoint's name, the last part of the route's name; `unknown` without a route."""
    name = (request.match_info.route.name or ":unknown").split(":")[1]
    return {"subtree": "tree", "resolve-cache": "resolve"}.get(name, name)


def kind_of(request: web.Request) -> Kind:
    """Datasets or models: the first part of the route's name."""
    return "datasets" if (request.match_info.route.name or "").startswith("datasets") else "models"


def repository_of(request: web.Request) -> ServedRepository:
    """The repository in the path. Raises NotFoundError."""
    return request.app[REPOS].get(kind_of(request), request.match_info["id"])


async def text_of(request: web.Request, at_most_bytes: int = BODY_BYTES) -> str:
    """The body as UTF-8, whatever the headers declare. Raises UnicodeError, HTTPRequestEntityTooLarge."""
    body = bytearray()
    async for piece in request.content.iter_any():
        body += piece
        if len(body) > at_most_bytes:
            raise web.HTTPRequestEntityTooLarge(at_most_bytes, len(body))
    return body.decode()


async def json_of(request: web.Request) -> dict[str, Any]:
    """The body as a JSON object. Raises TypeError, ValueError, RecursionError, HTTPRequestEntityTooLarge."""
    body = json.loads(await text_of(request) or "{}")
    if not isinstance(body, dict):
        raise TypeError("no object of JSON")
    return body
