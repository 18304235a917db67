/** Points in time as callers write them, and as people see them. */
import { describe, expect, test } from "bun:test";
import { readTime, readTimes } from "../../src/checks/times.ts";
import { ArgumentTypeError, ValueError } from "../../src/errors.ts";

describe("a time", () => {
  const READ: [unknown, number][] = [
    [0, 0],
    [1_700_000_000_123, 1_700_000_000_123],
    [-5, -5],
    ["2026-11-22", Date.UTC(2026, 10, 22)],
    ["2026-11-22T14:30", Date.UTC(2026, 10, 22, 14, 30)],
    ["2026-11-22T14:30Z", Date.UTC(2026, 10, 22, 14, 30)],
    ["2026-11-22 14:30:15", Date.UTC(2026, 10, 22, 14, 30, 15)],
    ["2026-11-22t14:30:15.5z", Date.UTC(2026, 10, 22, 14, 30, 15, 500)],
    ["2026-11-22T14:30:15,123456789Z", Date.UTC(2026, 10, 22, 14, 30, 15, 123)],
    ["2026-11-22T14:30+01:00", Date.UTC(2026, 10, 22, 13, 30)],
    ["2026-11-22T23:30-0130", Date.UTC(2026, 10, 23, 1, 0)],
    ["2026-11-22T14:30+05", Date.UTC(2026, 10, 22, 9, 30)],
    ["2024-02-29", Date.UTC(2024, 1, 29)],
    ["1969-12-31", -86_400_000],
  ];
  test.each(READ)("%p", (value, time) => expect(readTime(value, "since")).toBe(time));

  const REFUSED = [
    "",
    "yesterday",
    "2026",
    "1700000000000",
    "2026-11",
    "2026-11-31",
    "2026-02-29",
    "2026-13-01",
    "2026-11-22T24:01",
    "2026-11-22T14:61",
    "2026-11-22T14",
    "2026-11-22T14:30+24:00",
    "2026-11-22T14:30+01:60",
    "22.11.2026",
    "2026-11-22T14:30Z and more",
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1.5,
    9e15,
  ];
  test.each(REFUSED)("%p is refused", (value) => {
    expect(() => readTime(value, "since")).toThrow(ValueError);
    expect(() => readTime(value, "since")).toThrow(/^since is .*: give milliseconds since 1970, or ISO 8601 as in/);
  });

  test.each([[null], [true], [{}], [[]], [new Date(0)]])("%p is not a kind of time", (value) => {
    expect(() => readTime(value, "until")).toThrow(ArgumentTypeError);
  });
});

test("bounds that exclude each other", () => {
  expect(readTimes({})).toEqual({ since: undefined, until: undefined, newest: undefined });
  expect(readTimes({ since: 5, until: 5, newest: 2, after: null })).toEqual({ since: 5, until: 5, newest: 2 });
  expect(() => readTimes({ since: "2026-11-22", until: 1000 })).toThrow(
    "since ('2026-11-22T00:00:00.000Z') is after until ('1970-01-01T00:00:01.000Z'): swap them, or leave one out",
  );
  expect(() => readTimes({ newest: 2, after: "a" })).toThrow(/newest and after exclude each other/);
  expect(() => readTimes({ newest: 0 })).toThrow("newest must be an integer of at least 1, got 0");
  expect(() => readTimes({ newest: 1.5 })).toThrow(ArgumentTypeError);
});
