/** Equal files of a repository are answered in the bytewise order of their paths, however they came into the index. */
import { expect, test } from "bun:test";
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { scratchDir, TestMemory } from "../fixture.ts";
import { random } from "../random.ts";
import { put } from "../repo/helpers.ts";

const COPY = "def charge(order):\n    return gateway.capture(order.total)\n";

const bytewise = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

async function paths(memory: TestMemory, workspace: string, query: string, more: object = {}): Promise<string[]> {
  const { hits } = await memory.call("repo_search", { workspace, query, max_bytes: 0, ...more });
  return hits.map((hit: { metadata: { path: string } }) => hit.metadata.path);
}

test("m.py and M.PY that are the same, whichever came first", async () => {
  for (const order of [
    ["m.py", "M.PY"],
    ["M.PY", "m.py"],
  ]) {
    const [memory, root] = [await TestMemory.open(), scratchDir()];
    for (const path of order) {
      put(root, path, COPY);
      await memory.call("index_repo", { path: root });
    }
    expect(await paths(memory, root, "charge an order")).toEqual(["M.PY", "m.py"]);
    await memory.close();
  }
});

test("characters beyond the basic plane are after those within it, as their bytes are", async () => {
  const [memory, root] = [await TestMemory.open(), scratchDir()];
  // Signs that are in no word: a path is a part of what is ranked.
  const names = ["m\u{10fffd}.py", "m\uf8ff.py", "m~.py", "m-.py"];
  for (const name of names) put(root, name, COPY);
  expect(await paths(memory, root, "charge an order")).toEqual(names.reverse());
  await memory.close();
});

test("more equal files than are candidates: the first of all of them", async () => {
  const [memory, root] = [await TestMemory.open(), scratchDir()];
  const signs = ["-", "+", "=", ",", "~"];
  const names = Array.from({ length: 625 }, (_, i) =>
    [125, 25, 5, 1].map((part) => signs[Math.floor(i / part) % 5]).join(""),
  ).map((name) => `copies/m${name}.py`);
  // Names that are last come first into the index.
  const first = [...names].sort(bytewise);
  for (let end = first.length; end > 0; end -= 125) {
    for (const name of first.slice(end - 125, end)) put(root, name, COPY);
    await memory.call("index_repo", { path: root });
  }
  for (let i = 0; i < 40; i++) put(root, `other/${i}.py`, `def unrelated_${i}(x):\n    return ${i} * x\n`);
  for (const query of ["charge an order", "gateway"]) {
    const found = await paths(memory, root, query);
    const more = await paths(memory, root, query, { path_hint: "copies", top_k: 150 });
    expect({ query, found, more }).toEqual({ query, found: first.slice(0, 5), more: first.slice(0, 150) });
  }
  await memory.close();
}, 60_000);

const NAMES = ["m.py", "M.PY", "M.py", "a/m.py", "A/m.py", "a/M.py", "a-b.py", "a.py", "a/b.py", "ab.py", "\uf8ff.py"];
const LONG = Array.from({ length: 130 }, (_, i) => `def step(order):\n    return ${i % 2} + order`).join("\n");
const TEXTS = [COPY, COPY, LONG, LONG, `${COPY}# capture the total\n`, "no words of any question\n"];
const QUERIES = ["charge an order", "gateway capture", "def step", "m.py", "capture totla", "???", "test of m"];

/** One random change of a repository. */
function change(root: string, files: Map<string, string>, next: () => number): void {
  const pick = <T>(list: readonly T[]) => list[Math.floor(next() * list.length)]!;
  const [kind, known] = [next(), [...files.keys()]];
  const path = next() < 0.3 ? `${pick(["x", "X", "y/z"])}/${pick(NAMES)}` : pick(NAMES);
  if (kind < 0.15 && known.length > 2) {
    const gone = pick(known);
    rmSync(join(root, gone));
    files.delete(gone);
  } else if (kind < 0.35 && known.length > 0 && !files.has(path)) {
    const from = pick(known);
    mkdirSync(dirname(join(root, path)), { recursive: true });
    renameSync(join(root, from), join(root, path));
    files.set(path, files.get(from)!);
    files.delete(from);
  } else {
    const text = pick(TEXTS);
    put(root, path, text);
    files.set(path, text);
  }
}

test.each([1, 2, 3, 4, 5, 6])(
  "a life of equal files has the answers of a fresh index: seed %d",
  async (seed) => {
    const next = random(seed);
    const [memory, root, files] = [await TestMemory.open(), scratchDir(), new Map<string, string>()];
    // A second repository of the same collection lies between the rows of the first.
    const neighbour = scratchDir();
    for (let step = 0; step < 12; step++) {
      for (let i = 0; i < 6; i++) change(root, files, next);
      await memory.call("index_repo", { path: root });
      put(neighbour, `n${step}.py`, COPY);
      await memory.call("index_repo", { path: neighbour });
      if (next() < 0.3) await memory.call("compact", { collection: "repo_symbols" });
      const collection = `fresh_${step}`;
      await memory.call("index_repo", { path: root, collection });
      for (const query of QUERIES) {
        for (const more of [{ top_k: 3 }, { top_k: 50, per_file: 3 }, { top_k: 4, path_hint: "{a,A}/*" }]) {
          const ask = { workspace: root, query, max_bytes: 0, ...more };
          const [lived, fresh] = [
            await memory.call("repo_search", ask),
            await memory.call("repo_search", { ...ask, collection }),
          ];
          const answer = JSON.stringify(lived.hits);
          if (answer !== JSON.stringify(fresh.hits) || lived.more !== fresh.more)
            throw new Error(`step ${step}, ${JSON.stringify(ask)}: ${answer} not ${JSON.stringify(fresh.hits)}`);
        }
      }
    }
    await memory.close();
  },
  120_000,
);
