/**
 * Every test ends with the complete check of what it stored. A collection that a test opened is verified before it is
 * closed, saved or not, and at the test's end once more from disk: checksums, and the invariants in memory. What the
 * tests of a file share is verified at the file's end.
 */
import { dlopen, FFIType, type Pointer } from "bun:ffi";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Status } from "../ffi/status.ts";
import type { NativeCollection } from "../ffi/ty_collection.ts";
import type { Environment } from "../ffi/ty_runtime.ts";
import { newError, toError } from "../ffi/ty_symbols.ts";
import { isInTest } from "./opened.ts";

/** Open collections and their folders: of the test, and those that the tests of a file share. */
const open = new Map<NativeCollection, string>();
const shared = new Map<NativeCollection, string>();
/** Folders of collections that were opened since the last test ended. */
const folders = new Set<string>();
const damagedFolders: string[] = [];
const failures: string[] = [];
let openSaved: ((dir: string) => NativeCollection) | undefined;
let verify: (collection: Pointer) => string | undefined;

/** The folder or its contents are damaged on purpose: they are not checked from now on. */
export function damaged(folder: string): void {
  damagedFolders.push(folder);
}

/** Has every collection of the environment checked by the runtime that it was opened from, then by the validator. */
export function checkCollections(env: Environment, runtimePath: string, validatorPath: string): void {
  const { symbols: runtime } = dlopen(runtimePath, {
    ty_verify: { args: [FFIType.ptr, FFIType.ptr, FFIType.ptr], returns: FFIType.i32 },
  });
  const { symbols: validator } = dlopen(validatorPath, {
    ty_validate: { args: [FFIType.ptr, FFIType.ptr], returns: FFIType.i32 },
  });
  verify = (collection) => {
    const error = newError();
    const code = runtime.ty_verify(collection, null, error) || validator.ty_validate(collection, error);
    // Its folder was removed or holds another collection by now: this one is gone.
    const isGone = code === Status.NOT_FOUND || code === Status.INVALID;
    return code === Status.OK || isGone ? undefined : toError(code, error).message;
  };
  const [create, reopen] = [env.newCollection.bind(env), env.openCollection.bind(env)];
  openSaved = reopen;
  env.newCollection = (dir, schema) => noted(create(dir, schema), dir);
  env.openCollection = (dir) => noted(reopen(dir), dir);
}

function noted(collection: NativeCollection, dir: string): NativeCollection {
  const close = collection.close.bind(collection);
  const opened = isInTest() ? open : shared;
  opened.set(collection, dir);
  folders.add(dir);
  collection.close = () => {
    check(collection, dir, "before it was closed");
    opened.delete(collection);
    close();
  };
  return collection;
}

function check(collection: NativeCollection, dir: string, when: string): void {
  const { pointer } = collection as unknown as { pointer: Pointer | undefined };
  if (pointer === undefined || isDamaged(dir)) return;
  const said = verify(pointer);
  if (said !== undefined) fail(`${dir}, ${when}: ${said}`, dir);
}

/** Reports a folder once: later tests did not damage it. */
function fail(sentence: string, dir: string): void {
  failures.push(sentence);
  damaged(dir);
}

function isDamaged(dir: string): boolean {
  return damagedFolders.some((folder) => dir.startsWith(folder));
}

/** What is wrong with the collections of the test that ended: when they were closed, and as the disk has them. */
export function endOfTest(): string[] {
  checkOpen(open);
  return checkSaved();
}

/** The same for the collections that the tests of a file shared. After each test it took most of the time of the tests. */
export function endOfFile(): string[] {
  checkOpen(shared);
  return checkSaved();
}

/** Checks each collection once: those that stay open are not checked again after every test of every later file. */
function checkOpen(left: Map<NativeCollection, string>): void {
  for (const [collection, dir] of left) check(collection, dir, "still open at the end");
  left.clear();
}

function checkSaved(): string[] {
  for (const dir of folders) {
    if (isDamaged(dir) || !existsSync(join(dir, "collection.json"))) continue;
    try {
      const saved = openSaved!(dir);
      check(saved, dir, "as saved");
      saved.close();
    } catch (error) {
      fail(`${dir}, as saved: ${(error as Error).message}`, dir);
    }
  }
  folders.clear();
  return failures.splice(0);
}
