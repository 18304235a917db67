/** Hooks in clients' files: added, brought up to date and removed; all else stays byte for byte. */
import { describe, expect, test } from "bun:test";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { applyChange } from "../../src/clients/apply.ts";
import type { Client, ClientSite, HookEvent, Scope } from "../../src/clients/client.ts";
import { CLIENTS, findClient } from "../../src/clients/clients.ts";
import { hookCommand, hookProgram } from "../../src/clients/hook-command.ts";
import { planHooks, planNoHooks, readHooks } from "../../src/clients/hooks.ts";
import { planInstall, planUninstall } from "../../src/clients/plan.ts";
import { freshSites, SERVER } from "./site.ts";

const HOOKED = CLIENTS.filter(({ hooks }) => hooks !== undefined);
const claude = findClient("claude-code");
const gemini = findClient("gemini-cli");

const fresh = freshSites();

const commandOf = (program: string) => (event: HookEvent) => hookCommand(program, ["mcp", "hook", event]);
const OWN = "/opt/svc tools/svc";
const install = (client: Client, site: ClientSite, program = OWN, scope: Scope = "user") =>
  applyChange(planHooks(client, scope, commandOf(program), site));
const remove = (client: Client, site: ClientSite, scope: Scope = "user") =>
  applyChange(planNoHooks(client, scope, site));

/** The client's file with this content. */
function put(client: Client, site: ClientSite, content: string, scope: Scope = "user"): string {
  const file = client.hooks!.file(scope, site);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

const OTHER = '{ "matcher": "", "hooks": [ { "type": "command", "command": "say svc mcp hook" } ] }';
/** Contents of a file, most with other people's hooks. */
const CONTENTS: Record<string, (event: string) => string> = {
  empty: () => "",
  "an object": () => "{}",
  "white space": () => "{ \n}\n",
  "other settings": () => '{\n    "model": "x",\n    "list": [1, 2]\n}',
  "no hooks yet": () => '{\n\t"hooks": {},\n\t"x": 1\n}\n',
  "an empty list": (event) => `{\n  "hooks": {\n    "${event}": []\n  }\n}\n`,
  "another hook": (event) => `{\n  "hooks": {\n    "${event}": [\n      ${OTHER}\n    ]\n  }\n}\n`,
  "one line": (event) => `{"a":1,"hooks":{"${event}":[${OTHER}]},"b":2}`,
  "lists on one line": (event) => `{\n  "hooks": {"Other": [${OTHER}], "${event}": [${OTHER}, ${OTHER}]}\n}`,
  "another event last": (event) =>
    `{\n "hooks": {\n  "${event}": [${OTHER}],\n  "Notification": [\n   ${OTHER}\n  ]\n }\n}\n`,
  "comments and commas": (event) =>
    `// mine\n{\n  "hooks": { // here\n    /* a */ "${event}": [ // first\n      ${OTHER}, // last\n    ], // end\n  },\n}\n// end`,
  "carriage returns": (event) => `{\r\n  "hooks": {\r\n    "${event}": [\r\n      ${OTHER}\r\n    ]\r\n  }\r\n}\r\n`,
  "a byte order mark": (event) => `\ufeff{\n  "hooks": { "${event}": [${OTHER}] }\n}\n`,
};

/** Of these an object without anything is left. */
const BARE = new Set(["", CONTENTS["white space"]!("")]);

describe.each(HOOKED.map((client) => [client.id, client] as const))("%s", (_, client) => {
  const { events } = client.hooks!;

  describe.each(Object.keys(CONTENTS))("a file with %s", (name) => {
    for (const event of Object.values(events)) {
      test(`${event}: is restored, right away and after another change`, async () => {
        const site = fresh();
        const content = CONTENTS[name]!(event);
        const file = put(client, site, content);
        await install(client, site);
        const installed = readFileSync(file, "utf8");
        expect(readHooks(client, "user", site)).toMatchObject({
          state: "present",
          programs: { "session-start": OWN, prompt: OWN, stop: OWN },
        });
        for (const line of content.split(/\r?\n/))
          if (line.includes("say")) expect(installed).toContain("say svc mcp hook");
        if (content.includes("\r\n")) expect(installed.replaceAll("\r\n", "")).not.toContain("\n");

        expect(planHooks(client, "user", commandOf(OWN), site).action).toBe("none");
        await install(client, site, "/usr/bin/svc");
        expect(readFileSync(file, "utf8")).toBe(installed.replaceAll("'/opt/svc tools/svc'", "/usr/bin/svc"));
        await remove(client, site);
        expect(readFileSync(file, "utf8")).toBe(content);
        expect(readdirSync(dirname(file))).toEqual([file.slice(dirname(file).length + 1)]);

        // Another program may change the file in between.
        await install(client, site);
        writeFileSync(file, `${readFileSync(file, "utf8")}\n`);
        await remove(client, site);
        expect(readFileSync(file, "utf8").trimEnd()).toBe(BARE.has(content) ? "{}" : content.trimEnd());
      });
    }
  });

  test("a file that is not there is made, and removed with its folders", async () => {
    const site = fresh();
    for (const scope of ["user", "project"] as const) {
      const file = client.hooks!.file(scope, site);
      await install(client, site, OWN, scope);
      const written = JSON.parse(readFileSync(file, "utf8"));
      expect(Object.keys(written)).toEqual(["hooks"]);
      expect(Object.keys(written.hooks)).toEqual(Object.values(events));
      for (const [event, name] of Object.entries(events)) {
        expect(written.hooks[name]).toEqual([
          {
            hooks: [
              {
                ...client.hooks!.fields,
                type: "command",
                command: commandOf(OWN)(event as HookEvent),
                timeout: 5 * client.hooks!.second,
              },
            ],
          },
        ]);
      }
      await remove(client, site, scope);
      expect(existsSync(file)).toBe(false);
      expect(existsSync(dirname(file))).toBe(false);
    }
  });
});

describe("what stays as it is", () => {
  test.each([
    ['{ "hooks": [] }', "line 1: 'hooks' is an array; an object is expected"],
    ['{\n"hooks": { "Stop": {} } }', "line 2: 'hooks.Stop' is an object; a list is expected"],
    ['{ "hooks": { "Stop": [] }, "hooks": {} }', 'line 1: the key "hooks" stands twice'],
    ['{ "hooks": ', "line 1: "],
    ["\ufffd{", "line 1: "],
  ])("%s", (content, problem) => {
    const site = fresh();
    const file = put(claude, site, content);
    expect(() => planHooks(claude, "user", commandOf(OWN), site)).toThrow(`~/.claude/settings.json, ${problem}`);
    expect(readFileSync(file, "utf8")).toBe(content);
  });

  test("a file that is not UTF-8, or a link to nothing", () => {
    const site = fresh();
    const file = put(claude, site, "");
    writeFileSync(file, new Uint8Array([0x7b, 0xff, 0x7d]));
    expect(readHooks(claude, "user", site)).toMatchObject({
      state: "unreadable",
      problem: expect.stringContaining("UTF-8"),
    });
    expect(() => planNoHooks(claude, "user", site)).toThrow("UTF-8");
    const other = fresh();
    mkdirSync(join(other.home, ".claude"));
    symlinkSync("gone", join(other.home, ".claude", "settings.json"));
    expect(() => planHooks(claude, "user", commandOf(OWN), other)).toThrow("leads to no file");
  });

  test("a client without hooks is refused, and has no state", () => {
    const site = fresh();
    expect(readHooks(findClient("zed"), "user", site)).toBeUndefined();
    expect(() => planHooks(findClient("zed"), "user", commandOf(OWN), site)).toThrow("svc has no hooks for Zed");
  });

  test("a link stays one, and the file behind it is changed", async () => {
    const site = fresh();
    mkdirSync(join(site.home, "dotfiles"));
    mkdirSync(join(site.home, ".claude"));
    writeFileSync(join(site.home, "dotfiles", "s.json"), "{}\n");
    const file = join(site.home, ".claude", "settings.json");
    symlinkSync("../dotfiles/s.json", file);
    await install(claude, site);
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    await remove(claude, site);
    expect(readFileSync(file, "utf8")).toBe("{}\n");
  });

  test("another command in the group of one of svc, which was put there by hand", async () => {
    const site = fresh();
    const file = put(claude, site, "{}");
    await install(claude, site);
    const settings = JSON.parse(readFileSync(file, "utf8"));
    settings.hooks.Stop[0].matcher = "x";
    settings.hooks.Stop[0].hooks.push({ type: "command", command: "other" });
    writeFileSync(file, JSON.stringify(settings, null, 2));
    await remove(claude, site);
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
      hooks: { Stop: [{ matcher: "x", hooks: [{ type: "command", command: "other" }] }] },
    });
  });
});

