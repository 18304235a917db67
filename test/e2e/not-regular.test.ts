/** A FIFO in place of a collection's manifest, with the executable: every verb ends, and a signal ends the server. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { Session, signedIn, svc } from "./home.ts";

/** What takes so long never ends. */
const HANGS_MS = 60_000;

let env: Record<string, string>;
beforeAll(async () => {
  env = await signedIn();
  for (const name of ["notes", "other"]) expect((await svc(env, ["mem", "add", name, "a note"])).code).toBe(0);
  const manifest = join(env.SVC_HOME!, "memory/notes/collection.json");
  rmSync(manifest);
  expect(Bun.spawnSync(["mkfifo", manifest]).success).toBe(true);
});
afterAll(() => rmSync(env.HOME!, { recursive: true, force: true }));

test.each([
  [["mem", "list"], 0, /notes .*'collection\.json' is a FIFO, not a regular file/],
  [["mem", "search", "notes", "note"], 1, /collection\.json: it is a FIFO, not a regular file/],
  [["mem", "check"], 1, /collection\.json: it is a FIFO, not a regular file/],
  [["mem", "check", "--repair"], 1, /collection\.json cannot be read/],
  [["mem", "backup", "copy"], 1, /collection\.json: it is a FIFO, not a regular file/],
  [["mem", "search", "other", "note"], 0, /a note/],
  [["doctor"], 1, /collection\.json: it is a FIFO, not a regular file/],
] as const)(
  "svc %p ends",
  async (words, code, said) => {
    const ended = await svc(env, [...words]);
    expect(`${ended.out}${ended.err}`).toMatch(said);
    expect(ended.code).toBe(code);
  },
  HANGS_MS,
);

test(
  "svc_list_collections answers, and SIGTERM ends the server",
  async () => {
    const session = await Session.open(env);
    expect((await session.call("svc_list_collections")).collections).toContain("other");
    const closed = new Promise<void>((resolve) => {
      session.client.onclose = resolve;
    });
    process.kill(session.transport.pid!, "SIGTERM");
    await closed;
  },
  HANGS_MS,
);

test(
  "svc mem drop removes it",
  async () => {
    expect((await svc(env, ["mem", "drop", "notes", "--yes"])).err).toBe("");
    expect((await svc(env, ["mem", "list"])).out).not.toContain("notes");
  },
  HANGS_MS,
);
