/**
 * docs/team.md, each of its commands in the home that it is for: one server and five laptops without a login, whose MCP
 * clients write and search while the server is started again and a token revoked.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { differs } from "../docs/compare.ts";
import { readPage } from "../docs/markdown.ts";
import { readSteps, type Step } from "../docs/shell.ts";
import { ended } from "../ended.ts";
import { freePort } from "../free-port.ts";
import { emptyHome, type Home, ROOT, SVC } from "./home.ts";

const PLACES = /^not run: (on the server|on a laptop); test\/e2e\/team\.test\.ts runs it$/;

/** A block of the page, where it runs, and what it prints. */
interface Part {
  readonly place: string;
  readonly code: string;
  readonly answer: string | undefined;
}

const { blocks } = readPage(readFileSync(join(ROOT, "docs/team.md"), "utf8"));
const parts: Part[] = blocks.flatMap(({ language, remark = "", code }, i) => {
  const place = PLACES.exec(remark)?.[1];
  if (language !== "sh" || place === undefined) return [];
  const next = blocks[i + 1];
  return [{ place, code, answer: next?.language === "text" ? next.code : undefined }];
});

/** The only block with these words. */
function part(words: string): Part {
  const found = parts.filter(({ code }) => code.includes(words));
  if (found.length !== 1) throw new Error(`${found.length} blocks of docs/team.md have '${words}'`);
  return found[0]!;
}

let port: number;
const here = (text: string) =>
  text.replaceAll(/(team\.example\.org|0\.0\.0\.0)(?=[: ])/g, "127.0.0.1").replaceAll("8471", String(port));

const homeOf = (): Home => {
  const env = emptyHome();
  mkdirSync(join(env.HOME!, ".cursor"));
  return { HOME: env.HOME!, NO_COLOR: "1", PATH: `${dirname(SVC)}:${env.PATH}` };
};

const shell = (env: Home, source: string) =>
  ended(Bun.spawn(["sh", "-euc", source], { env, cwd: env.HOME!, stdin: "ignore", stdout: "pipe", stderr: "pipe" }));

/** Runs a step, which must succeed and print what the page says. */
async function run(
  env: Home,
  { source, claim }: Pick<Step, "source" | "claim">,
): Promise<{ out: string; err: string }> {
  const { code, out, err } = await shell(env, here(source));
  expect({ source, code, err: code === 0 ? "" : err }).toEqual({ source, code: 0, err: "" });
  if (claim !== undefined) expect(differs(claim, out.trim().replace(/\s+/g, " "))).toBeUndefined();
  return { out, err };
}

const server = homeOf();
let serving: Bun.Subprocess<"ignore", "pipe", "ignore">;

/** Starts the server as the page does, and waits until it listens. */
async function serve(): Promise<string> {
  const { code } = part("svc serve --host");
  serving = Bun.spawn(["sh", "-euc", `exec ${here(code)}`], {
    ...{ env: server, cwd: server.HOME!, stdin: "ignore", stdout: "pipe", stderr: "ignore" },
  });
  const { value } = await serving.stdout.getReader().read();
  return new TextDecoder().decode(value);
}

/** Ends it in order. */
async function stop(): Promise<void> {
  serving.kill("SIGTERM");
  expect(await serving.exited).toBe(0);
}

/** A person: a laptop, the line that was sent, and the MCP client. */
class Person {
  readonly home = homeOf();
  line = "";
  readonly client = new Client({ name: "cursor-vscode", version: "1" });

  /** Starts what the configuration of Cursor names, as Cursor does. */
  async open(): Promise<void> {
    const { command, args } = JSON.parse(readFileSync(join(this.home.HOME!, ".cursor/mcp.json"), "utf8")).mcpServers
      .svc;
    await this.client.connect(new StdioClientTransport({ command, args, env: this.home, stderr: "ignore" }));
  }

  async call(name: string, args: object): Promise<string> {
    const answer = await this.client.callTool({ name, arguments: args as Record<string, unknown> });
    return (answer.content as { text: string }[])[0]!.text;
  }

