/** What the doctor advises where a disk is full: the variable that moves what lies on it. Needs a file system of its own. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { checkHome } from "../../../src/cli/doctor/home.ts";
import { scratchDir } from "../../fixture.ts";
import { newHome } from "../../trust/account/helpers.ts";

const disk = scratchDir();
const small = ["-t", "tmpfs", "-o", "size=1m", "none", disk];
const mount = process.platform === "linux" ? Bun.which("mount") : null;
const umount = (...flags: string[]) => Bun.spawnSync(["umount", ...flags, disk]).success;
/** Mounting needs the right to. */
const canMount = mount !== null && Bun.spawnSync([mount, ...small]).success && umount();

beforeAll(() => {
  if (canMount) expect(Bun.spawnSync([mount!, ...small]).success).toBe(true);
});
afterAll(() => {
  if (canMount) umount("--lazy");
});

const HOME = "free some room, or move SVC_HOME: export SVC_HOME=/another/disk";
const MEMORY = "free some room, or move the memory: export SVC_MEMORY_PATH=/another/disk/memory (or --path)";

/** The remedies of what is full, by what of svc lies there. */
function remedies(env: Record<string, string>): Record<string, string | null> {
  const full = checkHome(env).filter(({ check, level }) => check === "home.room" && level === "problem");
  return Object.fromEntries(full.map(({ message, remedy }) => [/disk of (.*)$/.exec(message)![1], remedy]));
}

test.skipIf(!canMount)("each of SVC_HOME and the memory is moved by its own variable", () => {
  const home = newHome();
  const onDisk = (name: string) => {
    mkdirSync(join(disk, name), { mode: 0o700 });
    return join(disk, name);
  };
  const memory = onDisk("memory");
  expect(remedies({ SVC_HOME: home, SVC_MEMORY_PATH: memory })).toEqual({ "the memory's folder": MEMORY });
  expect(remedies({ SVC_HOME: home, SVC_MEMORY_PATH: join(memory, "not", "there") })).toEqual({
    "the memory's folder": MEMORY,
  });
  expect(remedies({ SVC_HOME: onDisk("home") })).toEqual({ SVC_HOME: HOME });
  expect(remedies({ SVC_HOME: onDisk("home-2"), SVC_MEMORY_PATH: home })).toEqual({ SVC_HOME: HOME });
  // To move SVC_HOME would leave a memory that has a variable of its own where it is.
  expect(remedies({ SVC_HOME: disk, SVC_MEMORY_PATH: memory })).toEqual({
    SVC_HOME: HOME,
    "the memory's folder": MEMORY,
  });
  symlinkSync(memory, join(home, "memory"));
  expect(remedies({ SVC_HOME: home })).toEqual({ "the memory's folder": MEMORY });
});
