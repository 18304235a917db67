/** The formula for Homebrew. */
import { expect, test } from "bun:test";
import { formulaOf } from "../../../src/build/release/homebrew.ts";
import { projectOf } from "../../../src/build/release/project.ts";
import { PLATFORM_TAGS, type PlatformTag } from "../../../src/paths.ts";
import { releaseNames } from "../../../src/trust/release/manifest.ts";
import { ROOT } from "../../e2e/home.ts";

/** A release of some platforms, whose hashes are their numbers. */
function formula(...tags: PlatformTag[]): string {
  const files = tags.map((tag) => {
    const file = (name: string) => ({ name, sha256: `${PLATFORM_TAGS.indexOf(tag)}`.repeat(64), size_bytes: 1 });
    const { executable, gzip, zstd } = releaseNames(tag);
    return [tag, { executable: file(executable), gzip: file(gzip), zstd: file(zstd) }];
  });
  return formulaOf(projectOf(ROOT, "1.2.3"), Object.fromEntries(files));
}

test("has the compressed executable of each platform with its hash", () => {
  const text = formula(...PLATFORM_TAGS);
  const found = [...text.matchAll(/on_(\w+) do\n {6}url "(\S+)"\n {6}sha256 "(\d{64})"\n {4}end/g)];
  expect(found.map(([, cpu, url, hash]) => [cpu, url!.match(/v1\.2\.3\/(.+)$/)?.[1], hash![0]])).toEqual([
    ["arm", "svc-macos-arm64.gz", "2"],
    ["arm", "svc-linux-arm64.gz", "1"],
    ["intel", "svc-linux-x86_64.gz", "0"],
  ]);
  expect(text.indexOf("on_macos")).toBeLessThan(text.indexOf("svc-macos-arm64"));
  expect(text.indexOf("svc-macos-arm64")).toBeLessThan(text.indexOf("on_linux"));
});

test("each block that begins ends, in the column where it began", () => {
  for (const text of [formula(...PLATFORM_TAGS), formula("linux-arm64"), formula("macos-arm64")]) {
    const open: string[] = [];
    for (const [, indent, word] of text.matchAll(/^( *)(class|def|end\b|.* do$|)/gm)) {
      if (word === "end") expect(open.pop()).toBe(indent!);
      else if (word !== "") open.push(indent!);
    }
    expect(open).toEqual([]);
  }
  expect(formula("linux-arm64")).not.toContain("on_macos");
});

test.skipIf(!Bun.which("ruby"))("is Ruby (needs ruby)", () => {
  const { stdout, stderr } = Bun.spawnSync(["ruby", "-c", "-W"], { stdin: Buffer.from(formula(...PLATFORM_TAGS)) });
  expect([stdout.toString(), stderr.toString()]).toEqual(["Syntax OK\n", ""]);
});
