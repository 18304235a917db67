/** Servers that cannot be used, several hosts, and what is never sent or printed. */
import { beforeEach, describe, expect, test } from "bun:test";
import { inspect } from "node:util";
import type { Engine } from "../../src/replication/engine.ts";
import { COMMIT, commitAt, engine, failureOf, headAt, LOCK, openAt, server, useFake } from "./fake-node.ts";
import { FakePostgres } from "./fake-postgres.ts";

useFake();

describe("a server that cannot be used", () => {
  const failure = async (url = server.url) => failureOf(openAt(url));

  test.each([
    ["28P01", "refused", "the user name or the password is wrong"],
    ["28000", "refused", "pg_hba.conf"],
    ["3D000", "refused", "CREATE DATABASE"],
    ["53300", "away", "max_connections"],
    ["57P03", "away", "try again in a moment"],
  ])("answers a new connection with %s: %s", async (state, fault, advice) => {
    server.refusal = state;
    const [found, message] = await failure();
    expect(found).toBe(fault);
    expect(message).toContain(advice);
    expect(message).toContain(`PostgreSQL at 127.0.0.1:${server.port}`);
  });

  test.each(["cut", "silence"])("ends or keeps a new connection: %s", async (refusal) => {
    server.refusal = refusal;
    expect((await failure())[0]).toBe("away");
  });

  test("is not there", async () => {
    await server.close();
    expect(await failure()).toEqual([
      "away",
      `PostgreSQL at 127.0.0.1:${server.port}: it cannot be reached; see whether the address is right, and the server and the network work`,
    ]);
  });

  test("has no TLS", async () => {
    const [fault, message] = await failure(`${server.url}?sslmode=verify-full`);
    expect(fault).toBe("refused");
    expect(message).toContain("sslmode=disable");
  });

  test("accepts only reads", async () => {
    server.isReadOnly = true;
    const [fault, message] = await failure();
    expect(fault).toBe("away");
    expect(message).toContain("name the host that accepts writes");
  });

  test("has newer tables", async () => {
    server.fail(/max\(version\)/, { rows: [{ version: "99" }] });
    const [fault, message] = await failure();
    expect(fault).toBe("refused");
    expect(message).toContain("its tables have version 99");
  });
});

describe("several hosts", () => {
  let other: FakePostgres;
  let node: Engine;

  beforeEach(async () => {
    other = new FakePostgres();
    other.isReadOnly = true;
    node = await openAt(
      server.url.replace(`127.0.0.1:${server.port}`, `127.0.0.1:${other.port},127.0.0.1:${server.port}`),
    );
  });

  test("the one that accepts writes is used", async () => {
    await commitAt(1, node);
    expect([server.head?.generation, other.head]).toEqual(["1", undefined]);
  });

  test("a promoted standby is found", async () => {
    await commitAt(1, node);
    server.isReadOnly = true;
    other.isReadOnly = false;
    other.head = server.head;
    server.fail(LOCK, { state: "25006" });
    await commitAt(2, node);
    expect([server.head?.generation, other.head?.generation]).toEqual(["1", "2"]);
    expect((await node.head("notes"))?.generation).toBe(2);
  });

  test("a commit is looked up on the host that was promoted", async () => {
    server.fail(COMMIT, { end: "cut", when: "after" });
    const lease = await node.lease("notes", 300);
    server.refusal = "cut";
    other.isReadOnly = false;
    expect((await failureOf(lease.swap(headAt(1), [])))[0]).toBe("again");
  });

  test("the reasons of all are named where none can be used", async () => {
    server.refusal = "53300";
    server.cut();
    const [fault, message] = await failureOf(node.head("notes"));
    expect(fault).toBe("away");
    expect(message).toContain("max_connections");
    expect(message).toContain("accepts only reads");
  });
});

test("names that PostgreSQL cannot store are refused before they are sent", async () => {
  const chunk = (file: string, at = 0, bytes = new Uint8Array(1)) => ({ file, at, bytes });
  const sent = server.statements.length;
  const calls = [
    engine.head("a\0b"),
    engine.lease("a\0b", 1),
    engine.lease("\ud800", 1),
    engine.drop("a\0b"),
    engine.put("notes", chunk("a\0b")),
    engine.put("notes", chunk("")),
    engine.put("notes", chunk("x".repeat(201))),
    engine.put("notes", chunk("a", -1)),
    engine.put("notes", chunk("a", 0, new Uint8Array((4 << 20) + 1))),
  ];
  for (const call of calls) expect((await failureOf(call))[0]).toBe("refused");
  expect(server.statements.length).toBe(sent);
});

test("the password is in nothing that is printed", async () => {
  const seen = [engine, await engine.lease("notes", 300)].map(
    (one) => inspect(one, { depth: 9, showHidden: true }) + Bun.inspect(one, { depth: 9 }),
  );
  expect(seen.join("")).not.toContain("secret-word");
});
