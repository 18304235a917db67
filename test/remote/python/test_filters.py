"""Filters and composite keys."""

import json
import unittest
from collections import OrderedDict

import svc
from svc.filters import where_json


class WhereTest(unittest.TestCase):
    def test_both_forms(self):
        for value in ("wörk", 1, 1.5, True, False, None):
            for where in (svc.Eq("scope", value), {"scope": value}):
                with self.subTest(where):
                    self.assertEqual(json.loads(where_json(where).decode()), {"scope": value})
        for where in (None, {}, OrderedDict()):
            self.assertIsNone(where_json(where))

    def test_what_is_none(self):
        with self.assertRaisesRegex(ValueError, "^where.a is NaN; JSON has no such number$"):
            where_json({"a": float("nan")})
        for where in ("scope", ["scope"], 7, {1: 2}, svc.Eq(1, 2), {"a": object()}, {"a": b"x"}):
            with self.subTest(where), self.assertRaises(TypeError):
                where_json(where)

    def test_what_the_server_judges_travels_as_it_is(self):
        for where in ({"a": 1, "b": 2}, {"a": [1]}, {"a": {}}, {"a": 2**60}, {"a": "\ud800"}):
            with self.subTest(where):
                self.assertEqual(json.loads(where_json(where).decode()), where)


class ScopeKeyTest(unittest.TestCase):
    def test_parts(self):
        self.assertEqual(svc.scope_key("acme", "note"), "acme:note")
        self.assertEqual(svc.scope_key("a:b%", "%3A"), "a%3Ab%25:%253A")
        self.assertEqual(svc.scope_key(), "")
        self.assertEqual(svc.scope_key("", ""), ":")

    def test_numbers_as_javascript_writes_them(self):
        cases = {True: "true", False: "false"}
        self.assertEqual([svc.scope_key(value) for value in cases], list(cases.values()))
        cases = [(1, "1"), (-3, "-3"), (1.0, "1"), (-0.0, "0"), (0.1, "0.1"), (1e20, "100000000000000000000"), (1e21, "1e+21")]
        cases += [(1e-6, "0.000001"), (1.5e-7, "1.5e-7"), (-1.25e300, "-1.25e+300"), (5e-324, "5e-324"), (123456.789, "123456.789")]
        cases += [(float("inf"), "Infinity"), (float("-inf"), "-Infinity"), (float("nan"), "NaN")]
        for value, expected in cases:
            with self.subTest(value):
                self.assertEqual(svc.scope_key(value), expected)

    def test_other_types(self):
        for part in (None, b"a", [1]):
            with self.subTest(part), self.assertRaises(TypeError):
                svc.scope_key(part)


if __name__ == "__main__":
    unittest.main()
