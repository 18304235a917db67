/** `svc doctor` with the executable: a sound home, and homes in which one thing each is broken. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import { asPlainUser, copyOfHome, emptyHome, type Home, SVC, signedIn, svc } from "./home.ts";
import { servers } from "./served.ts";

const TOKEN = "a-token-of-these-tests-01";
const serve = servers();

const homes: string[] = [];
const kept = <T extends Home>(env: T): T => {
  homes.push(env.HOME!);
  return { ...env, PATH: "/nowhere" };
};
afterAll(() => {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

let original: Home;
beforeAll(async () => {
  original = kept(await signedIn());
  expect((await svc(original, ["mem", "add", "notes", "We deploy blue-green.", "--id", "deploy"])).code).toBe(0);
});
const copy = () => kept(copyOfHome(original));

interface Answer {
  code: number;
  ok: boolean;
  problems: number;
  findings: Finding[];
}

async function doctor(env: Home, options: Parameters<typeof svc>[3] = {}, ...words: string[]): Promise<Answer> {
  const { code, out, err } = await svc(env, ["doctor", "--json", ...words], "", options);
  expect(err).toBe("");
  return { code, ...JSON.parse(out) };
}

/** The findings that are not ok, by their checks; where this executable lies is none of a test's. */
function wrong({ findings }: Answer): Record<string, Finding> {
  const bad = findings.filter(({ level, check }) => level !== "ok" && check !== "executable.place");
  return Object.fromEntries(bad.map((finding) => [finding.check, finding]));
}

/** All that is below a folder, with times and bytes. */
function tree(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const { mode, size, mtimeMs, ino } = lstatSync(path);
      return `${path} ${mode} ${size} ${mtimeMs} ${ino}`;
    })
    .sort();
}

