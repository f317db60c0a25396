"""A tiny authorization server on loopback: keys, their publication, and access tokens."""

import datetime
import http.server
import ipaddress
import json
import ssl
import threading
import time

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

ISSUER = "https://login.example"


class Key:
    """A key pair; `algorithm` decides of which kind."""

    def __init__(self, key_id, algorithm="RS256"):
        self.id, self.algorithm = key_id, algorithm
        self.private = (ec.generate_private_key(ec.SECP256R1()) if algorithm == "ES256" else
                        rsa.generate_private_key(public_exponent=65537, key_size=2048))

    def published(self):
        kind = jwt.algorithms.ECAlgorithm if self.algorithm == "ES256" else None
        if kind is None:
            public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.private.public_key()))
            public.pop("key_ops", None)
        else:
            numbers = self.private.public_key().public_numbers()
            public = {"kty": "EC", "crv": "P-256", "x": coordinate(numbers.x),
                      "y": coordinate(numbers.y)}
        return {**public, "kid": self.id, "use": "sig"}

    def token(self, audience, header=None, **claims):
        content = {"iss": ISSUER, "aud": audience, "sub": "ada", "exp": int(time.time()) + 300,
                   "scope": "run:exec", **claims}
        content = {name: value for name, value in content.items() if value is not None}
        return jwt.encode(content, self.private, self.algorithm,
                          {"kid": self.id, **(header or {})})


def coordinate(number):
    return jwt.utils.base64url_encode(number.to_bytes(32, "big")).decode()


class KeyServer:
    """Serves the published keys at `url` and counts how often it was asked."""

    def __init__(self, *keys, tls=None):
        self.keys, self.asked = list(keys), 0
        self.answer = None  # instead of the keys: (status, bytes)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked += 1
                status, body = outer.answer or (200, json.dumps(outer.key_set()).encode())
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        port = self.server.server_address[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}/keys"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def key_set(self):
        return {"keys": [key.published() for key in self.keys]}

    def __enter__(self):
        return self

    def __exit__(self, *_reason):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def write_certificate(directory):
    """A certificate for 127.0.0.1 that nobody but itself vouches for, and its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.utcnow()
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (x509.CertificateBuilder().subject_name(name).issuer_name(name)
                   .public_key(key.public_key()).serial_number(x509.random_serial_number())
                   .not_valid_before(now - datetime.timedelta(days=1))
                   .not_valid_after(now + datetime.timedelta(days=1))
                   .add_extension(x509.SubjectAlternativeName([address]), critical=False)
                   .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
                   .sign(key, hashes.SHA256()))
    file = directory / "certificate.pem"
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) +
                     key.private_bytes(serialization.Encoding.PEM,
                                       serialization.PrivateFormat.PKCS8,
                                       serialization.NoEncryption()))
    return file
