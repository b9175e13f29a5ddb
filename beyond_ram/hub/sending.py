"""Sending a file, or a range of it, under the network conditions."""

import contextlib
import re

from aiohttp import web

from beyond_ram.hub.conditions import Traffic
from beyond_ram.hub.log import BYTES_SENT, INJECTED_S
from beyond_ram.hub.repos import File, pieces

TRAFFIC: web.AppKey[Traffic] = web.AppKey("traffic", Traffic)
FAULT: web.RequestKey[str] = web.RequestKey("fault", str)

SLOW_BODY_S = 2.0
RETRY_AFTER_S = 1
PIECE_BYTES = 1 << 16  # small enough that connections share a narrow line evenly


async def send(request: web.Request, file: File, headers: dict[str, str]) -> web.StreamResponse:
    """A file's bytes, or a range of them, with the faults of the conditions."""
    headers = {**headers, "ETag": f'"{file.etag}"', "Accept-Ranges": "bytes"}
    partial = "Range" in request.headers
    start, stop = range_of(request.headers["Range"], file.size) if partial else (0, file.size)
    if partial and start >= stop:
        return web.Response(status=416, headers={**headers, "Content-Range": f"bytes */{file.size}"})
    if partial:
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{file.size}"
    if request.method != "HEAD":
        request[FAULT] = request.app[TRAFFIC].fault((str(file.local), start, stop))
        if request[FAULT] == "error-500":
            return web.json_response({"error": "injected"}, status=500)
        if request[FAULT] == "too-many-429":
            return web.json_response({"error": "injected"}, status=429, headers={"Retry-After": str(RETRY_AFTER_S)})
    response = web.StreamResponse(status=206 if partial else 200, headers=headers)
    response.content_type = "application/octet-stream"
    response.content_length = stop - start
    await response.prepare(request)
    if request.method != "HEAD":
        whole = False
        with contextlib.suppress(OSError):  # the client has read enough, or the file is gone
            whole = await _send(request, response, file, start, stop)
        if whole:
            await response.write_eof()
        elif request.transport:  # or the next answer would count as the rest of this one
            request.transport.close()  # still sends the data in its buffer
    return response


def range_of(header: str, size: int) -> tuple[int, int]:
    """The requested bytes of a Range header, as start and stop; an empty range if it is invalid."""
    match = re.fullmatch(r"bytes=([0-9]{0,19})-([0-9]{0,19})", header)
    first, last = match.groups() if match else ("", "")
    if first:
        return int(first), min(int(last) + 1, size) if last else size
    return size - min(int(last or 0), size), size


async def _send(request: web.Request, response: web.StreamResponse, file: File, start: int, stop: int) -> bool:
    """Send the bytes; return whether it was all of them. A fault, or a file that was cut, ends them early."""
    fault, traffic = request[FAULT], request.app[TRAFFIC]
    request[BYTES_SENT] = 0
    ends = (start + stop) // 2 if fault == "drop" else stop
    # Twenty pieces, to spread a slow body.
    size = max(1, (stop - start) // 20) if fault == "slow" else PIECE_BYTES
    for piece in pieces(file.local, start, ends, size):
        request[INJECTED_S] += await traffic.transmit(len(piece))
        if fault == "slow":
            request[INJECTED_S] += await traffic.wait(SLOW_BODY_S * len(piece) / (stop - start))
        await response.write(piece)
        request[BYTES_SENT] += len(piece)
    return request[BYTES_SENT] == stop - start
