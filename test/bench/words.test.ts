/** The arguments of `npm run bench`: unknown ones are refused before anything runs. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { scratchDir } from "../fixture.ts";

async function bench(...words: string[]) {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "main.ts"), ...words], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, said] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, out, said };
}

test.each([
  [["--bogus"], "there is no option --bogus; there are --sets,"],
  [["--row", "2000"], "there is no option --row; there are --sets,"],
  [["vectors", "--rows=2000"], "there is no option --rows=2000; there are --sets,"],
  [["start", "-j"], "there is no option -j; there are --sets,"],
  [["nothing"], "no benchmark is called nothing; there are start,"],
  [["vectors", "--rows"], "--rows needs a value"],
  [["quality", "--sets", "/nowhere"], "/nowhere is not a set and holds none"],
  [["quality", "--repository", "/nowhere"], "/nowhere is not a git directory"],
  [["text", "--passages", "few"], "--passages is a whole number from 1000"],
  [["text", "--peers", "zvec"], "no peer is called zvec; there are fts5, lancedb"],
  [["words", "--questions", "2"], "--questions is a whole number from 10"],
  [["quality", "--passages", "2000"], "--passages is an option of text, words and import: name one of them too"],
])("%p is refused", async (words, sentence) => {
  const { code, out, said } = await bench(...words);
  expect([code, out]).toEqual([2, ""]);
  expect(said).toStartWith(sentence);
});

test("a named file that cannot be read is one line of error and exit code 1", async () => {
  const path = join(scratchDir(), "none.npy");
  const { code, said } = await bench("vectors", "--data", path);
  expect(code).toBe(1);
  expect(said).toEndWith(`skipped: ${path}: it cannot be read (ENOENT)\n`);
}, 60_000);
