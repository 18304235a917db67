/** Addresses of databases: what each part means, and what is refused. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { EngineError } from "../../src/replication/engine.ts";
import { readAddress } from "../../src/replication/postgres/url.ts";
import { PrivateAuthority } from "../e2e/certificate.ts";
import { scratchDir } from "../fixture.ts";

test("each part is read", () => {
  const { hosts, user, database, password } = readAddress(
    "postgresql://me%40here:p%3Aw:rd%2F@db.example.com:5433/my%20db",
  );
  expect(hosts.map(({ name, port, text }) => [name, port, text])).toEqual([
    ["db.example.com", 5433, "db.example.com:5433"],
  ]);
  expect([user, password(), database]).toEqual(["me@here", "p:w:rd/", "my db"]);
});

test("several hosts, IPv6 and defaults", () => {
  const { hosts, user, database, password } = readAddress("postgres://me@a,b:1,[::1],[fe80::1]:65535");
  expect(hosts.map(({ name, port }) => `${name} ${port}`)).toEqual(["a 5432", "b 1", "::1 5432", "fe80::1 65535"]);
  expect([user, password(), database]).toEqual(["me", "", "me"]);
});

test("a Unix socket", () => {
  const { hosts, database } = readAddress("postgres://me@/db?host=/run/postgresql");
  expect([hosts[0]!.name, hosts[0]!.tls, database]).toEqual(["/run/postgresql", false, "db"]);
});

describe("TLS", () => {
  const tls = (host: string, query = "") => readAddress(`postgres://me@${host}/db${query}`).hosts.map((one) => one.tls);

  test("is verified in full beyond this machine, and off on it", () => {
    expect(tls("db,127.0.0.1,127.9.9.9,[::1],localhost,128.0.0.1")).toEqual([
      { rejectUnauthorized: true },
      false,
      false,
      false,
      false,
      { rejectUnauthorized: true },
    ]);
  });

  test("is as the address says", () => {
    expect(tls("db", "?sslmode=disable")).toEqual([false]);
    expect(tls("db", "?sslmode=require")).toEqual([{ rejectUnauthorized: false }]);
    expect(tls("127.0.0.1", "?sslmode=verify-full")).toEqual([{ rejectUnauthorized: true }]);
    const [options] = tls("db", "?sslmode=verify-ca");
    expect(options).toMatchObject({ rejectUnauthorized: true });
    expect((options as Bun.TLSOptions & { checkServerIdentity(): unknown }).checkServerIdentity()).toBeUndefined();
  });

  test("has the root of the address", () => {
    const path = join(scratchDir(), "root.pem");
    const { cert } = new PrivateAuthority();
    writeFileSync(path, cert);
    expect(tls("localhost", `?sslrootcert=${path}`)).toEqual([{ rejectUnauthorized: true, ca: cert }]);
    writeFileSync(path, "no certificate");
    expect(() => tls("db", `?sslrootcert=${path}`)).toThrow("no certificate in PEM");
    expect(() => tls("db", `?sslrootcert=${path}.gone`)).toThrow("there is no file");
  });
});

test.each([
  ["mysql://me:secret-word@db/x", "is not like postgres://"],
  ["postgres://me:secret-word@word@db/x", "write '%40'"],
  ["postgres://me:secret-word#@db/x", "write '%40'"],
  ["postgres://db/x", "names no user"],
  ["postgres://me:secret-word@/x", "names no host"],
  ["postgres://me:secret-word@db:0/x", "names no host by 'db:0'"],
  ["postgres://me:secret-word@db:65536/x", "names no host by 'db:65536'"],
  ["postgres://me:secret-word@a,,b/x", "names no host by ''"],
  ["postgres://me:secret-word@::1/x", "names no host by '::1'"],
  ["postgres://me:secret-word%@db/x", "'%' in its credentials"],
  ["postgres://me:secret-word%00@db/x", "a NUL byte in its credentials"],
  ["postgres://me:secret-word@db/%00", "a NUL byte in its database"],
  ["postgres://me:secret-word@db/x?sslcert=a", "an unknown parameter 'sslcert'"],
  ["postgres://me:secret-word@db/x?options=-csearch_path%3Dx", "an unknown parameter 'options'"],
  ["postgres://me:secret-word@db/x?sslmode=prefer", "without encryption"],
  ["postgres://me:secret-word@db/x?sslmode=on", "sslmode=on; choose one of"],
  ["postgres://me:secret-word@db/x?sslmode=disable&sslmode=verify-full", "'sslmode' twice"],
  ["postgres://me:secret-word@db/x?target_session_attrs=any", "target_session_attrs=any; svc writes"],
  ["postgres://me:secret-word@db/x?host=/run", "replaces the host"],
])("%s is refused", (address, part) => {
  let failure: unknown;
  try {
    readAddress(address);
  } catch (error) {
    failure = error;
  }
  expect(failure).toBeInstanceOf(EngineError);
  expect((failure as EngineError).fault).toBe("refused");
  expect((failure as Error).message).toContain(part);
  expect(inspect(failure, { showHidden: true })).not.toContain("secret-word");
});

test("an address that was read shows no password", () => {
  const target = readAddress("postgres://me:secret-word@db/x");
  expect(inspect(target, { depth: 9, showHidden: true }) + JSON.stringify(target)).not.toContain("secret-word");
});
