"""Start and stop the endpoint."""

import asyncio
import errno
import secrets
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from aiohttp import web

from beyond_ram.hub.app import create_app, create_relay
from beyond_ram.hub.conditions import LOCAL, Conditions, Traffic
from beyond_ram.hub.log import RequestLog
from beyond_ram.hub.push import STORE
from beyond_ram.hub.repos import Repos

LOOPBACK = "127.0.0.1"


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report an error of the loop. Without descriptors, accepting fails often: clients wait, and it is no news."""
    error = context.get("exception")
    if not (isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)):
        loop.default_exception_handler(context)


class Hub:
    """The endpoint as a context manager, in its own thread, on a free port unless one is given.

    `root` contains `datasets/ORG/NAME` and `models/ORG/NAME`; `page_size` is the number of entries in a page of a tree;
    `log` is a file for the requests. With `upstream`, the address of another Hub, instead of `root`, reads of clients
    that send `token` are forwarded to it. Raises ValueError.
    """

    def __init__(
        self,
        root: Path | None,
        port: int = 0,
        page_size: int = 1000,
        log: Path | None = None,
        conditions: Conditions = LOCAL,
        upstream: str | None = None,
    ) -> None:
        if (root is None) == (upstream is None):
            raise ValueError("give either a folder or another Hub to serve")
        if not 0 <= port <= 65535:
            raise ValueError(f"port {port}: a number from 0 (a free one) to 65535")
        self.requests = RequestLog(log)
        self._traffic = Traffic(conditions)
        self._repos = Repos(root) if root is not None else None
        self.token = f"relay_{secrets.token_urlsafe(32)}" if upstream is not None else None
        """The clients' `HF_TOKEN`; None if none is needed."""
        if upstream is not None and self.token:
            self._app = create_relay(upstream, self.requests, self._traffic, self.token)
        elif self._repos is not None:
            self._app = create_app(self._repos, self.requests, page_size, self._traffic)
        self._prepare(conditions)
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._ready: Future[int] = Future()
        self._thread = threading.Thread(target=self._serve, name="hub", daemon=True)

    @property
    def url(self) -> str:
        """The clients' `HF_ENDPOINT`."""
        return f"http://{LOOPBACK}:{self._ready.result()}"

    def change(self, conditions: Conditions) -> None:
        """Change the conditions."""
        self._prepare(conditions)
        self._loop.call_soon_threadsafe(self._traffic.change, conditions)

    def _prepare(self, conditions: Conditions) -> None:
        """Hash all files, and put those of LFS into Xet storage if they are offered from there."""
        if self._repos is not None:
            files = self._repos.hash_all()
            if conditions.xet:
                self._app[STORE].xet.add({file.lfs_oid: file.local for file in files if file.lfs_oid})

    def __enter__(self) -> "Hub":
        self._thread.start()
        try:
            self._ready.result()
        except OSError:
            self._thread.join()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self.requests.close()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.set_exception_handler(_report)
        runner = web.AppRunner(self._app, access_log=None, shutdown_timeout=1.0, auto_decompress=False)
        try:
            self._loop.run_until_complete(runner.setup())
            self._loop.run_until_complete(web.TCPSite(runner, LOOPBACK, self._port).start())
            # A second port, because clients distinguish the Hub from its storage by host and port.
            self._loop.run_until_complete(web.TCPSite(runner, LOOPBACK, 0).start())
            port, cdn = (address[1] for address in runner.addresses)
            self._traffic.cdn = f"http://{LOOPBACK}:{cdn}"
            self._ready.set_result(port)
            self._loop.run_forever()
        except OSError as error:
            self._ready.set_exception(error)
        finally:
            self._loop.run_until_complete(runner.cleanup())
            self._loop.close()
