/** The hooks of clients, run as these do: the command of their file, in a shell, with the JSON of their documentation. */
import { beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js";
import type { HookEvent } from "../../src/clients/client.ts";
import { contextOf, inputOf } from "../cli/mcp/hooks/fixtures.ts";
import { ended } from "../ended.ts";
import { asPlainUser, copyOfHome, emptyHome, type Home, Session, SVC, signedIn, svc } from "./home.ts";

const CLIENTS = ["claude-code", "codex", "gemini-cli"] as const;
const FILES = {
  "claude-code": ".claude/settings.json",
  codex: ".codex/hooks.json",
  "gemini-cli": ".gemini/settings.json",
};
const EVENTS: Record<HookEvent, string[]> = {
  "session-start": ["SessionStart"],
  prompt: ["UserPromptSubmit", "BeforeAgent"],
  stop: ["Stop", "AfterAgent"],
};
const NOTE = "Marek owns the billing cron; ask him before you change its schedule.";

let env: Home;
beforeAll(async () => {
  env = await signedIn();
  const names = CLIENTS.flatMap((id) => ["--client", id]);
  const installed = await svc(env, ["mcp", "install", ...names, "--hooks", "--instructions", "--json"]);
  expect(installed).toMatchObject({ code: 0 });
  for (const { hooks, instructions } of JSON.parse(installed.out).clients)
    expect([hooks.action, instructions.action]).toEqual([expect.stringMatching(/add|create/), "create"]);
  await svc(env, ["mem", "add", "notes", NOTE, "--metadata", '{"kind":"decision"}']);
});

/** The command of an event, from the client's file. */
function commandOf(client: (typeof CLIENTS)[number], event: HookEvent): string {
  const { hooks } = JSON.parse(readFileSync(join(env.HOME!, FILES[client]), "utf8"));
  return EVENTS[event].flatMap((name) => hooks[name] ?? [])[0].hooks[0].command;
}

const run = (command: string, input: string, cwd = env.HOME!) =>
  ended(Bun.spawn(["sh", "-c", command], { env, cwd, stdin: Buffer.from(input), stdout: "pipe", stderr: "pipe" }));

const sessionFiles = () => readdirSync(join(env.SVC_HOME!, "hooks")).map((name) => join(env.SVC_HOME!, "hooks", name));

describe.each(CLIENTS)("%s", (client) => {
  const ask = async (event: HookEvent, fields: object = {}) => {
    const { code, out, err } = await run(commandOf(client, event), inputOf(client, event, env.HOME!, fields));
    expect([code, err]).toEqual([0, ""]);
    return contextOf(client, event, out);
  };

  test("a session has the brief, a prompt its note, and a turn's end a reminder, once", async () => {
    expect(await ask("stop")).toBeUndefined();
    expect(await ask("session-start")).toContain(NOTE);
    expect(await ask("prompt")).toBeUndefined();
    const found = await ask("prompt", { prompt: "Who owns the billing cron?" });
    expect(found).toContain(`collection notes, ${new Date().toISOString().slice(0, 10)}: "${NOTE}"`);
    expect(await ask("stop")).toBeUndefined();

    const earlier = Date.now() / 1000 - 3600;
    for (const file of sessionFiles()) utimesSync(file, earlier, earlier);
    const names = {
      "claude-code": "claude-code",
      codex: "codex-mcp-client",
      "gemini-cli": "gemini-cli-mcp-client-svc",
    };
    const session = await Session.of(new McpClient({ name: names[client], version: "1" }), env.HOME!, env);
    await session.call("svc_add", { collection: "own", texts: [`stored by ${client}`] });
    expect(await ask("stop", { stop_hook_active: true })).toBeUndefined();
    const twice = await Promise.all([ask("stop"), ask("stop")]);
    const [reminder] = twice.filter((one) => one !== undefined);
    expect(twice).toContain(undefined);
    expect(reminder).toContain(`collection own: "stored by ${client}"`);
    expect(reminder).not.toContain(NOTE);
    expect(await ask("stop")).toBeUndefined();

    const compacted = await ask("session-start", { source: "compact" });
    expect(compacted).toContain("The conversation was compacted");
    expect(compacted).toContain(`"stored by ${client}"`);
    for (const file of sessionFiles()) rmSync(file);
  });
});

describe("a hook ends well and is silent", () => {
  const silent = { code: 0, out: "", err: "" };
  const PROMPT = inputOf("claude-code", "prompt", "/", { prompt: "Who owns the billing cron?" });
  const START = inputOf("claude-code", "session-start", "/");
  const hook = (event: string, input: string, home = env, further: string[] = [], prefix: readonly string[] = []) =>
    svc(home, ["mcp", "hook", event, "--client", "claude-code", ...further], input, { prefix });

  test.each(["", "null", "[]", "{", '{"prompt": 1}', "\u0000", '{"prompt": "Marek"}{', `"${"x".repeat(5e6)}"`])(
    "with the input %.20s",
    async (input) => {
      expect(await hook("prompt", input)).toEqual(silent);
    },
  );

  test("without a login, a memory or an event that it knows", async () => {
    expect(await hook("prompt", PROMPT, emptyHome())).toEqual(silent);
    expect(await hook("session-start", START, emptyHome())).toEqual(silent);
    expect(await hook("prompt", PROMPT, copyOfHome({ ...env, HOME: "/" }), ["--path", "/gone"])).toEqual(silent);
    expect(await hook("other", PROMPT)).toEqual(silent);
    expect(await svc(env, ["mcp", "hook", "prompt", "--client", "zed"], PROMPT)).toEqual(silent);
    expect(await svc(env, ["mcp", "hook"], PROMPT)).toEqual(silent);
  });

  test.skipIf(asPlainUser === undefined)("with a home of another user", async () => {
    const home = copyOfHome(env);
    chmodSync(home.SVC_HOME!, 0);
    const ran = await Promise.all([
      hook("prompt", PROMPT, home, [], asPlainUser),
      hook("session-start", START, home, [], asPlainUser),
    ]);
    chmodSync(home.SVC_HOME!, 0o700);
    expect(ran).toEqual([silent, silent]);
  });

  test("with a memory that is damaged, and a home that is a file", async () => {
    const home = copyOfHome(env);
    writeFileSync(join(home.SVC_HOME!, "memory", "notes", "collection.json"), "{");
    expect(await hook("prompt", PROMPT, home)).toEqual(silent);
    const file = emptyHome();
    writeFileSync(file.SVC_HOME!, "");
    expect(await hook("session-start", START, file)).toEqual(silent);
  });

  test("with a working directory that is gone, the root, or a link", async () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-e2e-"));
    mkdirSync(join(folder, "gone"));
    symlinkSync(folder, join(folder, "link"));
    const command = `cd gone && rm -r ../gone && ${commandOf("claude-code", "prompt")}`;
    const { code, err } = await run(command, PROMPT, folder);
    expect([code, err]).toEqual([0, ""]);
    for (const cwd of ["/", join(folder, "link"), join(folder, "none")]) {
      const { out, ...rest } = await hook("session-start", inputOf("claude-code", "session-start", cwd));
      expect(rest).toEqual({ code: 0, err: "" });
      expect(contextOf("claude-code", "session-start", out)).toContain(NOTE);
    }
  });

  test("on a full disk, and where its output cannot be written", async () => {
    const full = Bun.spawn(["sh", "-c", `{ ${commandOf("claude-code", "session-start")}; } > /dev/full`], {
      env,
      cwd: env.HOME!,
      stdin: Buffer.from(START),
      stdout: "pipe",
      stderr: "pipe",
    });
    if (process.platform === "linux") expect(await ended(full)).toEqual(silent);
    // No file can be written: as on a full disk, the session is not remembered.
    const limited = ["sh", "-c", 'trap "" XFSZ; ulimit -f 0; exec "$@"', "sh"];
    const home = copyOfHome(env);
    const { code, err } = await hook("session-start", START, home, [], limited);
    expect([code, err]).toEqual([0, ""]);
  });

  test("when its stdin stays open", async () => {
    const child = Bun.spawn([SVC, "mcp", "hook", "prompt", "--client", "codex"], {
      env,
      cwd: env.HOME!,
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    child.stdin.write('{"prompt":');
    child.stdin.flush();
    expect(await ended(child)).toEqual(silent);
  });
});

test("status tells what the hooks start, and an uninstall leaves nothing", async () => {
  const [one] = JSON.parse((await svc(env, ["mcp", "status", "--client", "codex", "--json"])).out).clients;
  expect(one).toMatchObject({
    hooks: { state: "present", events: ["session-start", "prompt", "stop"], this_executable: true, missing: null },
    instructions: { state: "present", current: true },
  });
  expect((await svc(env, ["mcp", "install", "--client", "codex", "--no-hooks"])).code).toBe(0);
  expect((await svc(env, ["mcp", "uninstall", "--all"])).code).toBe(0);
  expect(readdirSync(env.HOME!)).toEqual(["svc"]);
});
