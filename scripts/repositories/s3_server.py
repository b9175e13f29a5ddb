"""Serve a repository as S3-compatible storage with moto's server, until killed. Listens on 127.0.0.1 only.

Prints `S3_ENDPOINT=…` once everything is uploaded, and logs every later request as a line of JSON, as the Hub endpoint
does.
"""

import argparse
import json
import threading
import time
from pathlib import Path

import boto3
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

LOOPBACK, BUCKET = "127.0.0.1", "repositories"


class Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections open, as real storage does

    def log(self, *_):
        pass


class Logged:
    """A WSGI application whose requests are logged, from their arrival to the end of the response."""

    def __init__(self, app, log):
        self.app, self.log, self.noting = app, log, False
        self.lock, self.started, self.in_flight = threading.Lock(), time.monotonic(), 0

    def __call__(self, environ, start_response):
        if not self.noting:
            return self.app(environ, start_response)
        arrived, status = time.monotonic(), []
        with self.lock:
            self.in_flight += 1
            others = self.in_flight

        def started(line, headers, *rest):
            status.append(int(line.split()[0]))
            return start_response(line, headers, *rest)

        body = b"".join(self.app(environ, started))
        sent = 0 if environ["REQUEST_METHOD"] == "HEAD" else len(body)
        path, query = environ["PATH_INFO"], environ.get("QUERY_STRING", "")
        line = {
            "t_s": round(arrived - self.started, 6),
            "monotonic_s": round(arrived, 6),
            "duration_s": round(time.monotonic() - arrived, 6),
            "method": environ["REQUEST_METHOD"],
            "endpoint": "tree" if "list-type" in query or path.count("/") < 2 else "resolve",
            "path": f"{path}?{query}" if query else path,
            "range": environ.get("HTTP_RANGE", ""),
            "status": status[0],
            "bytes_sent": sent,
            "in_flight": others,
            "pid": None,
            "fault": "",
        }
        with self.lock:
            self.in_flight -= 1
            self.log.write(json.dumps(line) + "\n")
        return [body]


def upload(url, root):
    client = boto3.client(
        "s3", endpoint_url=url, aws_access_key_id="local", aws_secret_access_key="local", region_name="us-east-1"
    )
    client.create_bucket(Bucket=BUCKET)
    for path in sorted((root / "datasets").rglob("*")):
        if path.is_file():
            client.upload_file(str(path), BUCKET, path.relative_to(root / "datasets").as_posix())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    args = parser.parse_args()
    with args.log.open("w", buffering=1, encoding="utf-8") as log:
        app = Logged(DomainDispatcherApplication(create_backend_app), log)
        server = make_server(LOOPBACK, 0, app, threaded=True, request_handler=Quiet)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://{LOOPBACK}:{server.server_port}"
        upload(url, args.root)
        app.noting = True
        print(f"S3_ENDPOINT={url}", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
