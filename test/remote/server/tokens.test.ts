/** The life of a named token on a server: revoked, expired, wrong, and with a file that cannot be read. */
import { expect, setSystemTime, test } from "bun:test";
import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { serve } from "../../../src/remote/server/server.ts";
import { addToken, revokeToken, tokenFile } from "../../../src/remote/tokens/token-file.ts";
import { newToken } from "../../../src/remote/tokens/token-text.ts";
import { readUsage, usageFile } from "../../../src/remote/tokens/usage-file.ts";
import { scratchDir } from "../../fixture.ts";
import { ask, large, openLocal, type Raw, TestServer, TOKEN, until } from "./raw.ts";
import { Site } from "./site.ts";

const ROW = { vectors: [[1, 0]], ids: ["a"] };

/** The next reply has to be the one that closes the connection. */
async function expectOver(raw: Raw): Promise<void> {
  expect(await raw.next()).toEqual({ ok: false, error: "unauthorized" });
  await raw.end();
}

test("a server on TCP starts with named tokens alone, and not without any token", async () => {
  const dir = scratchDir();
  const store = await openLocal(dir);
  const start = () => serve({ store, host: "127.0.0.1", port: 0 });
  await expect(start()).rejects.toThrow("anonymous TCP is refused");
  await addToken(dir, { name: "over", readOnly: false, expires: Date.now() - 1 });
  await expect(start()).rejects.toThrow("anonymous TCP is refused");
  const { token } = await addToken(dir, { name: "ada", readOnly: false });
  await store.close();
  await using server = await TestServer.start({ dir, host: "127.0.0.1", port: 0, tcp: true, accessToken: undefined });
  const raw = await server.bare();
  expect(await raw.ok("auth", undefined, { token })).toEqual({ authenticated: true });
  expect(await raw.ok("collections")).toEqual([]);
  for (const wrong of [TOKEN, "", token.slice(0, -1), `${token} `, newToken(), 5, null, undefined, {}]) {
    const other = await server.bare();
    other.send(ask("auth", undefined, { token: wrong }));
    await expectOver(other);
  }
  for (const { message } of server.events) expect(message).not.toContain(token.slice(5, 20));
});

test("a named token cannot be the one token, which has all rights", async () => {
  const dir = scratchDir();
  const { token } = await addToken(dir, { name: "ada", readOnly: true });
  const store = await openLocal(dir);
  for (const accessToken of [token, newToken(), "svct_mistyped"])
    await expect(serve({ store, host: "127.0.0.1", port: 0, accessToken })).rejects.toThrow("cannot be a named token");
  await store.close();
});

test("the one token goes on working beside named ones, with all rights", async () => {
  await using site = await Site.start();
  await site.token("ada", { collections: ["a"], readOnly: true });
  const root = await site.server.open();
  await root.ok("create_collection", "notes", { dim: 2 });
  await root.ok("add", "notes", ROW);
  await root.ok("save", "notes");
  expect(await root.ok("collections")).toEqual(["notes"]);
});

test("a token that was added while the server runs is valid at once, one that was revoked is not", async () => {
  await using site = await Site.start();
  const token = await site.token("ada");
  const [busy, idle] = [await site.with(token), await site.with(token)];
  const other = await site.as("bob");
  await busy.ok("ping");
  await revokeToken(site.dir, "ada");
  // At once: the request that comes next, and without one within a moment.
  busy.send(ask("ping"));
  await expectOver(busy);
  await expectOver(idle);
  expect(await other.ok("ping")).toEqual({ pong: true });
  const again = await site.server.bare();
  again.send(ask("auth", undefined, { token }));
  await expectOver(again);
  expect(
    site.server
      .logged("unauthorized")
      .map(({ message }) => message)
      .join(),
  ).toContain("its token was revoked");
  // A new token of the same name is another one.
  expect(await (await site.as("ada")).ok("ping")).toEqual({ pong: true });
});

