import { expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchDir } from "../../fixture.ts";
import { random } from "../../random.ts";
import { DEVELOPMENT } from "../quality/sets.ts";
import { MARKS, type Marks, marksOf, meanAt, placesOf } from "./score.ts";

const grades = new Map([
  ["a.ts", 2],
  ["b.md", 1],
]);

test("a file counts once, at its first place, and files of the highest grade are right ones", () => {
  expect(marksOf(["a.ts", "b.md"], grades)).toEqual({ ndcg: 1, at1: 1, at5: 1, at10: 1, any10: 1, mrr: 1 });
  const folded = marksOf(["b.md", "b.md", "b.md", "a.ts"], grades);
  expect(folded).toMatchObject({ at1: 0, at5: 1, at10: 1, any10: 1, mrr: 1 / 2 });
  expect(folded.ndcg).toBeCloseTo((1 + 3 / Math.log2(3)) / (3 + 1 / Math.log2(3)), 12);
  expect(marksOf(["b.md"], grades)).toMatchObject({ at10: 0, any10: 1, mrr: 0 });
  expect(marksOf([], grades)).toEqual({ ndcg: 0, at1: 0, at5: 0, at10: 0, any10: 0, mrr: 0 });
  const late = [...Array.from({ length: 10 }, (_, i) => `x${i}`), "a.ts"];
  expect(marksOf(late, grades)).toMatchObject({ at10: 0, mrr: 0, ndcg: 0 });
});

const script = join(DEVELOPMENT, "trees.py");
const python = existsSync(script) ? Bun.which("python3") : null;

test.skipIf(!python)("marks are those of trees.py (needs it beside the checkout, and python3)", () => {
  const dir = join(scratchDir(), "tree");
  const next = random(3);
  const pick = (count: number) => Math.floor(next() * count);
  const files = Array.from({ length: 30 }, (_, i) => `src/file-${i}.ts`);
  const kinds = ["commit", "name", "file", "test"];
  const queries = Array.from({ length: 60 }, (_, i) => ({ id: `q${i}`, kind: kinds[i % 4]!, text: "" }));
  const relevant = queries.map(
    () => new Map(Array.from({ length: 1 + pick(4) }, () => [files[pick(30)]!, 1 + pick(2)])),
  );
  const rankings = queries.map(() => Array.from({ length: pick(14) }, () => files[pick(30)]!));
  mkdirSync(dir);
  const rows = (items: readonly object[]) => items.map((item) => `${JSON.stringify(item)}\n`).join("");
  writeFileSync(join(dir, "corpus.jsonl"), rows(files.map((id) => ({ id, text: "" }))));
  writeFileSync(join(dir, "queries.jsonl"), rows(queries));
  const judged = relevant.flatMap((own, i) => [...own].map(([file, grade]) => `q${i}\t${file}\t${grade}\n`));
  writeFileSync(join(dir, "qrels.tsv"), judged.join(""));
  // A window of a file is a document of its own in a run.
  const run = rankings.flatMap((list, i) => list.map((file, at) => `q${i}\t${file}#${at}\t${100 - at}\n`));
  writeFileSync(join(dir, "run.tsv"), run.join(""));
  const scored = Bun.spawnSync([python!, script, "score", dir, join(dir, "run.tsv")]);
  expect(scored.stderr.toString()).toBe("");
  const [, ...lines] = scored.stdout.toString().trim().split("\n");
  const theirs = Object.fromEntries(lines.map((line) => [line.split(/ +/)[0], line.split(/ +/).slice(1)]));
  const marks = rankings.map((list, i) => marksOf(list, relevant[i]!));
  for (const kind of [...kinds, "all"]) {
    const places =
      kind === "all"
        ? [...queries.keys()]
        : placesOf(
            queries.map((query) => query.kind),
            [kind],
          );
    const ours = MARKS.filter((mark) => mark !== "mrr").map((mark: keyof Marks) =>
      meanAt(
        marks.map((m) => m[mark]),
        places,
      ).toFixed(3),
    );
    expect([kind, ...theirs[kind]!]).toEqual([kind, `${places.length}`, ...ours]);
  }
});