describe("hooks and an entry in one file", () => {
  const CONTENT = '{\n  "theme": "dark",\n  "hooks": {\n    "SessionStart": [\n      {"hooks": []}\n    ]\n  }\n}\n';

  test.each([
    ["hooks first", true],
    ["the entry first", false],
  ])("are removed to the byte, %s", async (_, isHooksFirst) => {
    const site = fresh();
    const file = put(gemini, site, CONTENT);
    await applyChange(planInstall(gemini, "user", "svc", SERVER, site));
    await install(gemini, site);
    await applyChange(planInstall(gemini, "user", "svc", { ...SERVER, command: "/usr/bin/svc" }, site));
    const steps = [() => remove(gemini, site), () => applyChange(planUninstall(gemini, "user", "svc", site))];
    for (const step of isHooksFirst ? steps : steps.reverse()) await step();
    expect(readFileSync(file, "utf8")).toBe(CONTENT);
    expect(readdirSync(dirname(file))).toEqual(["settings.json"]);
  });

  test("a file that both made goes with the last of them", async () => {
    const site = fresh();
    await applyChange(planInstall(gemini, "user", "svc", SERVER, site));
    await install(gemini, site);
    await applyChange(planUninstall(gemini, "user", "svc", site));
    await remove(gemini, site);
    expect(existsSync(join(site.home, ".gemini"))).toBe(false);
  });
});

describe("a command line", () => {
  test.each(["/opt/svc", "/a b/svc", "/it's/svc", '/"$HOME"/`x`/svc', "/ä/svc"])("names its program: %s", (program) => {
    const command = hookCommand(program, ["mcp", "hook", "stop", "--path", "/a b"]);
    expect(hookProgram(command)).toBe(program);
    const { stdout } = Bun.spawnSync(["sh", "-c", command.replace(/^('(?:[^']|'\\'')*'|\S+)/, "printf '%s\\n' $1")]);
    expect(stdout.toString()).toBe(`${program}\nmcp\nhook\nstop\n--path\n/a b\n`);
  });

  test("of another program is not one of svc", () => {
    for (const other of [
      "svcx mcp hook stop",
      "svc mcp",
      "echo svc mcp hook stop",
      "/x/other mcp hook stop",
      "'svc' x",
    ])
      expect(hookProgram(other)).toBeUndefined();
  });

  test("ends well where the program is gone, or refuses its arguments", () => {
    for (const program of ["/gone/svc", "/bin/false"])
      expect(Bun.spawnSync(["sh", "-c", hookCommand(program, ["mcp"])]).exitCode).toBe(0);
  });
});