test("a request under way when its token is revoked is answered, those after it are not carried out", async () => {
  await using site = await Site.start();
  const root = await site.server.open();
  await root.ok("create_collection", "notes", { embedder: "multigram" });
  const raw = await site.as("ada");
  const texts = Array.from({ length: 3000 }, (_, i) => `the kettle number ${i} is broken, and so is the lamp ${i}`);
  // A frame for the decoder's thread, and one that waits for it.
  raw.send(
    ask("add_texts", "notes", { texts, ids: texts.map((_, i) => `r${i}`) }),
    ask("add_texts", "notes", { texts: ["after"], ids: ["after"] }),
  );
  await root.ok("ping"); // the server has read what was sent before
  await revokeToken(site.dir, "ada");
  const replies = [];
  for (let reply = await raw.next(20_000); reply; reply = await raw.next(20_000)) replies.push(reply);
  await raw.end();
  expect(replies.at(-1)).toEqual({ ok: false, error: "unauthorized" });
  // As a whole, whichever way it went: the reply says what is there.
  const ids: string[] = await root.ok("ids", "notes");
  const accepted = replies.filter(({ ok }) => ok).flatMap(({ result }) => result);
  expect([0, 3000, 3001]).toContain(ids.length);
  expect(ids).toEqual(accepted);
});

test("what waits in the queue of a connection is refused once its token is revoked", async () => {
  await using site = await Site.start();
  const root = await site.server.open();
  await root.ok("create_collection", "notes", { dim: 2 });
  const raw = await site.as("ada");
  await revokeToken(site.dir, "ada");
  raw.send(large({ op: "add", collection: "notes", args: ROW }), ask("ping"));
  await expectOver(raw);
  expect(await root.ok("ids", "notes")).toEqual([]);
});

test("a token expires on open connections, and stays expired when the clock is set back", async () => {
  const site = await Site.start();
  const token = await site.token("ada", { expires: Date.now() + 3_600_000 });
  const raw = await site.with(token);
  await raw.ok("ping");
  try {
    setSystemTime(Date.now() + 3_600_001);
    await expectOver(raw);
    setSystemTime();
    const back = await site.server.bare();
    back.send(ask("auth", undefined, { token }));
    await expectOver(back);
    await site.server.stop();
    await using later = await Site.start({ dir: site.dir });
    const again = await later.server.bare();
    again.send(ask("auth", undefined, { token }));
    await expectOver(again);
    expect(later.server.logged("unauthorized").at(-1)?.message).toContain("token 'ada' has expired");
  } finally {
    setSystemTime();
  }
});

test("a clock that is set back while the server runs does not lengthen the life of a token", async () => {
  await using site = await Site.start();
  const token = await site.token("ada", { expires: Date.now() + 1500 });
  const raw = await site.with(token);
  try {
    setSystemTime(Date.now() - 86_400_000);
    await raw.ok("ping");
    await expectOver(raw);
  } finally {
    setSystemTime();
  }
});

test("while the file cannot be read no named token is valid, and the one token is", async () => {
  await using site = await Site.start();
  const token = await site.token("ada");
  const [raw, root] = [await site.with(token), await site.server.open()];
  const path = tokenFile(site.dir);
  const good = readFileSync(path, "utf8");
  for (const damage of [
    () => writeFileSync(path, good.slice(0, -9), { mode: 0o600 }),
    () => chmodSync(path, 0o644),
    () => writeFileSync(path, JSON.stringify({ format: 9 }), { mode: 0o600 }),
  ]) {
    const before = await site.with(token);
    damage();
    await expectOver(before);
    const other = await site.server.bare();
    other.send(ask("auth", undefined, { token }));
    await expectOver(other);
    expect(await root.ok("ping")).toEqual({ pong: true });
    rmSync(path);
    writeFileSync(path, good, { mode: 0o600 });
  }
  await expectOver(raw);
  expect(site.server.logged("tokens_unreadable").length).toBeGreaterThanOrEqual(3);
  expect(await (await site.with(token)).ok("ping")).toEqual({ pong: true });
});

test("a memory directory that is gone or replaced ends named tokens, not the server", async () => {
  await using site = await Site.start();
  const raw = await site.as("ada");
  const root = await site.server.open();
  renameSync(site.dir, `${site.dir}-gone`);
  await expectOver(raw);
  writeFileSync(site.dir, "");
  site.server.server.reload();
  expect(await root.ok("ping")).toEqual({ pong: true });
  rmSync(site.dir);
  renameSync(`${site.dir}-gone`, site.dir);
});

test("a server does not start beside a file of tokens that it cannot read", async () => {
  for (const file of [tokenFile, usageFile]) {
    const dir = scratchDir();
    writeFileSync(file(dir), "{", { mode: 0o600 });
    const store = await openLocal(dir);
    await expect(serve({ store, socketPath: join(scratchDir(), "s.sock") })).rejects.toThrow("is damaged");
    await store.close();
  }
});

