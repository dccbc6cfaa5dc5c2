"""A static server that chooses between index.html and index.json by the request's Accept header (PEP 691)."""

import http.server
import pathlib
import sys

JSON = "application/vnd.pypi.simple.v1+json"


class Handler(http.server.SimpleHTTPRequestHandler):
    def send_head(self):
        if JSON in self.headers.get("Accept", "") and "/simple/" in self.path and self.path.endswith("/"):
            self.path += "index.json"
            self.log_message("%s", self.path)
        return super().send_head()

    def guess_type(self, path):
        return JSON if pathlib.Path(path).name == "index.json" else super().guess_type(path)


def main():
    root = sys.argv[1]
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *args: Handler(*args, directory=root)
    )
    print(f"on port {server.server_port} ")
    server.serve_forever()


main()
