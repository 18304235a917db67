/** Meaning with the executable: filled at the end of a command, by `build-meaning` and by a server; turned on and off. */
import { beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { hasModel, sentences, until } from "../texts/meaning/fixture.ts";
import { type Home, Session, signedIn, svc } from "./home.ts";

let env: Home;

beforeAll(async () => {
  env = await signedIn();
});

const done = async (args: string[], input?: string, more: Home = {}) => {
  const ended = await svc({ ...env, ...more }, ["mem", ...args], input);
  expect(ended).toMatchObject({ code: 0 });
  return ended;
};
const statsOf = async (name: string) => JSON.parse((await done(["stats", name, "--json"])).out).stats;

test.skipIf(!hasModel)("commands fill what they wrote, and build-meaning the rest", async () => {
  await done(["add", "notes", "the landlord raised the rent"]);
  expect(await statsOf("notes")).toMatchObject({ meaning: "on", text_rows: 1, meaning_rows: 1 });
  await done(["add", "notes", "--lines", "-"], sentences(40).join("\n"));
  expect(await statsOf("notes")).toMatchObject({ text_rows: 41, meaning_rows: 41 });
  await done(["add", "later", "--lines", "-"], sentences(120).join("\n"), { SVC_MEANING: "off" });
  expect(await statsOf("later")).toMatchObject({ text_rows: 120, meaning_rows: 0 });
  const asked = await done(["search", "later", "zeppelin"]);
  expect(asked.err).toContain("0 % of the texts of 'later' can be found by meaning so far");
  const { findings } = JSON.parse((await svc(env, ["doctor", "--json"])).out);
  expect(findings).toContainEqual(
    expect.objectContaining({ check: "memory.meaning", level: "ok", remedy: "svc mem build-meaning later" }),
  );
  expect((await done(["build-meaning", "later"])).out).toBe("120 texts of later can be found by meaning\n");
  expect(JSON.parse((await done(["build-meaning", "later", "--json"])).out)).toEqual({
    ...{ meaning_built: "later", texts: 120, with_meaning: 120, added: 0 },
  });
  expect((await done(["search", "later", "zeppelin"])).err).not.toContain("so far");
});

test.skipIf(!hasModel)("meaning is turned off and on for a collection, and off for a process", async () => {
  await done(["create", "plain", "--meaning", "off"]);
  await done(["add", "plain", ...sentences(3)]);
  expect(await statsOf("plain")).toMatchObject({ meaning: "off", meaning_rows: 0 });
  const refused = await svc(env, ["mem", "build-meaning", "plain"]);
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("'svc mem alter plain --meaning on'") });
  expect((await done(["alter", "plain", "--meaning", "on"])).out).toContain("search by meaning");
  await done(["build-meaning", "plain"]);
  expect(await statsOf("plain")).toMatchObject({ meaning: "on", meaning_rows: 3 });
  const off = await svc({ ...env, SVC_MEANING: "off" }, ["mem", "build-meaning", "plain"]);
  expect(off).toMatchObject({ code: 1, err: expect.stringContaining("SVC_MEANING is off") });
  const wrong = await svc({ ...env, SVC_MEANING: "no" }, ["mem", "count", "plain"]);
  expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining("SVC_MEANING must be one of on, off") });
  await done(["alter", "plain", "--meaning", "off"]);
  const files = readdirSync(join(env.SVC_HOME!, "memory/plain"));
  expect(files.filter((name) => name.startsWith("meaning-"))).toEqual([]);
});

test.skipIf(!hasModel)("a server fills a collection that it was asked about, and its first calls answer", async () => {
  await done(["add", "server", "--lines", "-"], sentences(50).join("\n"), { SVC_MEANING: "off" });
  const session = await Session.open(env);
  expect(await session.call("svc_count", { collection: "server" })).toMatchObject({ count: 50 });
  await until(async () => (await statsOf("server")).meaning_rows === 50);
});
