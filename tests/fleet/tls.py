#!/usr/bin/env python3
"""https: an endpoint is taken if the system's roots sign it; one whose certificate nobody signed only with `export.ca`:

    python3 tests/fleet/tls.py --binary PATH        (needs openssl)
"""
import argparse
import os
import ssl
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


class Quiet(ThreadingHTTPServer):
    def handle_error(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", type=Path, required=True)
    binary = parser.parse_args().binary.resolve()
    with tempfile.TemporaryDirectory(prefix="hookkeeper-tls-") as home:
        key, certificate = Path(home) / "key.pem", Path(home) / "cert.pem"
        # A certificate that says that it is a CA is refused as an endpoint's own: that is what openssl makes by default.
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                        "-addext", "basicConstraints=critical,CA:FALSE"], check=True, capture_output=True)
        root, signed, signed_key = authority(Path(home))
        server, official = serve(certificate, key), serve(signed, signed_key)

        def test(host="localhost", port=server.server_port, **more):
            environment = {"HOME": home, "PATH": os.environ["PATH"],
                           "HOOKKEEPER_OTLP_ENDPOINT": f"https://{host}:{port}", **more}
            done = subprocess.run([binary, "export", "test"], cwd=home, env=environment, capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr
        results = {
            # Where a system keeps its roots, and this variable in its place.
            "what the system's roots sign is taken": (test(port=official.server_port, SSL_CERT_FILE=str(root)), 0, "logs: taken"),
            "what others sign is refused": (test(port=official.server_port), 1, "ertificate"),
            "self-signed is refused": (test(), 1, "certificate"),
            "with its ca it is taken": (test(HOOKKEEPER_OTLP_CA=str(certificate)), 0, "logs: taken"),
            "another name is refused": (test(host="127.0.0.1", HOOKKEEPER_OTLP_CA=str(certificate)), 1, "ertificate"),
            "a ca that is none is said": (test(HOOKKEEPER_OTLP_CA=str(key)), 1, "no certificate in it"),
            "a ca that is not there is said": (test(HOOKKEEPER_OTLP_CA="/nowhere"), 1, "cannot be read"),
            "plain http to it": (test_plain(binary, home, server.server_port), 1, "not taken"),
        }
    failed = 0
    for name, ((code, said), wanted, part) in results.items():
        good = code == wanted and part in said
        failed += not good
        print(f"{'ok    ' if good else 'FAILED'} {name}: {said.splitlines()[0] if said else ''}")
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


def serve(certificate, key):
    server = Quiet(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def authority(home):
    """A root of its own, and a certificate for localhost that it has signed, with its key."""
    root, root_key, signed, key, request, names = (home / name for name in (
        "root.pem", "root-key.pem", "signed.pem", "signed-key.pem", "request.pem", "names"))
    names.write_text("subjectAltName=DNS:localhost\nbasicConstraints=critical,CA:FALSE\n")
    for command in (
        ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", root_key, "-out", root, "-days", "2", "-subj", "/CN=Root"],
        ["req", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", request, "-subj", "/CN=localhost"],
        ["x509", "-req", "-in", request, "-CA", root, "-CAkey", root_key, "-CAcreateserial", "-out", signed, "-days", "2",
         "-extfile", names],
    ):
        subprocess.run(["openssl", *command], check=True, capture_output=True)
    return root, signed, key


def test_plain(binary, home, port):
    environment = {"HOME": home, "PATH": os.environ["PATH"], "HOOKKEEPER_OTLP_ENDPOINT": f"http://localhost:{port}"}
    done = subprocess.run([binary, "export", "test"], cwd=home, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


if __name__ == "__main__":
    sys.exit(main())
