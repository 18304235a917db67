/**
 * Loaded before main.ts: counts the steps of a run that another process could see, and kills the process before the
 * step KILL_AT. Steps are calls that change a folder or a file, statements of the ledger, and both ends of requests.
 * Without KILL_AT the steps are appended to the file STEPS_LOG, a line each.
 */
import { Database } from "bun:sqlite";
import * as crypto from "node:crypto";
import * as fs from "node:fs";
import { basename } from "node:path";
import { promisify } from "node:util";
import { plugin } from "bun";
import { step } from "../../kill-step.ts";

const { openSync, writeSync, renameSync, linkSync, unlinkSync, mkdirSync, rmSync } = fs;
const CHANGES = { openSync, writeSync, renameSync, linkSync, unlinkSync, mkdirSync, rmSync };

const wrapped: Record<string, unknown> = { ...fs };
for (const [name, change] of Object.entries(CHANGES)) {
  const call = change as (...args: unknown[]) => unknown;
  wrapped[name] = (...args: unknown[]) => {
    if (changes(name, args)) step(`${name} ${typeof args[0] === "number" ? "" : nameOf(String(args[0]))}`.trim());
    return call(...args);
  };
}

/** Opening to read changes nothing, nor does making what is there, or what is printed. */
function changes(name: string, [first, second]: unknown[]): boolean {
  if (name === "openSync") return (Number(second) & fs.constants.O_CREAT) !== 0 && !fs.existsSync(String(first));
  if (name === "mkdirSync") return !fs.existsSync(String(first));
  return name !== "writeSync" || Number(first) > 2;
}

/** Random parts would make the steps of two runs look different. */
function nameOf(path: string): string {
  return basename(path).replace(/[0-9a-f]{8,}(-[0-9a-f-]+)?/, "*");
}

const { fetch } = globalThis;
globalThis.fetch = Object.assign(
  async (...args: Parameters<typeof fetch>) => {
    const { pathname } = new URL(String(args[0]));
    const path = pathname.split("/").slice(-2).join("/");
    step(`ask ${path}`);
    const answer = await fetch(...args);
    step(`answered ${path}`);
    return answer;
  },
  { preconnect: fetch.preconnect },
);

const { query } = Database.prototype;
const counted = new WeakSet<object>();
Database.prototype.query = function (this: Database, sql: string) {
  const statement = query.call(this, sql);
  const { run } = statement;
  if (!counted.has(statement)) {
    counted.add(statement);
    statement.run = (...args: Parameters<typeof run>) => {
      step(`ledger ${sql.split(" ").slice(0, 3).join(" ")}`);
      return run.apply(statement, args);
    };
  }
  return statement;
} as typeof query;

/** Making a key takes half a second, and is not a step. */
const keyPair = async () => ({ privateKey: crypto.createPrivateKey(process.env.LICENSE_KEY_PEM!) });

plugin({
  name: "kill steps",
  setup(build) {
    build.module("kill-steps:crypto", () => {
      const generateKeyPair = Object.assign(() => {}, { [promisify.custom]: keyPair });
      return { exports: { ...crypto, generateKeyPair }, loader: "object" };
    });
    build.module("kill-steps:fs", () => ({ exports: { ...wrapped, default: wrapped }, loader: "object" }));
    build.onLoad({ filter: /\/src\/(durable|trust\/.*|cli\/.*)\.ts$/ }, async ({ path }) => ({
      contents: (await Bun.file(path).text()).replace(/from "node:(fs|crypto)"/g, 'from "kill-steps:$1"'),
      loader: "ts",
    }));
  },
});
