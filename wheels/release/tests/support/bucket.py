"""An S3 server for tests: prints its port, then serves the bucket `wheels` until its standard input ends.

With the name of a file it speaks TLS, and writes the certificate that clients have to trust there. It takes one request
at a time, so that a precondition and the write that it guards are one step, as S3 promises.
"""

import datetime
import http.client
import ipaddress
import os
import ssl
import sys
import threading

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from moto.moto_server.werkzeug_app import create_backend_app
from werkzeug.serving import make_server

ADDRESS = "127.0.0.1"


def certify(path):
    """A new key with a certificate for this machine, in `path`; gives the context of a server that uses them."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "bucket")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(ADDRESS))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    with open(path, "wb") as file:
        file.write(certificate.public_bytes(serialization.Encoding.PEM))
    with open(f"{path}.key", "wb") as file:
        private, nothing = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        file.write(key.private_bytes(serialization.Encoding.PEM, private, nothing))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path, f"{path}.key")
    return context


path = sys.argv[1] if len(sys.argv) > 1 else None
server = make_server(
    ADDRESS, 0, create_backend_app("s3"), threaded=False, ssl_context=certify(path) if path else None
)
threading.Thread(target=server.serve_forever, daemon=True).start()
if path:
    client = http.client.HTTPSConnection(
        ADDRESS, server.port, context=ssl.create_default_context(cafile=path)
    )
else:
    client = http.client.HTTPConnection(ADDRESS, server.port)
client.request("PUT", "/wheels")
answer = client.getresponse()
if answer.status != 200:
    sys.exit(f"the bucket was not made: {answer.status} {answer.read()!r}")
client.close()
print(server.port, flush=True)
sys.stdin.read()
os._exit(0)
