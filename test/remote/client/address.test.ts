/** Which texts are addresses. */
import { expect, test } from "bun:test";
import { parseAddress, SOCKET_PATH_BYTES_MAX } from "../../../src/remote/client/address.ts";

test("every form of a Unix address is read", () => {
  expect(parseAddress("unix:///run/svc.sock")).toEqual({
    kind: "unix",
    path: "/run/svc.sock",
    text: "unix:///run/svc.sock",
  });
  expect(parseAddress("unix:///run/anything")).toMatchObject({ kind: "unix", path: "/run/anything" });
  expect(parseAddress("/run/svc.sock")).toMatchObject({ path: "/run/svc.sock", text: "unix:///run/svc.sock" });
  expect(parseAddress("./svc.sock")).toEqual({ kind: "unix", path: "./svc.sock", text: "./svc.sock" });
  expect(parseAddress("./a/b")).toMatchObject({ kind: "unix", path: "./a/b" });
});

test("every form of a TCP address is read", () => {
  expect(parseAddress("tcp://localhost:7000")).toEqual({
    kind: "tcp",
    host: "localhost",
    port: 7000,
    text: "tcp://localhost:7000",
  });
  expect(parseAddress("10.0.0.1:1")).toMatchObject({ kind: "tcp", host: "10.0.0.1", port: 1 });
  expect(parseAddress("[::1]:65535")).toEqual({ kind: "tcp", host: "::1", port: 65535, text: "tcp://[::1]:65535" });
  expect(parseAddress("tcp://[fe80::1]:80")).toMatchObject({ host: "fe80::1" });
});

test("every form of an address with TLS is read", () => {
  const pin = `SHA256:${"Aa0-_".repeat(8)}xyz`;
  const place = { kind: "tcp", host: "svc.example.org", port: 8471, text: "tls://svc.example.org:8471" };
  expect(parseAddress("tls://svc.example.org:8471")).toEqual({ ...place, tls: {} } as never);
  expect(parseAddress(`tls://svc.example.org:8471#${pin}`)).toEqual({ ...place, tls: { pin } } as never);
  expect(parseAddress(`tls://[::1]:1#${pin}`)).toMatchObject({ host: "::1", text: "tls://[::1]:1", tls: { pin } });
  const hex = "ab".repeat(32);
  for (const wrong of ["", hex, "SHA256:", `SHA256:${hex}`, `${pin}=`, `${pin}#`, `${pin}/`, pin.toLowerCase()]) {
    expect(() => parseAddress(`tls://localhost:1#${wrong}`), wrong).toThrow("SHA256: and 43 characters");
  }
  for (const wrong of [
    "tls://",
    "tls://localhost",
    `localhost:1#${pin}`,
    `tcp://localhost:1#${pin}`,
    "tls:///x.sock",
  ]) {
    expect(() => parseAddress(wrong), wrong).toThrow("is not an address");
  }
});

test("anything else is refused with the forms", () => {
  const wrong = [
    "",
    "/run/svc",
    "svc.sock",
    "../svc.sock",
    "unix://svc.sock",
    "unix://./svc.sock",
    "unix:///run/",
    "localhost",
    "localhost:",
    ":7000",
    "::1:7000",
    "[nonsense]:7000",
    "[::1]",
    "http://localhost:7000",
    "tcp://localhost:7000/",
    "tcp://me@localhost:7000",
    "localhost:-1",
    "localhost:7e3",
    "a b:7",
    "unix:///a\0b",
  ];
  for (const text of wrong) expect(() => parseAddress(text), text).toThrow(/is not an address; one is unix:\/\/\//);
  expect(() => parseAddress(7 as never)).toThrow("an address must be a string");
});

test("ports and lengths have bounds", () => {
  for (const port of ["0", "65536", "99999999"]) {
    expect(() => parseAddress(`localhost:${port}`)).toThrow("must be 1 to 65535");
  }
  const path = `/${"é".repeat(Math.floor((SOCKET_PATH_BYTES_MAX - 6) / 2))}`.padEnd(SOCKET_PATH_BYTES_MAX, "x");
  const fits = `unix://${path.slice(0, path.length - (Buffer.byteLength(path) - SOCKET_PATH_BYTES_MAX))}`;
  expect(Buffer.byteLength(fits) - 7).toBe(SOCKET_PATH_BYTES_MAX);
  expect(parseAddress(fits).kind).toBe("unix");
  expect(() => parseAddress(`${fits}x`)).toThrow(`the system allows ${SOCKET_PATH_BYTES_MAX}`);
});
