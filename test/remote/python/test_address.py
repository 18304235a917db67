"""Addresses: every form, and what is not one."""

import os
import unittest
from unittest import mock

from svc.address import Address, parse_address


class AddressTest(unittest.TestCase):
    def test_forms(self):
        cases = {
            "unix:///run/svc/a b.sock": Address(path="/run/svc/a b.sock"),
            "unix:///run/anything": Address(path="/run/anything"),
            "/run/svc.sock": Address(path="/run/svc.sock"),
            "./svc": Address(path=os.path.join(os.getcwd(), "svc")),
            "./a/../b.sock": Address(path=os.path.join(os.getcwd(), "b.sock")),
            "tcp://localhost:7": Address(host="localhost", port=7),
            "example.org:65535": Address(host="example.org", port=65535),
            "127.0.0.1:80": Address(host="127.0.0.1", port=80),
            "[::1]:9000": Address(host="::1", port=9000),
            "tcp://[fe80::1%eth0]:9000": Address(host="fe80::1%eth0", port=9000),
        }
        for text, expected in cases.items():
            with self.subTest(text):
                self.assertEqual(parse_address(text), expected)

    def test_forms_with_tls(self):
        pin = "SHA256:" + "Aa0-_" * 8 + "xyz"
        place = "tls://svc.example.org:8471"
        self.assertEqual(parse_address(place), Address(host="svc.example.org", port=8471, tls=True))
        self.assertEqual(parse_address(place + "#" + pin), Address(host="svc.example.org", port=8471, tls=True, pin=pin))
        self.assertEqual(parse_address("tls://[::1]:1#" + pin), Address(host="::1", port=1, tls=True, pin=pin))
        for wrong in ("", "ab" * 32, "SHA256:", pin + "=", pin + "#", pin.lower(), pin + "\n"):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, "SHA256: and 43 characters"):
                parse_address(place + "#" + wrong)

    def test_others_are_refused_with_the_forms(self):
        cases = ["", "svc.sock", "a/svc.sock", "/run/svc", "unix://svc.sock", "unix:///run/", "unix:/run/svc.sock", "./"]
        cases += ["localhost", "localhost:", ":80", "localhost:0", "localhost:65536", "localhost:-1", "localhost:8o", "a b:80"]
        cases += ["::1:80", "[::1]", "[localhost]:80", "http://localhost:80", "tcp://localhost:80/", "me@host:80", "/a\0.sock"]
        cases += ["localhost:80\n", "tcp://tcp://a:1", "host:\u0663"]
        cases += ["tls://", "tls://localhost", "tls://localhost:0", "localhost:1#SHA256:" + "A" * 43]
        for text in cases:
            with self.subTest(text), self.assertRaisesRegex(ValueError, r"unix:///path.*\.sock.*\./.*tcp://host:port.*brackets"):
                parse_address(text)

    def test_a_relative_path_may_be_the_only_one_that_fits_a_socket(self):
        with mock.patch("os.getcwd", return_value="/" + "long/" * 30):
            self.assertEqual(parse_address("./a.sock"), Address(path="./a.sock"))

    def test_no_string(self):
        with self.assertRaises(TypeError):
            parse_address(("localhost", 80))

    def test_as_text(self):
        self.assertEqual([str(parse_address(text)) for text in ("/a.sock", "a:1", "[::1]:1")], ["/a.sock", "a:1", "[::1]:1"])


if __name__ == "__main__":
    unittest.main()
