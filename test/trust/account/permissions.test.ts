/** Folders that other users can write are refused before anything in them is read or made. */
import { dlopen } from "bun:ffi";
import { expect, test } from "bun:test";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { shellPath } from "../../../src/durable.ts";
import { PermissionError } from "../../../src/errors.ts";
import { authorityPaths } from "../../../src/paths.ts";
import { ensureDevice } from "../../../src/trust/account/device.ts";
import { permissionFaults } from "../../../src/trust/account/permissions.ts";
import { licenseAnchor } from "../../../src/trust/account/trusted/anchors.ts";
import { startAuthority } from "../../../src/trust/authority/server/server.ts";
import { authorityIn, failure, LOCAL_BUILD, newHome } from "./helpers.ts";

const isRoot = process.getuid?.() === 0;
/** A group that no process of the tests belongs to. */
const FOREIGN_GROUP = 54_321;

const OPEN: [string, (path: string) => void][] = [
  ["by everyone", (path) => chmodSync(path, 0o777)],
  ["by everyone, though sticky", (path) => chmodSync(path, 0o1777)],
];
if (isRoot) {
  OPEN.push([
    "by a foreign group",
    (path) => {
      chownSync(path, 0, FOREIGN_GROUP);
      chmodSync(path, 0o770);
    },
  ]);
}

test.each(OPEN)("a home that can be written %s gets no key, and no folder of an authority", async (_, open) => {
  const home = newHome();
  open(home);
  for (const action of [() => ensureDevice(home), () => startAuthority({ home })]) {
    await failure(action, PermissionError, `others can write to SVC_HOME: run chmod go-w ${shellPath(home, home)}`);
    expect(readdirSync(home)).toEqual([]);
  }
});

test.each(OPEN)("an authority folder that can be written %s: no licence is checked or made", async (_, open) => {
  const home = newHome();
  await (await authorityIn(home)).stop();
  const { dir } = authorityPaths(home);
  expect(licenseAnchor(home, {}, LOCAL_BUILD).source).toBe("local authority");
  open(dir);
  const before = readdirSync(dir);
  for (const action of [() => licenseAnchor(home, {}, LOCAL_BUILD), () => startAuthority({ home })]) {
    await failure(action, PermissionError, `others can write to authority: run chmod go-w ${shellPath(dir, home)}`);
  }
  expect(readdirSync(dir)).toEqual(before);
});

test("an authority folder that is a link is refused, and not followed", async () => {
  const home = newHome();
  const elsewhere = newHome();
  symlinkSync(elsewhere, authorityPaths(home).dir);
  const error = await failure(() => startAuthority({ home }));
  expect(error.message).toBe("authority is a link: remove it and run 'svc login'");
  expect(readdirSync(elsewhere)).toEqual([]);
});

test("nothing is made below a folder that others can write", async () => {
  const shared = newHome();
  chmodSync(shared, 0o777);
  const home = join(shared, "svc");
  const { message } = await failure(() => ensureDevice(home));
  expect(message).toBe(
    `others can write to the folder ${shared} above SVC_HOME: move SVC_HOME elsewhere, or run chmod go-w ${shared}`,
  );
  expect(existsSync(home)).toBe(false);
  expect(Bun.spawnSync(["sh", "-c", message.split(" or run ")[1]!]).success).toBe(true);
  expect(permissionFaults(home, [])).toEqual([]);
});

test("a home open to the user's private group is not a fault, a folder below it is", async () => {
  const home = mkdtempSync(join(newHome(), "home-"));
  chmodSync(home, 0o770);
  const isPrivate = process.getgid?.() === process.getuid?.();
  expect(permissionFaults(home, [])).toHaveLength(isPrivate ? 0 : 1);
  if (isPrivate) expect((await ensureDevice(home)).id).toMatch(/^[0-9a-f]{32}$/);
  mkdirSync(join(home, "runtime"));
  chmodSync(join(home, "runtime"), 0o770);
  expect(permissionFaults(home, [join(home, "runtime")]).at(-1)).toMatch(
    /^others can write to runtime: run chmod go-w/,
  );
});

/** Gives a folder a list (acl(5)) by which another user may do all. False where the file system keeps none. */
function openToUser(path: string, user: number): boolean {
  if (process.platform !== "linux") return false;
  const ANY = 0xffff_ffff;
  const list = Buffer.alloc(4 + 5 * 8);
  list.writeUInt32LE(2, 0);
  // The owner, that user, the group, the mask, all others: tag, permissions, id.
  const entries = [
    [0x01, 7, ANY],
    [0x02, 7, user],
    [0x04, 0, ANY],
    [0x10, 7, ANY],
    [0x20, 0, ANY],
  ] as const;
  for (const [index, [tag, may, id]] of entries.entries()) {
    const at = 4 + 8 * index;
    list.writeUInt16LE(tag, at);
    list.writeUInt16LE(may, at + 2);
    list.writeUInt32LE(id, at + 4);
  }
  const { symbols, close } = dlopen("libc.so.6", {
    setxattr: { args: ["ptr", "ptr", "ptr", "u64", "i32"], returns: "i32" },
  });
  const name = Buffer.from("system.posix_acl_access\0");
  const done = symbols.setxattr(Buffer.from(`${path}\0`), name, list, list.length, 0) === 0;
  close();
  return done;
}

test.skipIf(!openToUser(newHome(), 54_321))(
  "a home open to another user by a list beside its mode is refused, and chmod closes it (needs Linux and such a file system)",
  () => {
    const home = newHome();
    openToUser(home, 54_321);
    const [fault] = permissionFaults(home, []);
    expect(fault).toMatch(/^others can write to SVC_HOME: run chmod go-w "/);
    const remedy = fault!.slice(fault!.indexOf("chmod"));
    expect(Bun.spawnSync(["sh", "-c", remedy], { env: { ...process.env, SVC_HOME: home } }).success).toBe(true);
    expect(permissionFaults(home, [])).toEqual([]);
  },
);