  add(text: string): Promise<string> {
    return this.call("svc_add", { collection: "team", texts: [text] });
  }

  find(query: string): Promise<string> {
    return this.call("svc_search", { collection: "team", query, top_k: 1 });
  }
}

const people = new Map<string, Person>();
const person = (name: string) => people.get(name)!;

beforeAll(async () => {
  port = freePort();
});
afterAll(async () => {
  for (const { client } of people.values()) await client.close();
  serving?.kill();
  await serving?.exited;
});

test("every command of the page is run here", () => {
  const commands = blocks.filter(({ language }) => language === "sh");
  expect(commands.filter(({ remark = "" }) => !PLACES.test(remark))).toEqual([]);
  const used = ["svc login", "svc serve invite", "svc serve --host", "svc join", "svc mem history", "token revoke"];
  expect(new Set(used.map(part)).size).toBe(commands.length);
});

describe("a team of five", () => {
  test("is invited before the first start", async () => {
    for (const step of readSteps(part("svc login").code)) await run(server, step);
    const { code, answer } = part("svc serve invite");
    for (const step of readSteps(code)) {
      const { out, err } = await run(server, step);
      expect(differs(answer!, out + err)).toBeUndefined();
      const someone = new Person();
      someone.line = out.trim();
      people.set(/invite (\w+)/.exec(step.source)![1]!, someone);
    }
    expect([...people.keys()]).toEqual(["ada", "ben", "cleo", "dan", "eve"]);
  });

  test("finds the server listening", async () => {
    expect(differs(here(part("svc serve --host").answer!), await serve())).toBeUndefined();
  });

  test("joins with one line each, without a login", async () => {
    const { code, answer } = part("svc join");
    for (const { line, home } of people.values()) {
      // What was sent is what the page shows.
      expect(differs(code, line)).toBeUndefined();
      const { out, err } = await run(home, { source: line, claim: undefined });
      expect(differs(answer!, out + err)).toBeUndefined();
      expect(readdirSync(join(home.HOME!, ".svc"))).not.toContain("license.jwt");
    }
  });

  test("writes and searches through MCP clients", async () => {
    await Promise.all([...people.values()].map((each) => each.open()));
    const notes = { ada: "The kettle is broken.", ben: "We deploy on Tuesdays.", cleo: "The printer is upstairs." };
    for (const [name, note] of Object.entries({ ...notes, eve: "The door code changed." }))
      expect(await person(name).add(note)).toContain('"added":1');
    expect(await person("dan").add("I may only read.")).toContain("PermissionError");
    for (const each of people.values()) expect(await each.find("what is broken")).toContain("The kettle is broken.");
    expect(await person("cleo").call("svc_add", { collection: "private", texts: ["x"] })).toContain("PermissionError");
  });

  test("goes on with open clients after the server was started again", async () => {
    await stop();
    expect(await person("ada").find("what is broken")).toContain("cannot connect to");
    await serve();
    for (const each of people.values()) expect(await each.find("what is broken")).toContain("The kettle is broken.");
    expect(await person("ben").add("The server was started again.")).toContain('"added":1');
    expect(await person("dan").find("was the server started")).toContain("The server was started again.");
  });

  test("sees in the history who wrote", async () => {
    for (const step of readSteps(part("svc mem history").code)) await run(server, step);
    const { out } = await shell(server, "svc mem history team");
    for (const name of ["ada", "ben", "cleo", "eve"]) expect(out).toContain(`${name} (cursor`);
    expect(out).not.toContain("dan");
  });

  test("loses a member at once, on an open connection", async () => {
    for (const step of readSteps(part("token revoke").code)) await run(server, step);
    expect(await person("eve").find("what is broken")).toContain("PermissionError");
    expect(await person("eve").add("I am still here.")).toContain("PermissionError");
    expect(await person("ada").find("what is broken")).toContain("The kettle is broken.");
  });
});
