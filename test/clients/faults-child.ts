/**
 * Runs by itself: fails or ends a change of a client's file at each call that changes the disk, and prints what does not
 * hold afterwards, as JSON. A disk that is full fails one call; a process that is killed makes no further one.
 */
import * as fs from "node:fs";
import { basename, dirname, join } from "node:path";
import { plugin } from "bun";
import type { Change, ClientSite } from "../../src/clients/client.ts";

let count = 0;
let failAt = 0;
let isDead = false;

function step(): void {
  count += 1;
  if (count === failAt || (isDead && failAt > 0 && count > failAt)) {
    throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC", syscall: "write" });
  }
}

const { openSync, writeSync, renameSync, unlinkSync, mkdirSync, rmdirSync } = fs;
const wrapped: Record<string, unknown> = { ...fs };
for (const [name, call] of Object.entries({ openSync, writeSync, renameSync, unlinkSync, mkdirSync, rmdirSync })) {
  wrapped[name] = (...args: unknown[]) => {
    const isRead = name === "openSync" && (Number(args[1]) & fs.constants.O_CREAT) === 0;
    const isLock = name === "openSync" && String(args[0]).endsWith(".lock");
    if (!isRead && !isLock) step();
    return (call as (...given: unknown[]) => unknown)(...args);
  };
}
plugin({
  name: "faults",
  setup(build) {
    build.module("faults:fs", () => ({ exports: { ...wrapped, default: wrapped }, loader: "object" }));
    build.onLoad({ filter: /\/src\/(durable|clients\/.*)\.ts$/ }, async ({ path }) => ({
      contents: (await Bun.file(path).text()).replace(/from "node:fs"/g, 'from "faults:fs"'),
      loader: "ts",
    }));
  },
});

const { applyChange } = await import("../../src/clients/apply.ts");
const { findClient } = await import("../../src/clients/clients.ts");
const { planInstall, planUninstall } = await import("../../src/clients/plan.ts");
const root = fs.realpathSync(process.argv[2]!);
const cursor = findClient("cursor");
const server = { command: "/opt/svc", args: ["mcp"] };
const TEXT = '{\n  "a": 1\n}\n';

/** Each: the text before, what was done before, and what is done. */
const install = (site: ClientSite) => planInstall(cursor, "user", "svc", server, site);
const uninstall = (site: ClientSite) => planUninstall(cursor, "user", "svc", site);
const moved = (site: ClientSite) => planInstall(cursor, "user", "svc", { ...server, command: "/usr/svc" }, site);
const SCENES: [string, string | undefined, ((site: ClientSite) => Change)[], (site: ClientSite) => Change][] = [
  ["create", undefined, [], install],
  ["add", TEXT, [], install],
  ["replace", TEXT, [install], moved],
  ["remove", TEXT, [install], uninstall],
  ["delete", undefined, [install], uninstall],
];

const wrong: string[] = [];
let runs = 0;

async function run(scene: (typeof SCENES)[number], at: number, dead: boolean): Promise<boolean> {
  const [name, text, before, change] = scene;
  const home = fs.mkdtempSync(join(root, "home-"));
  const site: ClientSite = { home, platform: "linux", env: {} };
  const file = join(home, ".cursor", "mcp.json");
  const read = () => (fs.existsSync(file) ? fs.readFileSync(file, "utf8") : undefined);
  const names = () => (fs.existsSync(dirname(file)) ? fs.readdirSync(dirname(file)).sort().join() : "");
  fs.mkdirSync(join(home, ".svc"));
  if (text !== undefined) {
    fs.mkdirSync(dirname(file));
    fs.writeFileSync(file, text);
  }
  for (const earlier of before) await applyChange(earlier(site));
  const [bytes, beside] = [read(), names()];
  const planned = change(site);
  const after = planned.after && Buffer.from(planned.after).toString();
  [count, failAt, isDead] = [0, at, dead];
  let message = "";
  try {
    await applyChange(planned);
  } catch (error) {
    message = (error as Error).message;
  }
  failAt = 0;
  const isHit = count >= at;
  runs += 1;
  const complain = (what: string) => wrong.push(`${name}, ${dead ? "killed" : "full"} at call ${at}: ${what}`);
  const now = read();
  if (now !== bytes && now !== after) complain(`the file is ${now}`);
  if (isHit && !dead && now === bytes && bytes !== after) {
    if (message === "") complain("no error, and nothing done");
    if (names() !== beside) complain(`left ${names()} of ${beside}`);
    if (message !== "" && !/^cannot \w+ .*(mcp|clients|cursor|svc).*: ENOSPC.*free some space/.test(message))
      complain(message);
  }
  // Whatever it left, the next ones end well.
  await applyChange(install(site));
  await applyChange(uninstall(site));
  if (read() !== text) complain(`in the end the file is ${read()}`);
  const left = names()
    .split(",")
    .filter((one) => one !== "" && one !== basename(file));
  if (left.length > 0) complain(`in the end there is ${left}`);
  return isHit;
}

for (const scene of SCENES) {
  for (const dead of [false, true]) {
    for (let at = 1; await run(scene, at, dead); at++);
  }
}
console.log(JSON.stringify({ runs, wrong }));
