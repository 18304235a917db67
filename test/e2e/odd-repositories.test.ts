/** Repositories that are empty or hostile: what the executable says of them. */
import { beforeAll, expect, test } from "bun:test";
import { git, rootWith } from "../repo/helpers.ts";
import { Session, signedIn } from "./home.ts";

let env: Record<string, string>;

beforeAll(async () => {
  env = await signedIn();
});

/** Runs `use` on a session over a workspace. */
async function over<T>(workspace: string, use: (session: Session) => Promise<T>): Promise<T> {
  const session = await Session.open(env, "--workspace", workspace);
  try {
    return await use(session);
  } finally {
    await session.close();
  }
}

test("a repository without any source has no hits, and is not an error", async () => {
  const bytes = new Uint8Array(100).map((_, i) => i % 7);
  for (const files of [{}, { "logo.png": bytes, "empty.txt": "" }] as Record<string, string | Uint8Array>[]) {
    const root = rootWith(files);
    git(root, "init", "-q");
    await over(root, async (session) => {
      expect(await session.call("svc_repo_search", { query: "where is it" })).toMatchObject({ hits: [] });
      expect(await session.call("svc_index_repo", {})).toMatchObject({ chunks_added: 0 });
      expect(await session.call("svc_workspace_info")).toMatchObject({ workspace: root });
    });
  }
});

test("of a file of one line of 1 MB a part is shown, with the word that was asked for", async () => {
  const piece = (i: number) => `function f${i}(a,b){return a+b*${i}}`;
  const pieces = Array.from({ length: 30_000 }, (_, i) => (i === 17_000 ? "function zanzibar(){return 1}" : piece(i)));
  const line = pieces.join(";");
  expect(line.length).toBeGreaterThan(1_000_000);
  const root = rootWith({ "web/all.min.js": line, "src/one.js": "export const one = 1;\n" });
  await over(root, async (session) => {
    for (const [more, most] of [
      [{}, 6_000],
      [{ form: "grep" }, 6_000],
      [{ form: "windows" }, 24_000],
    ] as const) {
      const { text } = await session.raw("svc_repo_search", { query: "zanzibar", ...more });
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(most);
      const [hit] = JSON.parse(text).hits;
      expect([hit.metadata.path, hit.text]).toEqual(["web/all.min.js", expect.stringContaining("zanzibar")]);
    }
  });
});

/** 64 KB on which expressions that look for definitions may take a time that grows with the square of the length. */
const BYTES = 65_536;
const HOSTILE: Readonly<Record<string, string>> = {
  "blanks.py": `${" ".repeat(BYTES)}\n`,
  "modifiers.java": "public static final ".repeat(BYTES / 20),
  "parentheses.c": `int f${"(".repeat(BYTES)}`,
  "words.c": "a b ".repeat(BYTES / 4),
  "arguments.ts": `export const f = (${"a, ".repeat(BYTES / 3)}`,
  "types.rs": `fn f<${"<".repeat(BYTES)}`,
  "receivers.go": "func (".repeat(BYTES / 6),
  "names.rb": "def a.".repeat(BYTES / 6),
  "attributes.kt": "@A ".repeat(BYTES / 3),
  "lines.py": "def\n".repeat(BYTES / 4),
};

test("files that are hostile to expressions are indexed beside others", async () => {
  const root = rootWith({ ...HOSTILE, "src/plain.py": "def quagga():\n    return 1\n" });
  await over(root, async (session) => {
    const { hits } = await session.call("svc_repo_search", { query: "quagga" });
    expect(hits[0].metadata.path).toBe("src/plain.py");
    const { files_tracked } = await session.call("svc_index_repo", {});
    expect(files_tracked).toBe(Object.keys(HOSTILE).length + 1);
  });
});
