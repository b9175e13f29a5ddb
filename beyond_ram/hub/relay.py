"""Another Hub behind this address: requests are handed on to it and its answers handed back, so that both can be noted.

What leads a client elsewhere, such as a redirect to storage or the next page of a listing, leads through here as well.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

from aiohttp import ClientError, ClientSession, ClientTimeout, web
from multidict import CIMultiDict
from yarl import URL

from beyond_ram.hub.conditions import Traffic
from beyond_ram.hub.log import BYTES_SENT

PIECE_BYTES = 1 << 16  # small enough that connections share a narrow line evenly
# Of one connection, not of what it carries; and what is added here.
_OF_THE_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "upgrade", "te", "trailer", "host"}
# What a client did not say is not said for it: an answer that it cannot decode would come of it.
_UNSAID = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_WAITS = ClientTimeout(total=None, sock_connect=30, sock_read=120)


class Relay:
    """Answers in the place of all handlers. `upstream` is the other Hub's address; raises ValueError where it is none.

    A token for it is taken from `HF_TOKEN`, sent to it alone and noted nowhere.
    """

    def __init__(self, upstream: str, traffic: Traffic) -> None:
        self._upstream = URL(upstream.rstrip("/"))
        if self._upstream.scheme not in ("http", "https") or not self._upstream.host:
            raise ValueError(f"the Hub to hand on to is {upstream!r}; it is an address such as https://huggingface.co")
        self._token = os.environ.get("HF_TOKEN")
        self._traffic = traffic
        self._elsewhere: set[str] = set()
        self._session: ClientSession | None = None

    async def running(self, _: web.Application) -> AsyncIterator[None]:
        """The connections, as long as the application runs; a proxy is taken from the environment."""
        async with ClientSession(
            auto_decompress=False, skip_auto_headers=_UNSAID, timeout=_WAITS, trust_env=True
        ) as self._session:
            yield

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """What the other Hub answers, whatever was asked; 502 where it cannot be reached."""
        assert self._session
        there = self._there(request)
        headers = CIMultiDict((k, v) for k, v in request.headers.items() if k.lower() not in _OF_THE_CONNECTION)
        if self._token and there.origin() == self._upstream.origin():
            headers["Authorization"] = f"Bearer {self._token}"
        body = request.content if request.body_exists else None
        try:
            async with self._session.request(
                request.method, there, headers=headers, data=body, allow_redirects=False
            ) as answer:
                response = web.StreamResponse(status=answer.status, reason=answer.reason)
                for name, value in answer.headers.items():
                    if name.lower() not in _OF_THE_CONNECTION:
                        response.headers.add(name, self._led_here(request, there, name.lower(), value))
                await response.prepare(request)
                request[BYTES_SENT] = 0
                async for piece in answer.content.iter_chunked(PIECE_BYTES):
                    await self._traffic.transmit(len(piece))
                    try:
                        await response.write(piece)
                    except ConnectionError:  # the client has gone, which is its right: it has read enough
                        return response
                    request[BYTES_SENT] += len(piece)
                await response.write_eof()
                return response
        except ClientError as error:
            if BYTES_SENT not in request:
                return web.json_response({"error": f"{there.origin()}: {error}"}, status=502)
            if request.transport:  # half an answer is not made whole here
                request.transport.close()
            raise

    def _there(self, request: web.Request) -> URL:
        """Where a request is handed on to. Only what an answer has named is elsewhere."""
        if request.match_info.route.name != "hub:elsewhere":
            return URL(f"{self._upstream}{request.raw_path}", encoded=True)
        origin = f"{request.match_info['scheme']}://{request.match_info['host']}"
        if origin not in self._elsewhere:
            raise web.HTTPNotFound
        rest = request.raw_path.split("/", 4)[4]
        return URL(f"{origin}/{rest}", encoded=True)

    def _led_here(self, request: web.Request, there: URL, name: str, value: str) -> str:
        """A header's value with the addresses that the client would follow turned to this one."""
        here = str(request.url.origin())
        if name == "link":
            return value.replace(f"<{self._upstream.origin()}/", f"<{here}/")
        if name != "location":
            return value
        goal = there.join(URL(value, encoded=True))
        rest = goal.raw_path_qs
        if goal.origin() == self._upstream.origin():
            return f"{here}{rest}"
        self._elsewhere.add(str(goal.origin()))
        return f"{self._traffic.cdn}/elsewhere/{goal.scheme}/{goal.raw_authority}{rest}"
