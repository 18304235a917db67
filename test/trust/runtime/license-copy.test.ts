/** The copy of the licence beside the libraries, written again after a renewal. */
import { beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { renewLicenseCopy } from "../../../src/trust/runtime/license-copy.ts";
import { newHome } from "../account/helpers.ts";
import * as f from "./fixture.ts";

let home: string;

beforeEach(async () => {
  home = newHome();
  await f.install(home, f.makeBundle(f.libs));
});

const paths = () => f.pathsOf(home);
const copy = () => readFileSync(paths().license, "utf8");

test("is replaced, 0600, and nothing is left beside it", async () => {
  const { dir } = paths();
  const before = { inside: readdirSync(dir).sort(), beside: readdirSync(dirname(dir)).sort() };
  chmodSync(paths().license, 0o666);
  await renewLicenseCopy(home, "renewed");
  expect(copy()).toBe("renewed");
  expect(statSync(paths().license).mode & 0o777).toBe(0o600);
  expect({ inside: readdirSync(dir).sort(), beside: readdirSync(dirname(dir)).sort() }).toEqual(before);
});

test("takes the place of a link and of nothing; what the link named is untouched", async () => {
  const target = join(home, "target");
  renameSync(paths().license, target);
  symlinkSync(target, paths().license);
  await renewLicenseCopy(home, "renewed");
  expect(copy()).toBe("renewed");
  expect(readFileSync(target, "utf8")).toBe(f.license.jwt);
  rmSync(paths().license);
  await renewLicenseCopy(home, "again");
  expect(copy()).toBe("again");
});

test("what a killed renewal left is not a file of the install, and the next one removes it", async () => {
  const left = join(dirname(paths().dir), ".staging-left");
  writeFileSync(left, "half");
  expect(f.failed(await f.verify(home))).toEqual([]);
  await renewLicenseCopy(home, "renewed");
  expect(existsSync(left)).toBe(false);
});

test("is not written where nothing is installed, nor through a folder that is a link", async () => {
  const { dir } = paths();
  const elsewhere = join(home, "elsewhere");
  renameSync(dir, elsewhere);
  symlinkSync(elsewhere, dir);
  await renewLicenseCopy(home, "renewed");
  expect(readFileSync(join(elsewhere, "license.jwt"), "utf8")).toBe(f.license.jwt);
  const empty = newHome();
  await renewLicenseCopy(empty, "renewed");
  expect(readdirSync(empty)).toEqual([]);
});

test("fails with the reason, without a path, where it cannot be written or others could write", async () => {
  rmSync(paths().license);
  mkdirSync(paths().license);
  const error = await renewLicenseCopy(home, "renewed").catch((failure) => failure);
  expect(error.name).toBe("OSError");
  expect(error.message).not.toContain(home);
  expect(readdirSync(dirname(paths().dir)).filter((name) => name.startsWith(".staging"))).toEqual([]);
  rmSync(paths().license, { recursive: true });
  chmodSync(paths().dir, 0o777);
  await expect(renewLicenseCopy(home, "renewed")).rejects.toThrow(/others can write to runtime/);
  expect(existsSync(paths().license)).toBe(false);
});

test("waits for an install under way, and follows it", async () => {
  const installing = f.install(home, f.makeBundle(f.libs, { release: 6 }));
  await Promise.all([installing, renewLicenseCopy(home, "renewed"), renewLicenseCopy(home, "renewed")]);
  expect(["renewed", f.license.jwt]).toContain(copy());
  expect(f.failed(await f.verify(home))).toEqual([]);
});
