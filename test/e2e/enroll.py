"""A client of an authority in another language: the standard library and the published documents, nothing of svc.

    python3 enroll.py URL [--ca FILE] [--enroll-key]

Enrols one new device: by the device flow (RFC 8628), which prints the approval page's address as a line of JSON and
waits; or with --enroll-key, which reads the key from stdin. Then verifies the licence by the authority's JWKS, with
arithmetic on integers, and prints what it found as a line of JSON.
"""
import argparse
import base64
import hashlib
import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

# Ed25519, RFC 8032 §5.1
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
BASE = (
    15112221349535400772501151409588531511454012693041857206046113283949847762202,
    46316835694926478169428394003475163141307993866256225615783033603165251855960,
)


def add(one, two):
    (x1, y1), (x2, y2) = one, two
    k = D * x1 * x2 * y1 * y2 % P
    return (
        (x1 * y2 + x2 * y1) * pow(1 + k, P - 2, P) % P,
        (y1 * y2 + x1 * x2) * pow(1 - k, P - 2, P) % P,
    )


def times(n):
    point, power = (0, 1), BASE
    while n:
        if n & 1:
            point = add(point, power)
        power = add(power, power)
        n >>= 1
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


class Device:
    def __init__(self):
        self.id = uuid.uuid4().hex
        digest = hashlib.sha512(os.urandom(32)).digest()
        self.scalar = int.from_bytes(digest[:32], "little") & ~7 & ~(1 << 255) | (1 << 254)
        self.prefix = digest[32:]
        self.public = times(self.scalar)
        self.thumbprint = "ed25519:" + b64(hashlib.sha256(self.public).digest())

    def sign(self, text):
        message = text.encode()
        r = number(self.prefix + message)
        point = times(r)
        s = (r + number(point + self.public + message) * self.scalar) % L
        return b64(point + s.to_bytes(32, "little"))

    def description(self):
        return {
            "device_id": self.id,
            "key_thumbprint": self.thumbprint,
            "public_key": b64(self.public),
            "platform": "linux-x86_64",
            "host_hash": "sha256:" + hashlib.sha256(self.id.encode()).hexdigest(),
        }


def number(data):
    return int.from_bytes(hashlib.sha512(data).digest(), "little") % L


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Authority:
    def __init__(self, url, ca):
        context = ssl.create_default_context(cafile=ca) if url.startswith("https:") else None
        handlers = [urllib.request.ProxyHandler({})]
        if context:
            handlers.append(urllib.request.HTTPSHandler(context=context))
        self.opener = urllib.request.build_opener(*handlers)
        self.metadata = self.get(url + "/.well-known/oauth-authorization-server")
        assert self.metadata["issuer"] == url, "RFC 8414 §3.3: the issuer is another one"

    def get(self, url):
        with self.opener.open(url) as answer:
            return json.load(answer)

    def post(self, url, form=None, body=None, bearer=None):
        """The status and the JSON of an answer."""
        data = urllib.parse.urlencode(form).encode() if form else json.dumps(body).encode()
        request = urllib.request.Request(url, data, method="POST")
        request.add_header("content-type", "application/x-www-form-urlencoded" if form else "application/json")
        if bearer:
            request.add_header("authorization", "Bearer " + bearer)
        try:
            with self.opener.open(request) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)

    def done(self, *given, **named):
        status, answer = self.post(*given, **named)
        if status != 200:
            sys.exit(json.dumps({"status": status, **answer}))
        return answer

    def verify(self, license):
        """RS256 (RFC 8017 §8.2.2): the claims of a licence that one of the JWKS's keys has signed."""
        head, payload, signature = license.split(".")
        header = json.loads(unb64(head))
        assert header["alg"] == "RS256", "another algorithm"
        keys = [key for key in self.get(self.metadata["jwks_uri"])["keys"] if key["kid"] == header["kid"]]
        assert len(keys) == 1, "no key of that id"
        n, e = (int.from_bytes(unb64(keys[0][part]), "big") for part in "ne")
        size = (n.bit_length() + 7) // 8
        signed = pow(int.from_bytes(unb64(signature), "big"), e, n).to_bytes(size, "big")
        info = bytes.fromhex("3031300d060960864801650304020105000420")
        info += hashlib.sha256(f"{head}.{payload}".encode()).digest()
        assert signed == b"\0\1" + b"\xff" * (size - len(info) - 3) + b"\0" + info, "the signature is wrong"
        return json.loads(unb64(payload))


def by_device_flow(authority, device):
    asked = {"client_id": "svc", "platform": "linux-x86_64"}
    code = authority.done(authority.metadata["device_authorization_endpoint"], form=asked)
    print(json.dumps({"page": code["verification_uri_complete"]}), flush=True)
    form = {
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": code["device_code"],
        "client_id": "svc",
    }
    while True:
        status, answer = authority.post(authority.metadata["token_endpoint"], form=form)
        if status == 200:
            break
        if answer["error"] != "authorization_pending":
            sys.exit(json.dumps({"status": status, **answer}))
        time.sleep(code["interval"])
    api, token = authority.metadata["svc_api"], answer["access_token"]
    proof = device.sign(f"svc-onboard:v1:{device.id}:{b64(hashlib.sha256(token.encode()).digest())}")
    described = device.description()
    body = {field: described[field] for field in ("device_id", "key_thumbprint", "public_key")}
    key = authority.done(api + "/v1/svc/onboard", body={**body, "signature": proof}, bearer=token)["api_key"]
    identity = {field: described[field] for field in ("device_id", "key_thumbprint")}
    nonce = authority.done(api + "/v1/device/nonce", body=identity, bearer=key)["nonce"]
    body = {**described, "nonce": nonce, "signature": device.sign(nonce)}
    return authority.done(api + "/v1/device/register", body=body, bearer=key)["license"]


def by_key(authority, device, key):
    proof = device.sign(f"svc-enroll:v1:{device.id}:{b64(hashlib.sha256(key.encode()).digest())}")
    body = {**device.description(), "name": "enrolled by Python", "signature": proof}
    endpoint = authority.metadata["svc_enrollment_endpoint"]
    return authority.done(endpoint, body=body, bearer=key)["license"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--ca")
    parser.add_argument("--enroll-key", action="store_true")
    given = parser.parse_args()
    authority, device = Authority(given.url, given.ca), Device()
    key = sys.stdin.readline().strip() if given.enroll_key else None
    license = by_key(authority, device, key) if key else by_device_flow(authority, device)
    claims = authority.verify(license)
    assert claims["cnf"]["jkt"] == device.thumbprint, "the licence is of another device"
    assert claims["exp"] > time.time(), "the licence has ended"
    print(json.dumps({"device_id": device.id, "claims": claims}))


main()
