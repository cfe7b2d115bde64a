"""A registry on loopback that serves packed packages: what `npm` asks for, and nothing else."""
import base64
import hashlib
import json
import tarfile
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Registry:
    """Serves the archives of a folder; `asked` has the paths that were asked for, `missing` names of packages that the
    registry shall not have."""

    def __init__(self, folder):
        self.asked = []
        self.missing = set()
        self._archives = {path.name: path.read_bytes() for path in folder.glob("*.tgz")}
        self._manifests = {path.name: _manifest(path) for path in folder.glob("*.tgz")}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}/"

    def environment(self, cache):
        """For an npm that asks this registry and nobody else. Tests alone say where a registry is."""
        return {"npm_config_registry": self.url, "npm_config_cache": str(cache), "npm_config_audit": "false",
                "npm_config_fund": "false", "npm_config_update_notifier": "false", "npm_config_fetch_retries": "0"}

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path):
        """Type and bytes, or None."""
        self.asked.append(path)
        name = path.removeprefix("/")
        if name.startswith("archives/"):
            archive = self._archives.get(name.removeprefix("archives/"))
            return archive and ("application/octet-stream", archive)
        document = self._packument(name)
        return document and ("application/json", json.dumps(document).encode())

    def _packument(self, name):
        versions = {manifest["version"]: {**manifest, "dist": self._dist(archive)}
                    for archive, manifest in self._manifests.items() if manifest["name"] == name}
        if not versions or name in self.missing:
            return None
        newest = max(versions, key=lambda version: [int(number) for number in version.split(".")])
        return {"name": name, "dist-tags": {"latest": newest}, "versions": versions}

    def _dist(self, archive):
        content = self._archives[archive]
        digest = base64.b64encode(hashlib.sha512(content).digest()).decode()
        return {"tarball": f"{self.url}archives/{archive}", "integrity": f"sha512-{digest}",
                "shasum": hashlib.sha1(content).hexdigest()}


def _manifest(path):
    with tarfile.open(path) as archive:
        return json.load(archive.extractfile("package/package.json"))


def _handler(registry):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            found = registry.answer(urllib.parse.unquote(self.path.partition("?")[0]))
            kind, content = found or ("application/json", b'{"error":"not found"}')
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self):
            """Audits and the like: this registry has none."""
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    return Handler
