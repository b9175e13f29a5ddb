"""What a request is about: the repositories of the application, and the one in the request's path."""

from __future__ import annotations

from aiohttp import web

from beyond_ram.hub.repos import Kind, Repos, Repository

REPOS: web.AppKey[Repos] = web.AppKey("repos", Repos)


def kind_of(request: web.Request) -> Kind:
    """Datasets or models, which is the first part of a route's name."""
    return "datasets" if (request.match_info.route.name or "").startswith("datasets") else "models"


def repository_of(request: web.Request) -> Repository:
    """The repository that the path names. Raises NotFoundError."""
    return request.app[REPOS].get(kind_of(request), request.match_info["id"])
