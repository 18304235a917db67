/** The npm packages with the command `svc`, installed from their files as a user does, by npm without network. */
import { beforeAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SERVER_ARGS } from "../../../src/build/release/mcpb.ts";
import { npmMainPackage, npmPlatformPackage } from "../../../src/build/release/npm.ts";
import { projectOf } from "../../../src/build/release/project.ts";
import { buildInfo } from "../../../src/build-info.ts";
import { platformTag } from "../../../src/paths.ts";
import { NPM_PACKAGE, REGISTRY_NAME } from "../../../src/published.ts";
import { emptyHome, type Home, ROOT, SVC } from "../../e2e/home.ts";
import { type Ended, ended } from "../../ended.ts";
import { largeDir } from "../../fixture.ts";

const tag = platformTag()!;
const project = projectOf(ROOT, "1.2.3");
const folder = join(largeDir(), "project");
const env: Home = { ...emptyHome(), npm_config_offline: "true", npm_config_update_notifier: "false" };
const platformFolder = join(folder, "node_modules", `${NPM_PACKAGE}-${process.platform}-${process.arch}`);
const launcher = join(folder, "node_modules/.bin/svc");

function run(command: string[], input = ""): Promise<Ended> {
  const child = Bun.spawn(command, { cwd: folder, env, stdin: Buffer.from(input), stdout: "pipe", stderr: "pipe" });
  return ended(child);
}

beforeAll(async () => {
  // To compress the executable takes long, and changes nothing here.
  const packages = [npmPlatformPackage(project, tag, readFileSync(SVC), 0), npmMainPackage(project, [tag])];
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), "{}");
  for (const [name, bytes] of packages) writeFileSync(join(folder, "..", name), bytes);
  const files = packages.map(([name]) => `../${name}`);
  const { code, err } = await run(["npm", "install", "--no-audit", "--no-fund", ...files]);
  expect([code, err]).toEqual([0, ""]);
}, 120_000);

test("npm installs them from their files, without network and without running a script", () => {
  expect(readdirSync(folder).sort()).toEqual(["node_modules", "package-lock.json", "package.json"]);
  expect(readFileSync(join(platformFolder, "svc")).equals(readFileSync(SVC))).toBe(true);
  expect(statSync(join(platformFolder, "svc")).mode & 0o111).toBe(0o111);
  const main = JSON.parse(readFileSync(join(folder, "node_modules", NPM_PACKAGE, "package.json"), "utf8"));
  expect(main).toMatchObject({ version: "1.2.3", mcpName: REGISTRY_NAME, bin: { svc: "bin/svc" } });
  expect(main.scripts).toBeUndefined();
});

test("npx starts svc", async () => {
  const { code, out, err } = await run(["npx", "svc", "version"]);
  expect([code, err]).toEqual([0, ""]);
  expect(out).toContain(buildInfo().version);
});

test("the launcher passes stdin, stdout, stderr and the exit code on", async () => {
  const request = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const { code, out } = await run([launcher, "mcp"], `${JSON.stringify(request)}\n`);
  expect([code, JSON.parse(out).result.tools.length]).toEqual([0, 19]);
  const wrong = await run([launcher, "no-such-command"]);
  expect([wrong.code, wrong.out]).toEqual([2, ""]);
  expect(wrong.err).toContain("no-such-command");
});

test.each(["SIGTERM", "SIGINT"] as const)("the launcher passes %s on, and ends as svc ends", async (signal) => {
  const child = Bun.spawn([launcher, "mcp"], { cwd: folder, env, stdin: "pipe", stdout: "pipe" });
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })}\n`);
  child.stdin.flush();
  // svc runs from its first answer on.
  await child.stdout.getReader().read();
  child.kill(signal);
  expect([await child.exited, child.signalCode]).toEqual([130, null]);
});

test("a Node that aborts where execve fails does not, and one that throws starts svc in a process of its own", async () => {
  const path = join(platformFolder, "svc");
  const preload = join(folder, "..", "execve.cjs");
  const start = (execve: string) => {
    writeFileSync(preload, `process.execve = () => { ${execve}; };`);
    return run(["node", "-r", preload, launcher, "--version"]);
  };
  chmodSync(path, 0o644);
  expect(await start("process.abort()")).toEqual({
    code: 1,
    out: "",
    err: `svc: ${path} cannot be started: the file is not executable, or its file system is mounted with noexec\n`,
  });
  chmodSync(path, 0o755);
  expect(await start('throw new Error("EPERM")')).toMatchObject({ code: 0, err: "" });
});

test("the page on npm has an entry for clients that starts this package as a bundle does", () => {
  const readme = readFileSync(join(folder, "node_modules", NPM_PACKAGE, "README.md"), "utf8");
  const [, block] = /```json\n(.*?)```/s.exec(readme)!;
  const args = ["-y", NPM_PACKAGE, ...SERVER_ARGS];
  expect(JSON.parse(block!)).toEqual({ mcpServers: { svc: { command: "npx", args } } });
});

test("a launcher whose svc is killed ends by the same signal", async () => {
  writeFileSync(join(platformFolder, "svc"), "#!/bin/sh\nkill -KILL $$\n");
  const child = Bun.spawn([launcher], { cwd: folder, env });
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
});

test("without the platform's package it says which one is missing, and on a platform without one that there is none", async () => {
  rmSync(platformFolder, { recursive: true });
  expect(await run([launcher, "version"])).toEqual({
    code: 1,
    out: "",
    err: expect.stringMatching(/^svc: the package @\S+ is missing: install @\S+ again on this machine, .*\n$/),
  });
  const other = [
    "node",
    "-e",
    `Object.defineProperty(process, "arch", { value: "ppc64" }); require(${JSON.stringify(launcher)})`,
  ];
  const { code, err } = await run(other);
  expect([code, err]).toEqual([1, expect.stringMatching(/^svc: there is no svc for \w+ on ppc64, only @\S+\n$/)]);
});
