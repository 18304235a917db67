/** A query longer than 64 KiB: its beginning is searched for, and the answer says so. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { QUERY_BYTES_MAX } from "../../src/limits.ts";
import { Session, signedIn, svc } from "./home.ts";

/** Ten bytes: the limit falls into the four bytes of the cup. */
const WORD = "wört\u{1f375} ";
const CUT = `${WORD.repeat(6553)}wört`;
const LONG = `${CUT}\u{1f375} invoice paid`;
const NOTICE = expect.stringContaining(`longer than ${QUERY_BYTES_MAX} bytes`);

let env: Record<string, string>;
let session: Session;

beforeAll(async () => {
  env = await signedIn();
  const workspace = mkdtempSync(join(tmpdir(), "svc-long-query-"));
  writeFileSync(join(workspace, "tea.md"), "Green tea is wört a cup.\n");
  writeFileSync(join(workspace, "money.md"), "An invoice is paid within a month.\n");
  session = await Session.open(env, "--workspace", workspace);
  await session.call("svc_create_collection", { name: "notes", lexical: true });
  const texts = ["green tea is wört a cup", "an invoice is paid", "wört and wort"];
  await session.call("svc_add", { collection: "notes", texts, ids: ["tea", "money", "words"] });
  await session.call("svc_build_lexical", { collection: "notes" });
  await session.call("svc_repo_search", { query: "tea" });
});
afterAll(() => session.close());

test.each(["svc_search", "svc_search_lexical", "svc_repo_search"])("%s", async (tool) => {
  expect(Buffer.byteLength(`${CUT}\u{1f375}`)).toBeGreaterThan(QUERY_BYTES_MAX);
  const where = tool === "svc_repo_search" ? {} : { collection: "notes" };
  const ask = (query: string) => session.call(tool, { ...where, query, max_bytes: 0 });
  const [cut, long] = [await ask(CUT), await ask(LONG)];
  expect(cut.hits.length).toBeGreaterThan(0);
  expect(cut.notice).toBeUndefined();
  expect(long).toEqual({ ...cut, query: LONG, notice: NOTICE });
  expect((await ask("invoice paid")).hits).not.toEqual(cut.hits);
});

test("svc mem search says it on stderr, and in --json", async () => {
  for (const flags of [[], ["--lexical"]]) {
    const plain = await svc(env, ["mem", "search", "notes", LONG, ...flags]);
    expect(plain).toMatchObject({ code: 0, err: expect.stringContaining(`longer than ${QUERY_BYTES_MAX} bytes`) });
    const json = await svc(env, ["mem", "search", "notes", LONG, "--json", ...flags]);
    expect([json.code, json.err]).toEqual([0, ""]);
    expect(JSON.parse(json.out)).toMatchObject({ query: LONG, notice: NOTICE });
    expect((await svc(env, ["mem", "search", "notes", "tea", ...flags])).err).toBe("");
  }
});
