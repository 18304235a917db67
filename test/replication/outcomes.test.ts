/** What a commit answers for each way in which a server or the network can fail. */
import { describe, expect, test } from "bun:test";
import {
  COMMIT,
  commitAt,
  engine,
  failureOf,
  headAt,
  LOCK,
  LOOK,
  MOVE,
  NODE,
  openAt,
  server,
  useFake,
} from "./fake-node.ts";
import type { Fault } from "./fake-postgres.ts";

useFake();

test("a commit is answered after the server has committed, and other nodes get a hint", async () => {
  const next = headAt(1);
  const lease = await engine.lease("notes", 300);
  expect(lease.head).toBeUndefined();
  await lease.swap(next, [{ file: `delta-${NODE}`, at: 0, bytes: new Uint8Array(3) }]);
  expect(await engine.head("notes")).toEqual(next);
  const order = [LOCK, /^insert into svc.svc_chunk/, MOVE, COMMIT, /pg_notify/].map((pattern) =>
    server.statements.findIndex((statement) => pattern.test(statement)),
  );
  expect(order.toSorted((a, b) => a - b)).toEqual(order);
  expect(order[0]).toBeGreaterThan(0);
});

describe.each<[string, string]>([
  ["40001", "again"],
  ["40P01", "again"],
  ["55P03", "again"],
  ["57014", "again"],
  ["53100", "refused"],
  ["42501", "refused"],
])("SQLSTATE %s", (state, fault) => {
  test.each([LOCK, /^insert into svc.svc_chunk/, MOVE, COMMIT])(`at %s is '${fault}'`, async (statement) => {
    server.fail(statement, { state });
    expect((await failureOf(commitAt()))[0]).toBe(fault);
    expect(server.head).toBeUndefined();
    // The connection goes on.
    await commitAt();
    expect([server.head!.generation, server.accepted]).toEqual(["1", 1]);
  });
});

const ENDS: [string, Fault][] = [
  ["57P01 and an end", { state: "57P01", severity: "FATAL" }],
  ["25P03 and an end", { state: "25P03", severity: "FATAL" }],
  ["a cut", { end: "cut", when: "before" }],
];

describe.each(ENDS)("%s", (_, fault) => {
  test.each([/^insert into svc.svc_chunk/, MOVE])(
    "at %s is 'again', and the next commit is made",
    async (statement) => {
      server.fail(statement, fault);
      expect((await failureOf(commitAt()))[0]).toBe("again");
      expect(server.head).toBeUndefined();
      await commitAt();
      expect([server.head!.generation, server.accepted]).toEqual(["1", 2]);
    },
  );

  test("at the commit, which was not made, is 'again'", async () => {
    server.fail(COMMIT, fault);
    expect((await failureOf(commitAt()))[0]).toBe("again");
    expect(server.head).toBeUndefined();
  });
});

test("silence before the commit is sent is 'away'", async () => {
  server.fail(MOVE, { end: "silence", when: "before" });
  const [fault, message] = await failureOf(commitAt());
  expect(fault).toBe("away");
  expect(message).toContain("no answer within 300 ms");
  await commitAt();
  expect(server.accepted).toBe(2);
});

test("an idle connection that was cut is replaced where a call begins", async () => {
  server.cut();
  await commitAt();
  server.cut();
  expect((await engine.head("notes"))!.generation).toBe(1);
  expect(server.accepted).toBe(3);
});

test("a head that was moved meanwhile is 'lost'", async () => {
  server.fail(MOVE, { rows: [{ moved: "0" }] });
  expect((await failureOf(commitAt()))[0]).toBe("lost");
  expect(server.statements.some((statement) => COMMIT.test(statement))).toBe(false);
});

test("a commit that the server answers with ROLLBACK is 'again'", async () => {
  const lease = await engine.lease("notes", 300);
  server.fail(COMMIT, { rows: [], command: "ROLLBACK" });
  expect((await failureOf(lease.swap(headAt(1), [])))[0]).toBe("again");
});

describe.each(["cut", "silence"] as const)("%s after the commit was sent", (end) => {
  test("is success where the commit is found", async () => {
    server.fail(COMMIT, { end, when: "after" });
    await commitAt();
    expect(server.head!.generation).toBe("1");
    const sent = server.statements.filter((statement) => !/^set local|^select set_config/.test(statement));
    const after = sent.slice(sent.findIndex((statement) => COMMIT.test(statement)) + 1);
    const patterns = [/^begin/, LOOK, COMMIT];
    expect(patterns.map((pattern) => after.findIndex((text) => pattern.test(text)))).toEqual([1, 2, 3]);
  });

  test("is 'again' where the commit is not found", async () => {
    server.fail(COMMIT, { end, when: "before" });
    expect((await failureOf(commitAt()))[0]).toBe("again");
    expect(server.head).toBeUndefined();
    // The lock was regained before it counted as not found.
    const looks = server.statements.flatMap((text, index) => (LOOK.test(text) ? [index] : []));
    expect(looks).toHaveLength(2);
    expect(server.statements.slice(looks[0], looks[1]).some((text) => LOCK.test(text))).toBe(true);
  });

  test("is looked up until a server answers", async () => {
    server.fail(COMMIT, { end, when: "after" });
    const node = await openAt(server.url, 10_000);
    const lease = await node.lease("notes", 300);
    server.fail(LOOK, { end: "cut", when: "before" });
    server.fail(COMMIT, { end: "cut", when: "before" });
    await lease.swap(headAt(1), []);
    expect(server.head!.generation).toBe("1");
  });

  test("is 'unknown' where no server answers, with a way to find out", async () => {
    server.fail(COMMIT, { end, when: "after" });
    const lease = await engine.lease("notes", 300);
    const next = headAt(1);
    server.fail(/transaction_read_only/, { state: "57P03", severity: "FATAL" }, 1000);
    const [fault, message] = await failureOf(lease.swap(next, []));
    expect(fault).toBe("unknown");
    expect(message).toContain(`select * from svc.svc_commit where commit = '${next.commit}'`);
    // The query that the message names finds it.
    expect(server.commits.has(next.commit)).toBe(true);
  });
});

test("a lease that was released commits nothing", async () => {
  const lease = await engine.lease("notes", 300);
  await lease.release();
  await lease.release();
  expect((await failureOf(lease.swap(headAt(1), [])))[0]).toBe("again");
  expect(server.head).toBeUndefined();
});