describe("svc doctor", () => {
  test("before the first login names it, makes nothing, and ends with 1", async () => {
    const env = kept(emptyHome());
    const answer = await doctor(env);
    expect(answer).toMatchObject({ code: 1, ok: false, problems: 2 });
    expect(wrong(answer)).toMatchObject({
      "login.not_logged_in": { level: "problem", remedy: "svc login" },
      "runtime.installed": { level: "problem", remedy: "svc runtime install" },
    });
    expect(answer.findings.find(({ check }) => check === "server.handshake")).toMatchObject({ level: "ok" });
    expect(readdirSync(env.HOME!)).toEqual([]);
  });

  test("in a sound home ends with 0, and changes nothing", async () => {
    const before = tree(original.HOME!);
    const answer = await doctor(original);
    expect(wrong(answer)).toEqual({});
    expect(answer).toMatchObject({ code: 0, ok: true, problems: 0 });
    const opens = answer.findings.find(({ check }) => check === "memory.opens");
    // The size is the one of svc mem list.
    const [size] = /\d+ KB/.exec((await svc(original, ["mem", "list"])).out)!;
    expect(opens?.message).toStartWith(`1 collection opens: 1 row, ${size};`);
    const { code, out } = await svc({ ...original, COLUMNS: "60" }, ["doctor"]);
    expect(code).toBe(0);
    for (const line of out.split("\n")) if (!line.includes(SVC)) expect(line.length).toBeLessThanOrEqual(60);
    expect(tree(original.HOME!)).toEqual(before);
  });

  test("SVC_REMOTE is tried, and --path is stronger than it", async () => {
    const { server, address } = await serve(
      [SVC, "serve", "--json", "--host", "127.0.0.1", "--port", "0", "--access-token", TOKEN],
      original,
    );
    const remote = { ...original, SVC_REMOTE: address, SVC_ACCESS_TOKEN: TOKEN };
    const answers = await doctor(remote);
    expect(wrong(answers)).toEqual({});
    expect(answers.findings.find(({ check }) => check === "memory.remote")?.message).toStartWith(
      `SVC_REMOTE: ${address} answers`,
    );
    const refused = await doctor({ ...remote, SVC_ACCESS_TOKEN: "another-token-of-24-bytes" });
    expect(wrong(refused)["memory.remote"]).toMatchObject({
      level: "problem",
      message: expect.stringContaining("SVC_REMOTE: unauthorized: "),
    });
    server.kill();
    await server.exited;
    const away = await doctor(remote);
    expect(away.code).toBe(1);
    expect(wrong(away)).toEqual({
      "memory.remote": expect.objectContaining({
        level: "problem",
        message: expect.stringContaining(`SVC_REMOTE: cannot connect to ${address}`),
        remedy: expect.stringContaining("unset SVC_REMOTE"),
      }),
    });
    const path = join(original.SVC_HOME!, "memory");
    expect(wrong(await doctor(remote, {}, "--path", path))).toEqual({});
  });

  test("a changed byte of the runtime", async () => {
    const env = copy();
    const runtime = join(env.SVC_HOME!, "runtime");
    const folder = join(runtime, readdirSync(runtime).find((name) => !name.startsWith("."))!);
    const library = join(folder, readdirSync(folder).find((name) => name.startsWith("libty_runtime"))!);
    const bytes = readFileSync(library);
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(library, bytes);
    const answer = await doctor(env);
    expect(answer.code).toBe(1);
    expect(wrong(answer)).toMatchObject({
      "runtime.hash": {
        level: "problem",
        remedy: "svc runtime install",
        message: expect.stringContaining("libty_runtime"),
      },
      "memory.unopened": { level: "warning" },
    });
    expect((await svc(env, ["runtime", "install"])).code).toBe(0);
    expect(wrong(await doctor(env))).toEqual({});
  });

  test("a collection whose file is cut short, one without a manifest, and their remedy", async () => {
    const env = copy();
    const folder = join(env.SVC_HOME!, "memory/notes");
    const other = join(env.SVC_HOME!, "memory/other");
    expect((await svc(env, ["mem", "add", "other", "text"])).code).toBe(0);
    rmSync(join(other, "collection.json"));
    for (const name of readdirSync(folder).filter((file) => file.endsWith(".slab")))
      truncateSync(join(folder, name), 100);
    const answer = await doctor(env);
    expect(answer.code).toBe(1);
    const damaged = answer.findings.filter(({ check }) => check === "memory.damaged");
    expect(damaged.map(({ remedy }) => remedy)).toEqual([
      "svc mem check notes --repair",
      "svc mem check other --repair",
    ]);
  });

  test("repositories: one in part, one whose folder is missing", async () => {
    const env = copy();
    const repository = join(env.HOME!, "app");
    mkdirSync(repository);
    for (const name of ["a.ts", "b.ts", "c.ts"])
      writeFileSync(join(repository, name), `export const ${name[0]} = 1;\n`);
    expect((await svc(env, ["mem", "index", repository, "--max-files", "1"])).code).toBe(0);
    const partial = await doctor(env);
    expect(wrong(partial)["repositories.partial"]).toMatchObject({
      level: "warning",
      message: expect.stringContaining("~/app is indexed in part: 1 of 3 files"),
      remedy: `svc mem index ${repository}`,
    });
    expect((await svc(env, ["mem", "index", repository])).code).toBe(0);
    rmSync(repository, { recursive: true });
    const gone = await doctor(env);
    expect(gone.code).toBe(0);
    expect(wrong(gone)["repositories.missing"]).toMatchObject({
      remedy: expect.stringContaining("svc mem repos --forget"),
    });
    mkdirSync(repository);
    const fresh = await doctor(env);
    expect(wrong(fresh)).toEqual({});
    expect(fresh.findings.find(({ check }) => check === "repositories.fresh")?.message).toContain("~/app: 3 files");
    const notes = readdirSync(join(env.SVC_HOME!, "memory/repo_symbols")).find((name) =>
      name.endsWith(".fingerprints"),
    )!;
    rmSync(join(env.SVC_HOME!, "memory/repo_symbols", notes));
    const second = join(env.SVC_HOME!, "memory/repo_symbols", notes);
    writeFileSync(second, "damaged");
    expect(wrong(await doctor(env))["repositories.fingerprints"]).toMatchObject({
      level: "warning",
      remedy: `svc mem index ${repository}`,
    });
  });

  test("clients: each kind of wrong entry, and the command that mends it", async () => {
    const env = copy();
    const cursor = join(env.HOME!, ".cursor/mcp.json");
    mkdirSync(join(env.HOME!, ".cursor"));
    const absent = await doctor(env);
    expect(absent.findings.find(({ check }) => check === "clients.absent")).toMatchObject({
      level: "ok",
      message: "clients on this machine without svc: Cursor",
      remedy: "svc mcp install",
    });
    const old = join(env.HOME!, "old/svc");
    mkdirSync(join(env.HOME!, "old"));
    const answers = (version: string) =>
      `#!/bin/sh\nread a; echo '{"id":1,"result":{"serverInfo":{"name":"svc","version":"${version}"}}}'\n` +
      `read a; read a; echo '{"id":2,"result":{"tools":[${Array(19).fill("{}").join()}]}}'\ncat > /dev/null\n`;
    writeFileSync(old, answers("0.0.1"), { mode: 0o755 });
    const CASES: [string, string, string | object, string, Finding["level"], string][] = [
      ["Cursor", ".cursor/mcp.json", "{", "unreadable", "problem", "svc mcp install --client cursor"],
      [
        "Windsurf",
        ".codeium/windsurf/mcp_config.json",
        { command: "/nowhere/svc", args: ["mcp", "--path", "/a b", "--tools=core"] },
        "command",
        "problem",
        "svc mcp install --client windsurf --path '/a b' --tools core",
      ],
      [
        "Gemini CLI",
        ".gemini/settings.json",
        { command: "/bin/other", args: [] },
        "other_server",
        "warning",
        "svc mcp install --client gemini-cli --replace",
      ],
      [
        "Qwen Code",
        ".qwen/settings.json",
        { command: SVC, args: ["mcp"], disabled: true },
        "disabled",
        "warning",
        "switch it on in Qwen Code",
      ],
      [
        "Claude Code",
        ".claude.json",
        { command: SVC, args: ["mcp", "status"] },
        "not_started",
        "problem",
        "svc mcp install --client claude-code",
      ],
      [
        "Copilot CLI",
        ".copilot/mcp-config.json",
        { command: old, args: ["mcp"] },
        "version",
        "warning",
        "svc mcp install --client copilot-cli",
      ],
    ];
    for (const [, file, entry] of CASES) {
      mkdirSync(dirname(join(env.HOME!, file)), { recursive: true });
      const text = typeof entry === "string" ? entry : JSON.stringify({ mcpServers: { svc: entry } });
      writeFileSync(join(env.HOME!, file), text);
    }
    const answer = await doctor({ ...env, PATH: "/usr/bin:/bin" });
    expect(answer).toMatchObject({ code: 1, problems: 3 });
    for (const [title, , , what, level, remedy] of CASES) {
      const message = expect.stringContaining(title);
      expect(wrong(answer)[`clients.${what}`]).toMatchObject({
        level,
        message,
        remedy: expect.stringContaining(remedy),
      });
    }
    for (const [, file] of CASES) rmSync(join(env.HOME!, file));
    expect((await svc(env, ["mcp", "install", "--client", "cursor"])).code).toBe(0);
    expect(wrong(await doctor(env))).toEqual({});

    const elsewhere = await doctor(env, {}, "--path", join(env.HOME!, "other"));
    expect(wrong(elsewhere)).toMatchObject({
      "clients.memory": {
        message: "Cursor uses another memory than the one here: ~/svc/memory",
        remedy: `svc mcp uninstall --client cursor && svc mcp install --client cursor --path ${join(env.HOME!, "other")}`,
      },
    });

    const project = join(env.HOME!, "app");
    mkdirSync(join(project, ".cursor"), { recursive: true });
    writeFileSync(join(project, ".cursor/mcp.json"), readFileSync(cursor));
    const both = await doctor(env, { cwd: project });
    expect(wrong(both)["clients.duplicate"]).toMatchObject({
      level: "warning",
      remedy: "svc mcp uninstall --client cursor --scope project",
    });
  });

  test("an older svc that the shell finds first", async () => {
    const bin = join(original.HOME!, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "svc"), `#!/bin/sh\necho '{"version":"0.0.1"}'\n`, { mode: 0o755 });
    const answer = await doctor({ ...original, PATH: `${bin}:/usr/bin:/bin` });
    expect(wrong(answer)["executable.other"]).toMatchObject({
      level: "warning",
      message: "PATH also has svc 0.0.1, at ~/bin/svc, which the shell runs instead of this one",
    });
    rmSync(bin, { recursive: true });
  });

  test("what cannot be read is a finding, and the others are still made", async () => {
    const env = copy();
    rmSync(join(env.SVC_HOME!, "memory"), { recursive: true });
    writeFileSync(join(env.SVC_HOME!, "memory"), "");
    renameSync(join(env.SVC_HOME!, "login_license.jwt"), join(env.SVC_HOME!, "kept"));
    const answer = await doctor(env);
    expect(answer.code).toBe(1);
    expect(Object.keys(wrong(answer))).toEqual(["login.not_logged_in", "memory.folder"]);
    expect(answer.findings.at(-1)?.area).toBe("clients");
  });

  test.skipIf(process.getuid?.() !== 0 || asPlainUser === undefined)(
    "as root in a user's home, and as a user after root (needs root and setpriv)",
    async () => {
      const user = 65_534;
      // Not in the temporary folder of the tests, which is closed to other users.
      const place = mkdtempSync("/tmp/svc-e2e-");
      try {
        const env = { ...copy(), HOME: place, SVC_HOME: join(place, "svc") };
        cpSync(original.SVC_HOME!, env.SVC_HOME, { recursive: true, verbatimSymlinks: true });
        for (const name of ["", ...readdirSync(env.SVC_HOME, { recursive: true })])
          chownSync(join(env.SVC_HOME, String(name)), user, user);
        chownSync(place, user, user);
        expect(wrong(await doctor(env))["home.root"]).toMatchObject({ level: "warning" });
        const left = join(env.SVC_HOME, "memory/notes/delta-left");
        writeFileSync(left, "");
        chmodSync(left, 0o600);
        const ids = [`--reuid=${user}`, `--regid=${user}`, "--clear-groups", "--bounding-set=-all"];
        const setpriv = [Bun.which("setpriv")!, ...ids];
        // The checkout may lie where another user cannot go.
        if (Bun.spawnSync([...setpriv, SVC, "version"], { env, cwd: "/" }).exitCode !== 0) return;
        expect(wrong(await doctor(env, { prefix: setpriv }))["home.owner"]).toMatchObject({
          level: "problem",
          message: expect.stringContaining("1 file or folder of svc belongs to root, as after 'sudo svc'"),
          remedy: expect.stringContaining("sudo chown -R"),
        });
        expect(existsSync(left)).toBe(true);
      } finally {
        rmSync(place, { recursive: true, force: true });
      }
    },
  );
});
