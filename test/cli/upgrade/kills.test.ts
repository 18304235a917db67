/** Upgrades and ways back that are killed before each change of the disk: a whole svc is in place, and the next one tidies. */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { forEachOf } from "../../trust/account/kills.ts";
import { OWN, program, releaseOf, Scene } from "./host.ts";

const STEPS = join(import.meta.dir, "../../api/kill-steps.ts");
const CHILD = join(import.meta.dir, "kill-child.ts");
const [OLD, NEW] = [program(OWN.version).toString(), program("9.0.0").toString()];

/** Runs one in a process of its own. @returns whether it was killed */
async function run(s: Scene, way: string, more: Record<string, string>): Promise<boolean> {
  const child = Bun.spawn([process.execPath, "--preload", STEPS, CHILD, s.executable, way], {
    env: { ...s.env, TMPDIR: temporary(s), KILL_FILES: "durable|cli/upgrade/.*|trust/runtime/releases", ...more },
    stdout: "ignore",
    stderr: "pipe",
  });
  const [stderr] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  if (child.signalCode === "SIGKILL") return true;
  if (child.exitCode !== 0) throw new Error(`it ended with ${child.exitCode}: ${stderr}`);
  return false;
}

const temporary = (s: Scene) => join(s.folder, "tmp");
const inPlace = (s: Scene) => readFileSync(s.executable).toString();

/** A machine before the upgrade, or after it. */
async function prepared(way: string): Promise<Scene> {
  const s = await Scene.of({ "9.0.0": releaseOf("9.0.0") });
  mkdirSync(temporary(s));
  if (way === "back") await s.upgrade();
  return s;
}

test.each(["there", "back"])("the way %s", async (way) => {
  const whole = await prepared(way);
  const log = join(whole.folder, "steps");
  expect(await run(whole, way, { STEPS_LOG: log })).toBe(false);
  const steps = readFileSync(log, "utf8").trim().split("\n");
  expect(inPlace(whole)).toBe(way === "back" ? OLD : NEW);
  rmSync(whole.folder, { recursive: true });
  const seen = new Set<string>();
  await forEachOf([...steps.keys()], async (index) => {
    const s = await prepared(way);
    expect(await run(s, way, { KILL_AT: String(index + 1) })).toBe(true);
    const found = inPlace(s);
    expect([OLD, NEW]).toContain(found);
    seen.add(found);
    // A kill leaves a way back where the new file is in place, and the next upgrade leaves nothing else.
    if (found === NEW) {
      await s.rollBack();
      expect(inPlace(s)).toBe(OLD);
    }
    await s.upgrade();
    expect(inPlace(s)).toBe(NEW);
    const folder = join(s.folder, "bin/.svc-upgrade");
    expect(readdirSync(folder).sort()).toEqual(["lock", "svc.previous"]);
    expect(readdirSync(join(s.folder, "bin")).sort()).toEqual([".svc-upgrade", "svc"]);
    // Only a kill between two calls leaves a folder, an empty one.
    for (const name of readdirSync(temporary(s))) expect(readdirSync(join(temporary(s), name))).toEqual([]);
    expect(existsSync(join(s.folder, "bin/.svc-upgrade/trial"))).toBe(false);
    rmSync(s.folder, { recursive: true });
  });
  expect(seen.size).toBe(2);
});
