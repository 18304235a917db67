/** This program's own state is never indexed and never given out, whatever it is called by and however it is found. */
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArguments } from "../../src/memory/arguments.ts";
import { Memory } from "../../src/memory/memory.ts";
import { Repositories } from "../../src/memory/repositories.ts";
import { MultigramEmbedder } from "../../src/texts/kernel.ts";
import { native, openStore, scratchDir, TestMemory } from "../fixture.ts";

/** A root with a folder `state` of files that no rule ignores, and a link to it elsewhere. */
function repository(inGit: boolean): { root: string; state: string; link: string } {
  const root = scratchDir();
  const state = join(root, "state");
  mkdirSync(join(state, "inner"), { recursive: true });
  writeFileSync(join(state, "notes.txt"), "quetzalcoatl\n");
  writeFileSync(join(state, "inner/notes.txt"), "quetzalcoatl\n");
  writeFileSync(join(root, "a.txt"), "quetzalcoatl\n");
  if (inGit)
    for (const args of [
      ["init", "-q"],
      ["add", "-Af"],
    ])
      spawnSync("git", args, { cwd: root });
  const link = join(scratchDir(), "home");
  symlinkSync(state, link);
  return { root, state, link };
}

async function memoryOf(dir: string, root: string, neverIndexed: string[]): Promise<Memory> {
  const store = await openStore(dir);
  const embedder = new MultigramEmbedder((await native()).kernel);
  const workspace = { flag: root };
  const options = { repoStore: store, embedder, workspace, persistent: true, neverIndexed };
  const repositories = async () => new Repositories(options);
  return new Memory({ store, repoStore: store, embedder, repositories, dispose: async () => {} });
}

for (const inGit of [false, true]) {
  for (const name of ["state", "link"] as const) {
    test(`${name === "link" ? "a link to the state" : "the state"}, ${inGit ? "listed by git" : "walked"}`, async () => {
      const given = repository(inGit);
      const dir = scratchDir();

      // Before it was the state, its files were indexed like others.
      const before = await TestMemory.open(dir, given.root);
      const built = await before.call("index_repo");
      const { ids } = await before.call("ids", { collection: "repo_symbols" });
      await before.close();
      expect(built.files_tracked).toBe(3);
      const inState = (ids as string[]).filter((id) => id.includes("state/"));
      expect(inState.length).toBe(2);

      const memory = await memoryOf(dir, given.root, [dir, given[name]]);
      const got = await memory.get(parseArguments("get", { collection: "repo_symbols", ids: inState }));
      expect(JSON.stringify(got)).toContain("state/notes.txt");
      expect(JSON.stringify(got)).not.toContain("quetzalcoatl");
      const call = parseArguments("index_repo", { force: true });
      expect(await memory.index_repo(call, {})).toMatchObject({ files_tracked: 1, chunks_deleted: 2 });
    });
  }
}