test("rights that were changed in the file end the connection, and hold from the next one", async () => {
  await using site = await Site.start();
  const token = await site.token("ada");
  const raw = await site.with(token);
  const path = tokenFile(site.dir);
  const all = JSON.parse(readFileSync(path, "utf8"));
  all.tokens[0].read_only = true;
  writeFileSync(path, JSON.stringify(all));
  site.server.server.reload();
  await expectOver(raw);
  const again = await site.with(token);
  expect((await again.ask("create_collection", "x", { dim: 2 })).error).toContain("may only read");
});

test("a thousand wrong tokens wait, the right one does not, from the same address", async () => {
  await using site = await Site.start({ limits: { unauthenticatedMax: 4096, connectionsMax: 4096 } });
  const token = await site.token("ada");
  const flood = await Promise.all(Array.from({ length: 1000 }, () => site.server.bare()));
  const [late, raw, root] = [await site.server.bare(), await site.server.bare(), await site.server.bare()];
  for (const one of flood) one.send(ask("auth", undefined, { token: newToken() }));
  await until("ten refusals", () => flood.filter(({ isClosed }) => isClosed).length >= 10);
  late.send(ask("auth", undefined, { token: newToken() }));
  raw.send(ask("auth", undefined, { token }), ask("ping"));
  root.send(ask("auth", undefined, { token: TOKEN }), ask("ping"));
  for (const right of [raw, root]) expect((await right.many(2)).map(({ ok }) => ok)).toEqual([true, true]);
  // A wrong one that came before them is still without an answer: it waits for a second.
  expect(late.isClosed).toBe(false);
  expect(site.server.logged("unauthorized").length).toBeLessThan(30);
  await until("the last refusal", () => [late, ...flood].every(({ isClosed }) => isClosed));
  expect([late, ...flood].every(({ replies: [reply] }) => reply.error === "unauthorized")).toBe(true);
});

test("a server that stops does not wait for refusals that wait", async () => {
  const site = await Site.start();
  for (let i = 0; i < 20; i++) (await site.server.bare()).send(ask("auth", undefined, { token: newToken() }));
  await until("their count", () => site.server.logged("unauthorized").length >= 11);
  await site.server.server.stop();
  await site.server.stop();
});

test("when a token was used is kept", async () => {
  const site = await Site.start();
  const before = Date.now();
  await site.as("ada");
  await site.server.stop();
  const [usage] = [...readUsage(site.dir).values()];
  expect(usage!.used).toBeGreaterThanOrEqual(before);
});

test("a request that comes later is a use too", async () => {
  const site = await Site.start();
  const raw = await site.as("ada");
  try {
    const later = Date.now() + 600_000;
    setSystemTime(later);
    await raw.ok("ping");
    await site.server.stop();
    const [usage] = [...readUsage(site.dir).values()];
    expect(usage!.used).toBeGreaterThanOrEqual(later);
  } finally {
    setSystemTime();
  }
});

test("a clock that was ahead when a token was made does not end the others", async () => {
  await using site = await Site.start();
  const token = await site.token("ada", { expires: Date.now() + 3_600_000 });
  const raw = await site.with(token);
  await addToken(site.dir, { name: "bob", readOnly: false }, Date.now() + 86_400_000 * 3650);
  site.server.server.reload();
  expect(await raw.ok("ping")).toEqual({ pong: true });
});

test.each([
  ["unread", 1, 400, 40],
  ["some of them unread", 8, 400, 40],
  ["read", 8, 7, 1000],
])("requests that wait, %s, are not carried out once the token is revoked", async (_, inFlightMax, requests, rows) => {
  await using site = await Site.start({ limits: { inFlightMax } });
  const root = await site.server.open();
  await root.ok("create_collection", "notes", { embedder: "multigram" });
  const raw = await site.as("ada");
  const texts = Array.from({ length: rows }, (_, i) => `the kettle number ${i} is broken, and so is the lamp ${i}`);
  const counts = Array.from({ length: requests }, (_, i) => `${i}`);
  // Small frames, each of which has its place once the one before it is answered.
  raw.send(...counts.map((id) => ask("upsert_texts", "notes", { texts, ids: texts.map((_, i) => `${id}-${i}`) })));
  await raw.next();
  await revokeToken(site.dir, "ada");
  const seen = (await root.ok("ids", "notes")).length;
  for (let reply = await raw.next(20_000); reply; reply = await raw.next(20_000)) {}
  const after = (await root.ok("ids", "notes")).length;
  // The one that was under way, and none of the others.
  expect(after - seen).toBeLessThanOrEqual(2 * texts.length);
  expect(after).toBeLessThan(counts.length * texts.length);
});
