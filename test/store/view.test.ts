/** A view of a store that presents some of its collections. */
import { beforeEach, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PermissionError, ValueError } from "../../src/errors.ts";
import { type Allowance, LimitedStore } from "../../src/store/limited/view.ts";
import type { Store } from "../../src/store/store.ts";
import { openStore, scratchDir } from "../fixture.ts";

const SCHEMA = { dim: 2, partitionBy: "scope" };
const READS = () => {};

let dir: string;
let store: Store;

/** A view of the collections whose names begin with an a. */
const viewOf = (further: Partial<Allowance> = {}) =>
  new LimitedStore(store, {
    allows: (name) => name.startsWith("a"),
    refuseChanges: READS,
    chargeCollection: () => ({ keep() {}, takeBack() {} }),
    ...further,
  });

/** The error of a call that has to throw at once. */
function errorOf(call: () => unknown): Error {
  try {
    call();
  } catch (error) {
    return error as Error;
  }
  throw new Error("the call succeeded");
}

beforeEach(async () => {
  dir = scratchDir();
  store = await openStore(dir);
  for (const name of ["alpha", "amber", "beta"]) await store.create(name, SCHEMA).save();
  store.create("another", SCHEMA);
  store.create("brand-new", SCHEMA);
  mkdirSync(join(dir, "a-folder"));
});

test("lists have the allowed collections only", () => {
  const view = viewOf();
  expect(view.list()).toEqual(["alpha", "amber"]);
  expect(view.present()).toEqual(["alpha", "amber"]);
  expect(view.listed()).toEqual(["alpha", "amber"]);
  expect([...view.folders().keys()]).toEqual(["alpha", "amber"]);
  expect(view.overview().map(({ name }) => name)).toEqual(["alpha", "amber"]);
  expect(view.overview(["beta", "alpha"]).map(({ name }) => name)).toEqual(["alpha"]);
  expect(view.unsaved().map(({ name }) => name)).toEqual(["another"]);
});

test("what is not allowed is not there", () => {
  const view = viewOf();
  for (const name of ["beta", "brand-new"]) {
    expect(view.find(name)).toBeUndefined();
    expect(view.opened(name)).toBeUndefined();
    expect(() => view.open(name)).toThrow(`collection '${name}' does not exist (create it first)`);
    expect(view.absent(name).message).toBe(store.absent("never").message.replace("never", name));
    expect(view.lostSavesOf(name)).toBe(0);
  }
  // What an interrupted first save left is not shown either.
  mkdirSync(join(dir, "bits"));
  writeFileSync(join(dir, "bits", ".first-save"), "");
  expect(store.absent("bits").message).toContain("interrupted first save");
  expect(view.absent("bits").message).toBe("collection 'bits' does not exist (create it first)");
  expect(view.find("alpha")).toBe(store.find("alpha")!);
  expect(view.open("another")).toBe(store.open("another"));
  expect(view.opened("alpha")).toBe(store.open("alpha"));
  expect(() => view.open("never")).toThrow("'never' does not exist");
  expect(() => view.find("../beta")).toThrow(ValueError);
});

test("a new name outside of it is refused without naming another", () => {
  const view = viewOf();
  store.create("Ale", SCHEMA);
  for (const name of ["beta", "bravo", "ale"]) {
    for (const create of [() => view.create(name, SCHEMA), () => view.createWith(name, SCHEMA, async () => 1)]) {
      const error = errorOf(create);
      expect(error).toBeInstanceOf(PermissionError);
      expect(error.message).toContain(`'${name}'`);
      expect(error.message).not.toMatch(/Ale/);
    }
  }
  expect(view.create("atlas", SCHEMA)).toBe(store.open("atlas"));
  expect(view.create("alpha", SCHEMA)).toBe(store.open("alpha"));
  expect(() => view.create("Alpha", SCHEMA)).toThrow(PermissionError); // not a name that begins with an a
});

test("where nothing may be changed, nothing is made", async () => {
  const refuseChanges = () => {
    throw new PermissionError("you may only read");
  };
  const view = viewOf({ refuseChanges });
  expect(view.refuseChanges).toThrow("only read");
  expect(view.refusal).toBe("you may only read");
  expect(() => view.create("atlas", SCHEMA)).toThrow("only read");
  expect(() => view.createWith("atlas", SCHEMA, async () => 1)).toThrow("only read");
  expect(view.open("alpha").count()).toBe(0);
  expect(viewOf().refusal).toBeUndefined();
});

test("closing a view leaves the store open, and a closed store refuses its views", async () => {
  const view = viewOf();
  await view.close();
  expect(store.open("alpha").count()).toBe(0);
  await store.close();
  expect(() => view.find("beta")).toThrow("this store is closed");
  expect(() => view.list()).toThrow("this store is closed");
});

test("a new collection is counted, one that is there or was not made is not", async () => {
  let [kept, open] = [0, 0];
  const chargeCollection = () => {
    if (kept === 2) throw new Error("too many");
    open++;
    return {
      keep() {
        open--;
        kept++;
      },
      takeBack() {
        open--;
      },
    };
  };
  const view = viewOf({ chargeCollection });
  view.create("a1", SCHEMA);
  view.create("a1", SCHEMA);
  expect(() => view.create("a2", { dim: -1 })).toThrow();
  await expect(view.createWith("a3", SCHEMA, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect([kept, open]).toEqual([1, 0]);
  await view.createWith("a4", SCHEMA, async () => {});
  expect(() => view.create("a5", SCHEMA)).toThrow("too many");
  expect(() => view.createWith("a5", SCHEMA, async () => {})).toThrow("too many");
  expect(store.opened("a5")).toBeUndefined();
  view.create("a4", SCHEMA);
  expect([kept, open]).toEqual([2, 0]);
});
