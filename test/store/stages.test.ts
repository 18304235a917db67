/** Folders in which collections are made: which are removed by others, and what an exchange that cannot be made says. */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OSError } from "../../src/errors.ts";
import { exchangeFolders, tidy, withStaged } from "../../src/store/stages.ts";
import { scratchDir } from "../fixture.ts";

test("a stage that is in use stays, what was left of others is removed, and what is none of ours is not", async () => {
  const dir = scratchDir();
  await withStaged(dir, async (stage) => {
    writeFileSync(join(stage, "file"), "");
    const left = join(dir, ".svc-staged-left");
    mkdirSync(left);
    writeFileSync(join(left, ".lock"), "");
    writeFileSync(join(left, "rows"), "");
    mkdirSync(join(dir, ".svc-staged-begun"));
    mkdirSync(join(dir, ".discarded-1"));
    mkdirSync(join(dir, ".svc-staged-strange"));
    writeFileSync(join(dir, ".svc-staged-strange", "file"), "");
    tidy(dir);
    expect(existsSync(join(stage, "file"))).toBe(true);
    expect(readdirSync(dir)).toHaveLength(2);
    await withStaged(dir, async () => expect(existsSync(join(stage, "file"))).toBe(true));
  });
  expect(readdirSync(dir)).toEqual([".svc-staged-strange"]);
});

test("a stage is removed where the work in it fails", async () => {
  const dir = scratchDir();
  const work = withStaged(dir, async () => {
    throw new OSError("no room");
  });
  await expect(work).rejects.toThrow("no room");
  expect(readdirSync(dir)).toEqual([]);
});

test("two folders change places, or both stay and the error says what else leads there", () => {
  const dir = scratchDir();
  const staged = join(dir, "stage", "c");
  mkdirSync(staged, { recursive: true });
  writeFileSync(join(staged, "new"), "");
  const exchange = () => exchangeFolders(staged, dir, "c", "do it by hand");
  expect(exchange).toThrow(
    new OSError(
      "the file system cannot exchange two folders in one step: collection 'c' stands as it was; do it by hand",
    ),
  );
  expect(existsSync(join(staged, "new"))).toBe(true);
  mkdirSync(join(dir, "c"));
  writeFileSync(join(dir, "c", "old"), "");
  exchange();
  expect([readdirSync(join(dir, "c")), readdirSync(staged)]).toEqual([["new"], ["old"]]);
});
