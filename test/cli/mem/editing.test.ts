/** The file of an edit and the editor that runs on it: whatever the editor does, what was typed is not lost. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { documentOf, readDocument } from "../../../src/cli/mem/rows/document.ts";
import { Draft } from "../../../src/cli/mem/rows/draft.ts";
import { runEditor } from "../../../src/cli/mem/rows/editor.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-cli-"));
const before = process.env.TMPDIR;
beforeAll(() => {
  process.env.TMPDIR = folder;
});
afterAll(() => {
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  rmSync(folder, { recursive: true });
});

const content = { text: "we deploy", metadata: { scope: "ops" } };

/** As the command does it. @param editor a line of the shell */
async function edit(editor: string) {
  using draft = Draft.write("../a b", documentOf(content, "row x"));
  expect([statSync(draft.path).mode & 0o777, statSync(dirname(draft.path)).mode & 0o777]).toEqual([0o600, 0o700]);
  expect(draft.path).toEndWith("/a-b.md");
  try {
    await runEditor(editor, draft.path);
    return { read: readDocument(draft.read(), content) };
  } catch (error) {
    const { message } = draft.keepFor(error as Error);
    return { message, kept: / what you typed is in (.*)$/.exec(message)?.[1] };
  }
}

/** A function of the shell as the editor, which gets the file as $1. */
const shell = (body: string) => `f() { ${body}; }; f`;

test("an editor with arguments gets the file, and what it wrote is read", async () => {
  expect((await edit("sed -i -e 's/deploy/ship/' -e 's/^scope: .*/n: 1/'")).read).toEqual({
    text: "we ship",
    metadata: { n: 1 },
  });
  // Many editors write another file and rename it.
  expect((await edit(shell('cp "$1" "$1.new" && echo more >> "$1.new" && mv "$1.new" "$1"'))).read?.text).toBe(
    "we deploy\nmore",
  );
  expect(readdirSync(folder)).toEqual([]);
});

test.each([
  ["exit 3", "ended with exit code 3: nothing was saved"],
  [': > "$1"', "the file is empty: nothing was saved"],
  ['rm "$1"', "the editor has removed the file: nothing was saved"],
  ["no-such-program", "cannot be started: name one with EDITOR"],
  ["kill -INT $$", "interrupted"],
])("nothing is left of an edit without changes: %s", async (body, message) => {
  const { message: said, kept } = await edit(shell(body));
  expect(said).toContain(message);
  expect(kept).toBeUndefined();
  expect(readdirSync(folder)).toEqual([]);
});

test.each([
  ['printf "\\377" >> "$1"', "the file is not UTF-8 text: nothing was saved", "\xff"],
  ['head -c 16777216 /dev/zero | tr "\\0" x >> "$1"', "the limit is 16777216", "xxx"],
  ['head -c 18000000 /dev/zero | tr "\\0" x >> "$1"', "at most", "xxx"],
  ['sed -i "s/^scope: .*/scope: [/" "$1"', "is not YAML", "scope: ["],
  ['echo only text > "$1"', "does not begin with its metadata", "only text"],
  ['echo typed >> "$1"; exit 1', "ended with exit code 1", "typed"],
  ['echo typed >> "$1"; kill -INT $$', "interrupted", "typed"],
])("what was typed is kept: %s", async (body, message, typed) => {
  const { message: said, kept = "" } = await edit(shell(body));
  expect(said).toContain(message);
  expect(existsSync(kept)).toBe(true);
  expect(readFileSync(kept, "latin1")).toContain(typed);
  rmSync(dirname(kept), { recursive: true });
});

test.each([
  ["", 0],
  ['writeFileSync(draft.path, "typed");', 1],
])("an end of the process at once keeps what was typed, and nothing else: %s", async (typed, kept) => {
  const module = join(import.meta.dir, "../../../src/cli/mem/rows/draft.ts");
  const script = `import { writeFileSync } from "node:fs"; import { Draft } from "${module}";
    const draft = Draft.write("row", "before"); ${typed} process.exit(130);`;
  const env = { PATH: process.env.PATH, TMPDIR: folder };
  const child = Bun.spawn([process.execPath, "-e", script], { env, stderr: "pipe" });
  expect(await new Response(child.stderr).text()).toMatch(kept ? /^svc: what you typed is in \S+row\.md\n$/ : /^$/);
  const left = readdirSync(folder);
  expect(left).toHaveLength(kept);
  for (const name of left) rmSync(join(folder, name), { recursive: true });
});
