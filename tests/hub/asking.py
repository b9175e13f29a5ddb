"""Requests without a client that would tidy their paths."""

import http.client
import json
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
