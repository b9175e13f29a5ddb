"""A local package index with made-up packages. Each release has its own code."""

import contextlib
import hashlib
import json
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

JSON = "application/vnd.pypi.simple.v1+json"


def wheel(folder, name, version, body, tag="py3-none-any", metadata=""):
    """Write a wheel with one module."""
    path = folder / f"{name}-{version}-{tag}.whl"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": body,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for inside, text in files.items():
            archive.writestr(inside, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{inside},,\n" for inside in [*files, f"{info}/RECORD"]))
    return path


def page(name, wheels, yanked=(), times=True):
    """Return the index page of a package, as JSON."""
    files = []
    for number, path in enumerate(wheels):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        entry = {"filename": path.name, "url": f"/files/{path.name}", "hashes": {"sha256": digest}}
        entry |= {"size": path.stat().st_size, "yanked": path.name.split("-")[1] in yanked}
        files.append(entry | ({"upload-time": f"2024-{number + 1:02}-01T00:00:00Z"} if times else {}))
    versions = [path.name.split("-")[1] for path in wheels]
    return {"meta": {"api-version": "1.1"}, "name": name, "versions": versions, "files": files}


@contextlib.contextmanager
def index(pages, folder):
    """Serve an index with these pages and the files of a folder, and yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            *_, kind, name = self.path.rstrip("/").split("/")
            body = (folder / name).read_bytes() if kind == "files" else json.dumps(pages.get(name, "")).encode()
            self.send_response(200 if kind == "files" or name in pages else 404)
            self.send_header("Content-Type", JSON if kind != "files" else "application/octet-stream")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple"
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def for_uv(monkeypatch, folder, releases, yanked=()):
    """Serve packages to uv: `releases` has the code of each release, by package and version."""
    wheels = {name: [wheel(folder, name, version, body) for version, body in of.items()]
              for name, of in releases.items()}  # fmt: skip
    with index({name: page(name, files, yanked) for name, files in wheels.items()}, folder) as address:
        monkeypatch.setenv("UV_DEFAULT_INDEX", address)
        monkeypatch.setenv("UV_CACHE_DIR", str(folder / "cache"))
        yield
