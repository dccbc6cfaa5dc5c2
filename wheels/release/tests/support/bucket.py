"""An S3 server for tests: prints its port, then serves the bucket `wheels` until its standard input ends.

It takes one request at a time, so that a precondition and the write that it guards are one step, as S3 promises.
"""

import http.client
import os
import sys
import threading

from moto.moto_server.werkzeug_app import create_backend_app
from werkzeug.serving import make_server

server = make_server("127.0.0.1", 0, create_backend_app("s3"), threaded=False)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = http.client.HTTPConnection("127.0.0.1", server.port)
client.request("PUT", "/wheels")
answer = client.getresponse()
if answer.status != 200:
    sys.exit(f"the bucket was not made: {answer.status} {answer.read()!r}")
print(server.port, flush=True)
sys.stdin.read()
os._exit(0)
