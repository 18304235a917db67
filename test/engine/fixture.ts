/** Stores of this process for the engine's tests. */
import { LocalStore } from "../../src/engine/local-store.ts";
import { native, scratchDir } from "../fixture.ts";
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
