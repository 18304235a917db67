/** Stores of this process for the tests of the API. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { LocalStore } from "../../src/api/local-store.ts";
import { native, scratchDir, TestMemory } from "../fixture.ts";
import { closedAtEnd } from "../opened.ts";

/** A store on a directory, closed at the test's end; several on one directory behave like several processes. */
export async function localStore(dir = scratchDir()): Promise<LocalStore> {
  return closedAtEnd(new LocalStore(dir, await native(), "0.0.0-test"));
}

/** A store in a directory of its own. */
export async function freshStore(): Promise<{ dir: string; store: LocalStore }> {
  const dir = scratchDir();
  return { dir, store: await localStore(dir) };
}

/** Indexes a folder of so many files with one definition each into the memory `dir`. Returns the folder. */
export async function indexFiles(dir: string, count: number): Promise<string> {
  const root = scratchDir();
  for (let i = 0; i < count; i++) writeFileSync(join(root, `${i}.ts`), `export const value${i} = ${i};\n`);
  const m = await TestMemory.open(dir, root);
  await m.call("index_repo", { path: root });
  await m.close();
  return root;
}
