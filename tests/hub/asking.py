"""Requests without a client that would tidy their paths, and the endpoint as a process."""

import contextlib
import http.client
import json
import signal
import subprocess
import sys
from typing import NamedTuple


class Answer(NamedTuple):
    """An answer, which is read."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self):
        return json.loads(self.body)


def ask(host, path, method="GET", body=None, **headers):
    """Send a request unchanged. `host`: a Hub, or an address."""
    connection = http.client.HTTPConnection(getattr(host, "url", host).removeprefix("http://"), timeout=10)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()


@contextlib.contextmanager
def running(log, *arguments):
    """Run the endpoint in a process of its own, and yield the variables it prints. It must end without an error."""
    command = [sys.executable, "-m", "beyond_ram.hub", *arguments]
    with log.open("w") as errors:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    variables = {}
    try:
        while "HF_ENDPOINT" not in variables:
            assert server.stdout
            name, _, variables[name] = server.stdout.readline().strip().partition("=")
        yield variables
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=10) == 0
    assert "Traceback" not in log.read_text()
