"""Forwards reads to another Hub and its answers back to the client, so that both can be logged.

Links to other hosts in an answer, such as redirects to storage, are rewritten to pass through here. Clients send a
secret as their token. The relay replaces it by the Hub's own token, which it sends to that Hub only.
"""

import hmac
import os
import re
import secrets
from collections.abc import AsyncIterator
from urllib.request import getproxies, proxy_bypass

from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, DummyCookieJar, web
from yarl import URL

from beyond_ram.hub.about import endpoint_of, text_of
from beyond_ram.hub.conditions import Traffic
from beyond_ram.hub.log import BYTES_SENT, INJECTED_S, STORAGE
from beyond_ram.hub.repos import is_id
from beyond_ram.hub.sending import PIECE_BYTES

# Endpoints and headers that reading needs.
_ENDPOINTS = {"commits", "elsewhere", "info", "paths-info", "refs", "resolve", "revision", "tree"}
_REQUEST_HEADERS = {
    "Accept", "Accept-Encoding", "Content-Type", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range",
    "If-Unmodified-Since", "Range", "User-Agent",
}  # fmt: skip
_RESPONSE_HEADERS = {
    "Accept-Ranges", "Content-Disposition", "Content-Encoding", "Content-Length", "Content-Range", "Content-Type",
    "ETag", "Last-Modified", "RateLimit", "RateLimit-Policy", "Retry-After", "X-Error-Code", "X-Error-Message",
    "X-Linked-ETag", "X-Linked-Size", "X-Repo-Commit", "X-Request-Id", "X-Total-Count",
}  # fmt: skip
# Headers that aiohttp must not add: the client might be unable to decode the answer.
_NEVER_ADDED = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_NEXT = re.compile(r'<([^>]+)>; *rel="?next"?')
_TIMEOUTS = ClientTimeout(total=None, sock_connect=30, sock_read=120)


class Relay:
    """Answers all requests from the Hub at `upstream`. Raises ValueError for an invalid address.

    The Hub's token comes from `HF_TOKEN`, is sent to that Hub only and never logged; clients send `secret` instead.
    """

    def __init__(self, upstream: str, traffic: Traffic, secret: str) -> None:
        self._upstream = URL(upstream.rstrip("/"))
        if self._upstream.scheme not in ("http", "https") or not self._upstream.host:
            raise ValueError(f"upstream is {upstream!r}; it must be an address such as https://huggingface.co")
        if self._upstream.user or self._upstream.password or self._upstream.query_string:
            raise ValueError("upstream must be an address without a name, password or query; use HF_TOKEN")
        self._token = os.environ.get("HF_TOKEN")
        self._secret = f"Bearer {secret}".encode()
        self._traffic = traffic
        self._elsewhere: dict[str, URL] = {}  # by a random key
        self._session: ClientSession | None = None

    async def running(self, _: web.Application) -> AsyncIterator[None]:
        """Keep connections open while the application runs, without cookies or settings of the user's files."""
        async with ClientSession(
            auto_decompress=False,
            skip_auto_headers=_NEVER_ADDED,
            timeout=_TIMEOUTS,
            trust_env=False,
            cookie_jar=DummyCookieJar(),
        ) as self._session:
            yield

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """The other Hub's answer to a read; 401 without the secret, 502 if the Hub cannot be reached."""
        assert self._session
        name = endpoint_of(request)
        if name not in _ENDPOINTS or not is_id(request.match_info.get("id", "any")):
            if request.method in ("GET", "HEAD"):
                raise web.HTTPNotFound
            return _refused(403, "only reads are forwarded to another Hub")
        authorization = request.headers.get("Authorization", "").encode(errors="replace")
        if name != "elsewhere" and not hmac.compare_digest(authorization, self._secret):
            return _refused(401, "the token is not the HF_TOKEN that this endpoint printed")
        target = self._target_of(request)
        headers = {key: request.headers[key] for key in _REQUEST_HEADERS if key in request.headers}
        if self._token and name != "elsewhere":
            headers["Authorization"] = f"Bearer {self._token}"
        body = (await text_of(request)).encode() if name == "paths-info" else None
        try:
            async with self._session.request(
                request.method, target, headers=headers, data=body, allow_redirects=False, proxy=_proxy(target)
            ) as answer:
                return await self._forwarded(request, target, answer)
        except (ClientError, ValueError) as error:
            if BYTES_SENT not in request:
                return web.json_response({"error": f"{target.origin()}: {_kind_of(error)}"}, status=502)
            if request.transport:  # an incomplete answer must look incomplete
                request.transport.close()
            raise

    async def _forwarded(self, request: web.Request, target: URL, answer: ClientResponse) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, reason=answer.reason)
        response.headers.update({key: answer.headers[key] for key in _RESPONSE_HEADERS if key in answer.headers})
        if "Location" in answer.headers:
            response.headers["Location"] = self._through_here(request, target, answer.headers["Location"])
        for following in _NEXT.findall(answer.headers.get("Link", "")):
            response.headers["Link"] = f'<{self._through_here(request, target, following)}>; rel="next"'
        await response.prepare(request)
        request[BYTES_SENT] = 0
        async for piece in answer.content.iter_chunked(PIECE_BYTES):
            request[INJECTED_S] += await self._traffic.transmit(len(piece))
            try:
                await response.write(piece)
            except ConnectionError:  # the client closed the connection because it has read enough
                return response
            request[BYTES_SENT] += len(piece)
        await response.write_eof()
        return response

    def _target_of(self, request: web.Request) -> URL:
        """The address to forward a request to; another host only if an answer linked to it."""
        if endpoint_of(request) != "elsewhere":
            return URL(f"{self._upstream}{request.raw_path}", encoded=True)
        origin = self._elsewhere.get(request.match_info["key"])
        if origin is None:
            raise web.HTTPNotFound
        request[STORAGE] = f"{origin.scheme}/{origin.raw_authority}"
        return URL(f"{origin}/{request.raw_path.split('/', 3)[3]}", encoded=True)

    def _through_here(self, request: web.Request, target: URL, value: str) -> str:
        """A link of an answer, rewritten to pass through here. Raises ValueError for an invalid address."""
        goal = target.join(URL(value, encoded=True))
        upstream = f"{self._upstream}/"
        if str(goal).startswith(upstream):
            return f"{request.url.origin()}/{str(goal).removeprefix(upstream)}"
        origin = goal.origin()
        key = next((key for key, other in self._elsewhere.items() if other == origin), None)
        if key is None:
            key = secrets.token_urlsafe(16)
            self._elsewhere[key] = origin
        return f"{self._traffic.cdn}/elsewhere/{key}{goal.raw_path_qs}"


def _proxy(url: URL) -> str | None:
    """The proxy for an address, from `http_proxy`, `https_proxy` and `no_proxy`."""
    return None if proxy_bypass(url.raw_authority) else getproxies().get(url.scheme)


def _kind_of(error: Exception) -> str:
    """The kind of an error. Its text may have the password of a proxy."""
    reason = error.strerror if isinstance(error, OSError) else None
    return f"{type(error).__name__}: {reason}" if reason else type(error).__name__


def _refused(status: int, reason: str) -> web.StreamResponse:
    return web.json_response({"error": reason}, status=status, headers={"X-Error-Message": reason})
