/** Answers of the executable keep to their bound, and what they leave out can be read to its end. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SHORT_ANSWERS } from "../../src/build/tool-schemas.ts";
import { listTools } from "../../src/mcp/tools.ts";
import { randomText } from "../answers/texts.ts";
import { random } from "../random.ts";
import { Session, signedIn, svc } from "./home.ts";

let env: Record<string, string>;
let session: Session;
let large = "";

beforeAll(async () => {
  env = await signedIn();
  const workspace = mkdtempSync(join(tmpdir(), "svc-bounded-"));
  for (let i = 0; i < 40; i++) {
    writeFileSync(join(workspace, `file${i}.md`), `quokka ${i}\n${"The keeper counts the ships. ".repeat(200)}\n`);
  }
  session = await Session.open(env, "--workspace", workspace);
  const next = random(1);
  while (Buffer.byteLength(large) < 1 << 20) large += randomText(next, 500);
  await session.call("svc_add", { collection: "large", texts: [large], ids: ["large"] });
});
afterAll(() => session.close());

/** A call that must succeed within its bound. */
// biome-ignore lint/suspicious/noExplicitAny: a payload is JSON, and a test reads what it expects of it
async function bounded(name: string, args: object, most: number): Promise<any> {
  const { text, isError } = await session.raw(name, args);
  expect([name, isError ? text : "", Buffer.byteLength(text) <= most]).toEqual([name, "", true]);
  return JSON.parse(text);
}

test("a row of 1 MB is read to its end, 24,000 bytes an answer", async () => {
  const pieces: string[] = [];
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const { rows } = await bounded("svc_get", { collection: "large", ids: ["large"], offset }, 24_000);
    const row: { text: string; truncated?: true; text_bytes?: number; next_offset?: number } = rows[0];
    expect([row.truncated, row.text_bytes]).toEqual(
      row.next_offset ? [true, Buffer.byteLength(large)] : [undefined, undefined],
    );
    pieces.push(row.text);
    offset = row.next_offset;
  }
  expect(pieces.join("") === large).toBe(true);
  // A piece more where a character, or what JSON escapes, did not fit.
  const escaped = Buffer.byteLength(JSON.stringify(large));
  expect(pieces.length).toBeLessThanOrEqual(Math.ceil(escaped / 23_700));
});

test("the repository's answers have 6,000 bytes, and go on", async () => {
  const args = { query: "quokka keeper ships", top_k: 40 };
  for (const form of ["lines", "grep", "files", "windows"]) {
    const ids: string[] = [];
    let after: string | undefined;
    do {
      const { hits, next } = await bounded(
        "svc_repo_search",
        { ...args, form, after },
        form === "windows" ? 24_000 : 6_000,
      );
      for (const { id, text } of hits) {
        if (form === "windows") expect(text).toContain("keeper counts");
        ids.push(id);
      }
      after = next;
    } while (after !== undefined);
    expect([form, ids.length, new Set(ids).size]).toEqual([form, 40, 40]);
  }
  const { hits: few } = await bounded("svc_repo_search", { query: args.query }, 6_000);
  expect(few.length).toBe(5);
  for (const { text } of few) expect(text).toMatch(/^1:quokka \d+\n….*keeper counts.*…$|keeper counts/);
  const more = { with_text: true, collection: "repo_symbols", max_bytes: 1000 };
  const { hits } = await bounded("svc_search", { ...args, ...more }, 1000);
  expect(hits.length).toBeGreaterThan(0);
});

test("every tool takes max_bytes, and keeps to it when it fails", async () => {
  for (const { name, inputSchema } of listTools()) {
    // Where the answer is one short line it is taken, but not published.
    const isPublished = !SHORT_ANSWERS.has(name.replace("svc_", ""));
    expect([name, Object.hasOwn(inputSchema.properties ?? {}, "max_bytes")]).toEqual([name, isPublished]);
    const long = "\u{1f980}".repeat(50_000);
    for (const args of [
      { [long]: 1 },
      {
        collection: long,
        query: long,
        ids: [long],
        texts: [long],
        name: long,
        path: long,
        path_hint: long,
        where: { [long]: long },
      },
    ]) {
      const { text } = await session.raw(name, { ...args, max_bytes: 1000 });
      expect([name, Buffer.byteLength(text) <= 1000]).toEqual([name, true]);
    }
  }
});

test("the terminal's answers are whole, unless --max-bytes is given", async () => {
  const whole = await svc(env, ["mem", "get", "large", "large", "--json"]);
  expect(JSON.parse(whole.out).rows[0].text === large).toBe(true);
  const bound = await svc(env, ["mem", "get", "large", "large", "--json", "--max-bytes", "5000", "--offset", "100"]);
  expect(bound.out.length).toBeLessThanOrEqual(5001);
  const [row] = JSON.parse(bound.out).rows;
  expect(row).toMatchObject({ truncated: true, text_bytes: Buffer.byteLength(large) });
  const refused = await svc(env, ["mem", "get", "large", "large", "--max-bytes", "5"]);
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("--max-bytes must be from 1000 to")]);
});
