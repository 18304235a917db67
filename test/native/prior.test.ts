/**
 * The table of common terms is what its sources in the project say it is. What needs the counted texts is in
 * prior/README.md.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { functionWords, levelOf, TIERS } from "../../src/build/corpus/prior/make.ts";
import { SOURCES } from "../../src/build/corpus/prior/sources.ts";
import { buildProgram } from "../../src/build/program.ts";
import { header, LEVELS, readLevels } from "../../src/build/tables/prior-table.ts";
import { platformTag } from "../../src/paths.ts";

const ROOT = join(import.meta.dir, "../..");
const PRIOR = join(ROOT, "src/build/corpus/prior");
const tsv = readFileSync(join(PRIOR, "../../tables/prior.tsv"), "utf8");
const levels = readLevels(tsv);

test("the table is the one that vectors of this version were made with", () => {
  const digest = new Bun.CryptoHasher("sha256")
    .update(header(levels).text.replace(/^\/\*.*?\*\/\n/s, ""))
    .digest("hex");
  expect(digest).toBe("f68b702dcd21b151b56e1ae61c386b8e157a14ded7a98b3d86b045bb2283a56e");
});

test("README.md names every counted text", () => {
  const readme = readFileSync(join(PRIOR, "README.md"), "utf8");
  const row = ({ repository, commit, licence }: (typeof SOURCES)[number]) =>
    `| ${repository} | ${commit} | ${licence} |`;
  expect(SOURCES.map(row).filter((line) => !readme.includes(line))).toEqual([]);
});

test("terms are sorted by bytes, each once, with a level", () => {
  const terms = levels.map(([term]) => Buffer.from(term));
  expect(terms.every((term, i) => i === 0 || Buffer.compare(terms[i - 1]!, term) < 0)).toBe(true);
  expect(levels.filter(([, level]) => !Number.isInteger(level) || level < 0 || level >= LEVELS)).toEqual([]);
});

test("no term of the hand-written list weighs more than its tier", async () => {
  const program = await buildProgram(
    { root: ROOT, cache: join(ROOT, ".build"), tag: platformTag()! },
    "src/build/corpus/prior/count.c",
  );
  const found = new Map(levels);
  const tiers = functionWords();
  expect(tiers.map((words) => words.length).every((count) => count > 200)).toBe(true);
  for (const [tier, words] of tiers.entries()) {
    const stdin = Buffer.from(`${words.join("\n")}\n`);
    const { stdout } = Bun.spawnSync([program, "stem"], { stdin });
    const stems = stdout.toString().trimEnd().split("\n");
    expect(stems).toHaveLength(words.length);
    expect(stems.filter((stem) => !((found.get(stem) ?? LEVELS) <= levelOf(TIERS[tier]!)))).toEqual([]);
  }
}, 120_000);

test("terms are counted once in a piece, as stems, without the wholes of identifiers", async () => {
  const program = await buildProgram(
    { root: ROOT, cache: join(ROOT, ".build"), tag: platformTag()! },
    "src/build/corpus/prior/count.c",
  );
  const pieces = ["Running runs, fooBar", "a run of 東京都", "Phở PHỞ pho"].map((text) => {
    const bytes = Buffer.from(text);
    return Buffer.concat([Buffer.from(Uint32Array.of(bytes.length).buffer), bytes]);
  });
  const { stdout } = Bun.spawnSync([program], { stdin: Buffer.concat(pieces) });
  const [total, ...lines] = stdout.toString().trimEnd().split("\n");
  expect(total).toBe("3");
  expect(lines.sort()).toEqual(
    [
      "1\ta",
      "1\tbar",
      "1\tfoo",
      "1\tof",
      "1\t京",
      "1\t京都",
      "1\t東",
      "1\t東京",
      "1\t都",
      "1\tphở",
      "1\tpho",
      "2\trun",
    ].sort(),
  );
}, 120_000);
