/**
 * Loaded before kill-child.ts: counts the calls of the store and the API, or of the files of src that KILL_FILES matches,
 * that change a folder or make a change of it durable, and kills the process before the step KILL_AT, from 1 on. Without
 * it the steps are appended to STEPS_LOG.
 */
import * as fs from "node:fs";
import { plugin } from "bun";
import { step } from "../kill-step.ts";

const { openSync, writeSync, renameSync, mkdirSync, mkdtempSync, rmSync, rmdirSync, fsyncSync } = fs;
const { linkSync, symlinkSync } = fs;
const FILES = process.env.KILL_FILES ?? "durable|store/.*|api/.*";
const wrapped: Record<string, unknown> = { ...fs };
for (const [name, change] of Object.entries({
  openSync,
  writeSync,
  renameSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  rmdirSync,
  fsyncSync,
  linkSync,
  symlinkSync,
})) {
  const call = change as (...args: unknown[]) => unknown;
  wrapped[name] = (...args: unknown[]) => {
    const changes = name !== "openSync" || (Number(args[1]) & fs.constants.O_CREAT) !== 0;
    if (changes) step(name);
    return call(...args);
  };
}
Object.assign(globalThis, { killStep: step });

plugin({
  name: "kill steps",
  setup(build) {
    build.module("kill-steps:fs", () => ({ exports: { ...wrapped, default: wrapped }, loader: "object" }));
    build.onLoad({ filter: new RegExp(`/src/(${FILES})\\.ts$`) }, async ({ path }) => ({
      contents: (await Bun.file(path).text()).replace(/from "node:fs"/g, 'from "kill-steps:fs"'),
      loader: "ts",
    }));
    build.onLoad({ filter: /\/ffi\/system\/calls\.ts$/ }, async ({ path }) => ({
      contents: (await Bun.file(path).text()).replace(
        "export function exchangePaths(a: string, b: string): boolean {",
        '$&\n  globalThis.killStep("exchange");',
      ),
      loader: "ts",
    }));
  },
});
