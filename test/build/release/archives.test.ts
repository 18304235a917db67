/** Archives of a release, read by other programs. */
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipped, tarOf, zipOf } from "../../../src/build/release/archives.ts";
import { scratchDir } from "../../fixture.ts";

const FILES = [
  { name: "folder/program", bytes: Buffer.from("#!/bin/sh\necho runs\n"), isExecutable: true },
  { name: "empty", bytes: new Uint8Array() },
  { name: "block", bytes: Buffer.alloc(512, "b") },
  { name: "large", bytes: Buffer.alloc(100_000, "text ") },
];

/** Unpacks an archive and expects the files in it. */
function expectUnpacked(archive: Uint8Array, command: (path: string) => string[]): void {
  const folder = scratchDir();
  const into = join(folder, "into");
  mkdirSync(into);
  writeFileSync(join(folder, "archive"), archive);
  const { success, stderr } = Bun.spawnSync(command(join(folder, "archive")), { cwd: into });
  expect([success, stderr.toString()]).toEqual([true, ""]);
  for (const { name, bytes } of FILES) expect(readFileSync(join(into, name)).equals(bytes)).toBe(true);
}

test("tar reads a tar archive, and gives the mode of each file", () => {
  for (const archive of [tarOf(FILES), gzipped(tarOf(FILES), 1)])
    expectUnpacked(archive, (path) => ["tar", "-xf", path]);
  const folder = scratchDir();
  Bun.spawnSync(["tar", "-x"], { cwd: folder, stdin: tarOf(FILES) });
  const modes = FILES.map(({ name }) => statSync(join(folder, name)).mode & 0o111);
  expect(modes).toEqual([0o111, 0, 0, 0]);
});

test.skipIf(!Bun.which("python3"))("Python reads a zip archive and finds no fault in it (needs python3)", () => {
  const whole = zipOf(FILES);
  expectUnpacked(whole, (path) => ["python3", "-m", "zipfile", "-e", path, "."]);
  const { name, isExecutable, bytes } = FILES[0]!;
  expect(zipOf([{ name, isExecutable, gzip: gzipped(bytes) }, ...FILES.slice(1)])).toEqual(whole);
});

test("a name that does not fit into a tar archive is an error", () => {
  expect(() => tarOf([{ name: "n".repeat(100), bytes: new Uint8Array() }])).toThrow("is too long for a tar archive");
});
