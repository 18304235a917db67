/** What npm's `add-mcp` knows of fifteen of the clients: the same files, the same entries, and each reads the other's. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { applyChange } from "../../src/clients/apply.ts";
import type { Client, ClientSite, Scope } from "../../src/clients/client.ts";
import { CLIENTS } from "../../src/clients/clients.ts";
import type { PlainObject } from "../../src/clients/edit/edit.ts";
import { valueAt } from "../../src/clients/edit/values.ts";
import { planInstall, planUninstall, readEntry } from "../../src/clients/plan.ts";
import { newSite, SERVER } from "./site.ts";

/** Their names where they are others; Cline's is of its newest place. */
const THEIRS: Record<string, string> = {
  cline: "cline-cli",
  "copilot-cli": "github-copilot-cli",
  kiro: "kiro-cli",
  kilo: "kilo-code",
};
/** Those that it does not know. */
const UNKNOWN = ["qwen-code", "devin", "junie", "amp"];
/** Those of which it knows the user's file only. */
const USER_ONLY = ["antigravity"];
const KNOWN = CLIENTS.filter(({ id }) => !UNKNOWN.includes(id)).map((client) =>
  USER_ONLY.includes(client.id) ? { ...client, scopes: ["user"] as const } : client,
);

const { site, remove } = newSite();
afterAll(remove);

const theirs = (client: Client) => THEIRS[client.id] ?? client.id;

/** What it does in a home: it asks for the folder when it is loaded, so each home is a process of its own. */
async function addMcp(where: ClientSite, call: string): Promise<Record<string, unknown>> {
  const cases = KNOWN.flatMap((client) => client.scopes.map((scope) => [client.id, theirs(client), scope]));
  const script = `
    import { upsertServer, removeServer, listInstalledServers } from "add-mcp";
    const answers = {};
    for (const [id, agent, scope] of ${JSON.stringify(cases)}) {
      const options = { local: scope === "project", cwd: ${JSON.stringify(where.project)} };
      answers[id + " " + scope] = ${call};
    }
    console.log(JSON.stringify(answers));`;
  const env = { PATH: process.env.PATH, HOME: where.home };
  const child = Bun.spawn([process.execPath, "-e", script], {
    cwd: join(import.meta.dir, "../.."),
    env,
    stderr: "inherit",
  });
  return JSON.parse(await new Response(child.stdout).text());
}

/** An entry without the fields that say what is so without them. */
function essential(entry: unknown): PlainObject {
  const { enabled, description, timeout, source, type, ...rest } = entry as Record<string, PlainObject>;
  for (const key of ["env", "envs", "environment"])
    if (rest[key] && Object.keys(rest[key]).length === 0) delete rest[key];
  // Claude Code's and Copilot CLI's entry of a project are one, with or without the type.
  return { ...rest, ...(type !== undefined && String(type) !== "stdio" && { type }) };
}

function entryIn(client: Client, file: string): unknown {
  const document = client.notation.parse(readFileSync(file, "utf8"));
  return valueAt(document, [...client.path(document, "svc"), "svc"]);
}

const each = (test: (client: Client, scope: Scope, key: string) => void) => {
  for (const client of KNOWN) for (const scope of client.scopes) test(client, scope, `${client.id} ${scope}`);
};

let written: Record<string, { success: boolean; path: string }>;
beforeAll(async () => {
  mkdirSync(join(site.home, ".config"));
  const config = JSON.stringify({ command: SERVER.command, args: SERVER.args });
  written = (await addMcp(site, `upsertServer(agent, "svc", ${config}, options)`)) as typeof written;
});

test("files and entries are those that it writes", async () => {
  const mine = newSite();
  each((client, scope, key) => {
    const { success, path } = written[key]!;
    expect([key, success]).toEqual([key, true]);
    expect(readEntry(client, scope, "svc", site)).toEqual({
      state: "present",
      server: SERVER,
      isOurs: true,
      disabled: false,
      file: path,
    });
    const change = planInstall(client, scope, "svc", SERVER, mine.site);
    expect(change.file).toBe(path.replace(site.home, mine.site.home).replace(site.project, mine.site.project));
    const document = client.notation.parse(Buffer.from(change.after!).toString());
    const entry = valueAt(document, [...client.path(document, "svc"), "svc"]);
    const expected = essential(entryIn(client, path));
    expect([key, essential(entry)]).toEqual([key, expected]);
    if (["vscode", "goose"].includes(client.id)) expect(entry).toMatchObject({ type: "stdio" });
  });
  mine.remove();
});

test("it finds what an install wrote, and an uninstall removes what it wrote", async () => {
  const mine = newSite();
  mkdirSync(join(mine.site.home, ".claude")); // it looks for the folder
  for (const client of KNOWN) {
    for (const scope of client.scopes) await applyChange(planInstall(client, scope, "svc", SERVER, mine.site));
  }
  const found = await addMcp(
    mine.site,
    `(await listInstalledServers({ global: scope === "user", agents: [agent], cwd: options.cwd }))
      .map(({ servers }) => servers.map(({ serverName }) => serverName))`,
  );
  each((_client, _scope, key) => expect([key, found[key]]).toEqual([key, [["svc"]]]));
  for (const client of KNOWN) {
    for (const scope of client.scopes) {
      await applyChange(planUninstall(client, scope, "svc", site));
      expect(readEntry(client, scope, "svc", site).state).toBe("absent");
    }
  }
  mine.remove();
});
