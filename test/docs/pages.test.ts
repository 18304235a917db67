/** Every command and every answer in README.md and docs/ is run. [README.md](README.md) has the conventions. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Glob } from "bun";
import { ROOT } from "../e2e/home.ts";
import { allFlags, objection } from "./commands.ts";
import { type Page, readPage } from "./markdown.ts";
import { examplesOf, Session } from "./session.ts";
import { readSteps, wordsOf } from "./shell.ts";

const NAMES = ["README.md", ...[...new Glob("docs/*.md").scanSync(ROOT)].sort()];
const PAGES = NAMES.map((name) => ({ name, page: readPage(readFileSync(join(ROOT, name), "utf8")) }));

for (const { name, page } of PAGES) {
  describe(name, () => {
    const examples = examplesOf(page);
    let session: Session;
    beforeAll(async () => {
      if (examples.some(({ notRun }) => notRun === undefined)) session = await Session.open(page);
    });
    afterAll(async () => {
      await session?.[Symbol.asyncDispose]();
    });
    for (const example of examples) {
      const { block, notRun, needs } = example;
      if (notRun !== undefined) continue;
      const isMissing = needs !== undefined && !Bun.which(needs);
      test.skipIf(isMissing)(`line ${block.line}${needs ? ` (needs ${needs})` : ""}`, () => session.run(example));
    }

    test("names only commands and flags that there are", async () => {
      const wrong: string[] = [];
      const look = async (line: number, words: readonly string[], isWhole: boolean) => {
        const command = withoutPrefix(words);
        if (!/^(?:.*\/)?svc$/.test(command[0] ?? "")) return;
        const why = await objection(command.slice(1), isWhole);
        if (why && (isWhole || !/ needs a value$|^no [A-Z-]+ is given|cannot be '[A-Z]+'/.test(why)))
          wrong.push(`line ${line}: ${words.join(" ")}: ${why}`);
      };
      // A block that shows wrong usage ends with 2.
      for (const { language, code, line, remark } of page.blocks)
        if (language === "sh" && remark !== "exit code 2")
          for (const { commands } of readSteps(code)) for (const words of commands) await look(line, words, true);
      const tests = page.blocks.flatMap(({ remark = "" }) => remark.match(/test\/[\w./-]+/g) ?? []);
      wrong.push(...tests.filter((file) => !existsSync(join(ROOT, file))).map((file) => `there is no ${file}`));
      const flags = await allFlags();
      for (const { line, text } of page.spans) {
        // A word in capitals stands for a value.
        if (/^svc [^<[|]*$/.test(text) && !/ [A-Z]{3,}/.test(text)) await look(line, wordsOf(text), false);
        if (/^--[\w-]+/.test(text) && !flags.has(/^--[\w-]+/.exec(text)![0]) && !OTHERS.test(text))
          wrong.push(`line ${line}: no command has ${text}`);
      }
      expect(wrong).toEqual([]);
    });
  });
}

/** Flags of other programs that pages speak of: of the build, of the installer, of the bench, of Python, Bun and npm. */
const OTHERS =
  /^--(all|flags|rows|sets|repository|against|peers|data|json|minutes|platforms|release-key|release|floor|end-key|modify-path|uninstall|draft|sign-macos|license-pubkey|authority)\b/;

/** A command without the variables that are set for it, and without `sudo`. */
function withoutPrefix(words: readonly string[]): readonly string[] {
  const from = words.findIndex((word) => !/^\w+=/.test(word));
  const rest = words.slice(Math.max(from, 0));
  if (rest[0] !== "sudo") return rest;
  return rest[1] === "-u" ? rest.slice(3) : rest.slice(1);
}

test("links lead to files and headings that there are", () => {
  const wrong: string[] = [];
  const guides = ["*.md", "docs/*.md", "ffi/*.md", "test/docs/*.md"].flatMap((glob) => [
    ...new Glob(glob).scanSync(ROOT),
  ]);
  const pages = new Map<string, Page>();
  const read = (name: string) => {
    const page = pages.get(name) ?? readPage(readFileSync(join(ROOT, name), "utf8"));
    pages.set(name, page);
    return page;
  };
  for (const name of guides) {
    for (const { line, text } of read(name).links) {
      if (/^[a-z]+:/.test(text)) continue;
      const [path, anchor] = text.split("#") as [string, string?];
      const file = path === "" ? name : join(name, "..", path);
      if (!existsSync(join(ROOT, file))) wrong.push(`${name}:${line}: there is no ${file}`);
      else if (anchor && file.endsWith(".md") && !read(file).anchors.has(anchor))
        wrong.push(`${name}:${line}: ${file} has no heading #${anchor}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("programs in TypeScript have the types that they use", () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-docs-"));
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(ROOT, join(folder, "node_modules/svc"));
  symlinkSync(join(ROOT, "node_modules/@types"), join(folder, "node_modules/@types"));
  for (const { name, page } of PAGES)
    for (const { block, notRun } of examplesOf(page))
      if (block.language === "ts" && notRun === undefined)
        writeFileSync(join(folder, `${name.replaceAll("/", "-")}-${block.line}.ts`), block.code);
  const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, "tsconfig.json"), "utf8"));
  const options = { ...compilerOptions, noUnusedLocals: false, moduleDetection: "force" };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options, include: ["*.ts"] }));
  const tsc = Bun.spawnSync([join(ROOT, "node_modules/.bin/tsc"), "--noEmit", "-p", folder]);
  rmSync(folder, { recursive: true });
  expect(tsc.stdout.toString()).toBe("");
});

test("README.md names every page of docs", () => {
  const links = readPage(readFileSync(join(ROOT, "README.md"), "utf8")).links.map(({ text }) => text.split("#")[0]);
  expect(NAMES.slice(1).filter((name) => !links.includes(name))).toEqual([]);
});
