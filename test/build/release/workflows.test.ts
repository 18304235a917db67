/** The workflows for GitHub: what they may do, and what they run. */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../e2e/home.ts";
import { SCRIPTS } from "./stand-ins.ts";

interface Job {
  permissions?: Record<string, string>;
  steps: { uses?: string; run?: string }[];
}
interface Workflow {
  permissions: Record<string, string>;
  jobs: Record<string, Job>;
}

const WORKFLOWS = join(ROOT, ".github/workflows");
const files = readdirSync(WORKFLOWS);
const scripts = readdirSync(SCRIPTS).filter((name) => !name.includes("."));

describe.each(files)("%s", (name) => {
  const workflow = Bun.YAML.parse(readFileSync(join(WORKFLOWS, name), "utf8")) as Workflow;
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);

  test("may do no more than it needs", () => {
    expect(workflow.permissions).toEqual({ contents: "read" });
    const more = Object.entries(workflow.jobs).filter(([, { permissions }]) => permissions !== undefined);
    const expected = { "ci.yml": [], "release.yml": ["attest", "draft", "publish"] }[name];
    expect(more.map(([job]) => job)).toEqual(expected!);
  });

  test("names the commit of each action", () => {
    for (const { uses } of steps) if (uses !== undefined) expect(uses).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
  });

  test("runs scripts of this repository, and puts no expression into a shell", () => {
    for (const { run } of steps) {
      if (run === undefined) continue;
      expect(run).toMatch(/^(?:bash|pwsh) [\w./-]+(?: [\w./-]+)*$/);
      const paths = run.split(" ").filter((word) => word.startsWith("."));
      for (const path of paths) expect(existsSync(join(ROOT, path))).toBe(true);
    }
  });
});

test.skipIf(!Bun.which("actionlint"))("actionlint finds nothing (needs actionlint)", () => {
  const { stdout, exitCode } = Bun.spawnSync(["actionlint", ...files.map((name) => join(WORKFLOWS, name))]);
  expect([stdout.toString(), exitCode]).toEqual(["", 0]);
});

test.skipIf(!Bun.which("shellcheck"))("shellcheck finds nothing in the scripts (needs shellcheck)", () => {
  const { stdout, exitCode } = Bun.spawnSync(["shellcheck", ...scripts.map((name) => join(SCRIPTS, name))]);
  expect([stdout.toString(), exitCode]).toEqual(["", 0]);
});

test("each script can be started", () => {
  for (const name of scripts) expect(statSync(join(SCRIPTS, name)).mode & 0o111).toBe(0o111);
});
