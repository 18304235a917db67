/** Changes on disk: links, modes, copies, other programs in between, and failures that leave everything as it was. */
import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { applyChange } from "../../src/clients/apply.ts";
import type { ClientSite } from "../../src/clients/client.ts";
import { findClient } from "../../src/clients/clients.ts";
import { planInstall, planUninstall, readEntry } from "../../src/clients/plan.ts";
import { freshSites, put, SERVER } from "./site.ts";

const cursor = findClient("cursor");
const codex = findClient("codex");
const TEXT = '{\n  // servers\n  "mcpServers": {\n    "a": { "command": "a" }\n  }\n}\n';

const fresh = freshSites();
const install = (site: ClientSite, name = "svc", options = {}) =>
  applyChange(planInstall(cursor, "user", name, SERVER, site, options));
const uninstall = (site: ClientSite, name = "svc") => applyChange(planUninstall(cursor, "user", name, site));
const names = (file: string) => readdirSync(dirname(file)).sort();

describe("links", () => {
  test("of a manager of dotfiles are followed, and stay", async () => {
    const site = fresh();
    const file = put(cursor, "user", site, "");
    const target = join(site.home, "dotfiles", "cursor.json");
    mkdirSync(dirname(target));
    writeFileSync(target, TEXT);
    rmSync(file);
    symlinkSync("../dotfiles/cursor.json", file);
    const { backup } = await install(site);
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(readFileSync(target, "utf8")).toContain('"svc"');
    expect(backup).toBe(`${target}.svc-backup`);
    await uninstall(site);
    expect(readFileSync(target, "utf8")).toBe(TEXT);
    expect([names(file), names(target)]).toEqual([["mcp.json"], ["cursor.json"]]);
  });

  test("that lead to nothing, to a folder or back are refused", () => {
    const site = fresh();
    const file = put(cursor, "user", site, "");
    const cases: [string, string][] = [
      ["gone.json", "~/.cursor/mcp.json is a link that leads to no file; mend or remove it"],
      [".", "~/.cursor/mcp.json is not a regular file; move it away"],
      ["mcp.json", "~/.cursor/mcp.json is a link that leads"],
    ];
    for (const [to, sentence] of cases) {
      rmSync(file);
      symlinkSync(to, file);
      expect(() => planInstall(cursor, "user", "svc", SERVER, site)).toThrow(sentence);
      expect(readEntry(cursor, "user", "svc", site).state).toBe("unreadable");
    }
  });

  test("of a project that lead out of it are refused", () => {
    const site = fresh();
    const outside = put(cursor, "user", site, TEXT);
    const file = put(cursor, "project", site, "");
    rmSync(file);
    symlinkSync(outside, file);
    const sentence = ".cursor/mcp.json is a link that leads out of the project";
    expect(() => planInstall(cursor, "project", "svc", SERVER, site)).toThrow(sentence);
    rmSync(dirname(file), { recursive: true });
    symlinkSync(site.home, dirname(file));
    expect(() => planInstall(cursor, "project", "svc", SERVER, site)).toThrow(sentence);
    expect(readFileSync(outside, "utf8")).toBe(TEXT);
  });

  test("to a folder elsewhere are fine for a user's file, and for a project that is reached by one", async () => {
    const site = fresh();
    mkdirSync(join(site.home, "elsewhere"));
    symlinkSync("elsewhere", join(site.home, ".cursor"));
    symlinkSync(site.project, join(site.home, "project"));
    await install(site);
    expect(existsSync(join(site.home, "elsewhere", "mcp.json"))).toBe(true);
    const linked = { ...site, project: join(site.home, "project") };
    await applyChange(planInstall(cursor, "project", "svc", SERVER, linked));
    expect(existsSync(join(site.project, ".cursor", "mcp.json"))).toBe(true);
  });
});

describe("modes and owners", () => {
  test("stay, of the file and its copy; a new file is the user's only, one of a project is shared", async () => {
    const site = fresh();
    const file = put(cursor, "user", site, TEXT);
    for (const mode of [0o600, 0o640, 0o644]) {
      chmodSync(file, mode);
      const { backup } = await install(site);
      expect([statSync(file).mode & 0o777, statSync(backup!).mode & 0o777]).toEqual([mode, mode]);
      await uninstall(site);
      expect(statSync(file).mode & 0o777).toBe(mode);
    }
    await applyChange(planInstall(codex, "user", "svc", SERVER, site));
    expect(statSync(join(site.home, ".codex")).mode & 0o777).toBe(0o700);
    expect(statSync(join(site.home, ".codex/config.toml")).mode & 0o777).toBe(0o600);
    await applyChange(planInstall(codex, "project", "svc", SERVER, site));
    const shared = join(site.project, ".codex/config.toml");
    expect(statSync(shared).mode & 0o777).toBe(0o666 & ~process.umask());
    expect(statSync(dirname(shared)).mode & 0o777).toBe(0o777 & ~process.umask());
  });

  test("a file that is read-only is refused", async () => {
    const site = fresh();
    const file = put(cursor, "user", site, TEXT);
    chmodSync(file, 0o444);
    await expect(install(site)).rejects.toThrow(
      "~/.cursor/mcp.json is read-only: make it writable with chmod u+w, or change what it is made from",
    );
    expect(readFileSync(file, "utf8")).toBe(TEXT);
    expect(names(file)).toEqual(["mcp.json"]);
  });

  test.skipIf(process.getuid?.() === 0)("a folder that is read-only is refused (as root nothing is)", async () => {
    const site = fresh();
    const file = put(cursor, "user", site, TEXT);
    chmodSync(dirname(file), 0o555);
    await expect(install(site)).rejects.toThrow(/cannot write .*EACCES.*check who may write/);
    expect(names(file)).toEqual(["mcp.json"]);
    chmodSync(dirname(file), 0o755);
    expect(readFileSync(file, "utf8")).toBe(TEXT);
  });

  test.skipIf(process.getuid?.() !== 0)("a file of another user stays theirs (needs root)", async () => {
    const site = fresh();
    const file = put(cursor, "user", site, TEXT);
    chownSync(file, 12345, 12346);
    await install(site);
    expect(statSync(file)).toMatchObject({ uid: 12345, gid: 12346 });
    symlinkSync(file, join(site.home, "link.json"));
    const linked = { ...cursor, files: () => [join(site.home, "link.json")] };
    expect(() => planInstall(linked, "user", "b", SERVER, site)).toThrow("is a link to a file of another user");
  });
});

describe("other programs in between", () => {
  test("a file that was changed since the plan is not written", async () => {
    const site = fresh();
    const file = put(cursor, "user", site, TEXT);
    const change = planInstall(cursor, "user", "svc", SERVER, site);
    writeFileSync(file, TEXT.replace("dark", "light") + " ");
    await expect(applyChange(change)).rejects.toThrow(
      "~/.cursor/mcp.json was changed by another program meanwhile; run this again",
    );
    expect(readFileSync(file, "utf8")).toBe(`${TEXT} `);
    rmSync(file);
    await expect(applyChange(change)).rejects.toThrow("was changed by another program");
    expect(names(file)).toEqual([]);
    const create = planInstall(cursor, "user", "svc", SERVER, site);
    writeFileSync(file, "{}");
    await expect(applyChange(create)).rejects.toThrow("was changed by another program");
    expect(readFileSync(file, "utf8")).toBe("{}");
  });

  test("of two installs at once one is made, and the other one can be made again", async () => {
    const site = fresh();
    const file = put(cursor, "user", site, TEXT);
    const plans = ["one", "two"].map((name) => planInstall(cursor, "user", name, SERVER, site));
    const ended = await Promise.allSettled(plans.map(applyChange));
    expect(ended.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await install(site, "one");
    await install(site, "two");
    expect(Object.keys(JSON.parse(readFileSync(file, "utf8").replace("// servers", "")).mcpServers)).toEqual(
      expect.arrayContaining(["a", "one", "two"]),
    );
  });

  test("what was changed after an install stays, and only the entry and what the install made go", async () => {
    const site = fresh();
    const file = put(cursor, "user", site, '{\n  "a": 1\n}\n');
    await install(site);
    writeFileSync(file, readFileSync(file, "utf8").replace('"a": 1,', '"a": 2, // two\n  "b": 3,'));
    const { backup } = await uninstall(site);
    expect(readFileSync(file, "utf8")).toBe('{\n  "a": 2, // two\n  "b": 3\n}\n');
    expect(readFileSync(backup!, "utf8")).toContain('"svc"');

    // Another server came into the container that the install made.
    await install(site);
    writeFileSync(file, readFileSync(file, "utf8").replace('"mcpServers": {', '"mcpServers": {\n    "x": {},'));
    await uninstall(site);
    expect(readFileSync(file, "utf8")).toContain('"mcpServers": {\n    "x": {}\n  }');
  });

  test("a file that the install made goes with it, unless something else is in it", async () => {
    const site = fresh();
    await install(site);
    const file = join(site.home, ".cursor", "mcp.json");
    writeFileSync(file, `${readFileSync(file, "utf8")}\n`);
    await uninstall(site);
    expect(existsSync(join(site.home, ".cursor", "mcp.json"))).toBe(false);

    rmSync(dirname(file), { recursive: true, force: true });
    await install(site);
    writeFileSync(file, readFileSync(file, "utf8").replace("{", '{\n  "a": 1,'));
    await uninstall(site);
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ a: 1 });
  });

  test("two entries in one file, removed in the order of their installs, leave what was before them", async () => {
    for (const text of ['{\n  "a": 1\n}\n', undefined]) {
      const site = fresh();
      const file = put(cursor, "user", site, text ?? "");
      if (text === undefined) rmSync(dirname(file), { recursive: true });
      await install(site, "one");
      await install(site, "two");
      await uninstall(site, "one");
      await uninstall(site, "two");
      expect(existsSync(dirname(file))).toBe(text !== undefined);
      if (text !== undefined) expect(readFileSync(file, "utf8")).toBe(text);
    }
  });
});

describe("copies", () => {
  test("never take the place of another one, and go with the uninstall", async () => {
    const site = fresh();
    const file = put(cursor, "user", site, TEXT);
    writeFileSync(`${file}.svc-backup`, "of the user");
    expect((await install(site)).backup).toBe(`${file}.svc-backup-2`);
    expect(readFileSync(`${file}.svc-backup`, "utf8")).toBe("of the user");
    expect(readFileSync(`${file}.svc-backup-2`, "utf8")).toBe(TEXT);
    await uninstall(site);
    expect(names(file)).toEqual(["mcp.json", "mcp.json.svc-backup"]);

    writeFileSync(`${file}.svc-backup`, TEXT);
    expect((await install(site)).backup).toBe(`${file}.svc-backup`);
    expect(names(file)).toEqual(["mcp.json", "mcp.json.svc-backup"]);
  });

  test("of an entry that another program had is what an uninstall restores", async () => {
    const site = fresh();
    const foreign = TEXT.replace('"a": {', '"svc": {"url": "http://localhost"}, "a": {');
    const file = put(cursor, "user", site, foreign);
    await install(site, "svc", { replace: true });
    expect(readEntry(cursor, "user", "svc", site)).toMatchObject({ isOurs: true, server: SERVER });
    await uninstall(site);
    expect(readFileSync(file, "utf8")).toBe(foreign);
  });

  test("notes that are damaged or lost are done without", async () => {
    const site = fresh();
    const file = put(cursor, "user", site, '{"a": 1}\n');
    const notes = join(site.home, ".svc", "clients.json");
    for (const damage of [
      () => writeFileSync(notes, "{"),
      () => rmSync(notes),
      () => writeFileSync(notes, '{"version":2}'),
    ]) {
      writeFileSync(file, '{"a": 1}\n');
      await install(site);
      damage();
      await uninstall(site);
      expect(readFileSync(file, "utf8")).toBe('{"a": 1, "mcpServers": {}}\n');
    }
    // A note about a file that became another one removes its entry only.
    writeFileSync(file, '{"a": 1}\n');
    await install(site);
    const note = readFileSync(notes, "utf8").replaceAll(/"at":\d+/g, '"at":3');
    writeFileSync(notes, note);
    await uninstall(site);
    expect(readFileSync(file, "utf8")).toBe('{"a": 1}\n');
  });
});

describe("an entry of ours", () => {
  test("gets another command, and keeps what the user wrote into it", async () => {
    const site = fresh();
    const text = `{
  "mcpServers": {
    // the memory
    "svc": {
      "command": "/old/svc", // the old one
      "args": ["mcp"],
      "disabled": true, /* for now */
      "env": { "SVC_HOME": "/x" },
    },
  },
}
`;
    const file = put(cursor, "user", site, text);
    await install(site);
    expect(readFileSync(file, "utf8")).toBe(
      text.replace('"/old/svc"', JSON.stringify(SERVER.command)).replace('["mcp"]', '["mcp", "--workspace", "/a b/c"]'),
    );
    expect(readEntry(cursor, "user", "svc", site)).toMatchObject({
      disabled: true,
      server: { env: { SVC_HOME: "/x" } },
    });
    await uninstall(site);
    expect(readFileSync(file, "utf8")).toBe('{\n  "mcpServers": {\n    // the memory\n  },\n}\n');
  });

  test("keeps variables that the user has added, in a file that the client has sorted too", async () => {
    const server = { ...SERVER, env: { SVC_HOME: "/y" } };
    const CASES: [string, string][] = [
      [
        "cursor",
        '{"mcpServers": {"svc": {"env": {"SVC_HOME": "/x", "A": "b"}, "command": "/old/svc", "args": ["mcp"]}}}',
      ],
      ["opencode", '{"mcp": {"svc": {"command": ["/old/svc", "mcp"], "environment": {"A": "b"}}}}'],
      ["codex", '[mcp_servers.svc]\ncommand = "/old/svc"\nargs = ["mcp"]\n[mcp_servers.svc.env]\nA = "b"\n'],
      ["goose", "extensions:\n  svc:\n    args:\n    - mcp\n    cmd: /old/svc\n    envs:\n      A: b\n"],
    ];
    for (const [id, text] of CASES) {
      const site = fresh();
      const client = findClient(id);
      put(client, "user", site, text);
      await applyChange(planInstall(client, "user", "svc", server, site));
      const env = { A: "b", SVC_HOME: "/y" };
      expect(readEntry(client, "user", "svc", site)).toMatchObject({ server: { ...SERVER, env } });
    }
    const site = fresh();
    const goose = findClient("goose");
    put(goose, "user", site, "extensions:\n  svc:\n    args:\n    - mcp\n    cmd: /old/svc");
    await applyChange(planInstall(goose, "user", "svc", server, site));
    expect(readEntry(goose, "user", "svc", site)).toMatchObject({ server });
  });

  test("in TOML and YAML too", async () => {
    const site = fresh();
    const toml =
      '[mcp_servers.svc] # mine\ncommand = "/old/svc" # old\nargs = ["mcp"]\nstartup_timeout_sec = 20 # slow\n\n[mcp_servers.svc.tools.x]\napproval_mode = "approve"\n';
    const file = put(codex, "user", site, toml);
    await applyChange(planInstall(codex, "user", "svc", SERVER, site));
    const expected = toml
      .replace('"/old/svc"', JSON.stringify(SERVER.command))
      .replace('["mcp"]', '["mcp", "--workspace", "/a b/c"]');
    expect(readFileSync(file, "utf8")).toBe(expected);
    await applyChange(planUninstall(codex, "user", "svc", site));
    expect(readFileSync(file, "utf8")).toBe("");

    const goose = findClient("goose");
    const yaml =
      "extensions:\n  svc:\n    enabled: false # for now\n    type: stdio\n    cmd: /old/svc\n    args:\n    - mcp\n    timeout: 10\n";
    const other = put(goose, "user", site, yaml);
    await applyChange(planInstall(goose, "user", "svc", SERVER, site));
    expect(readFileSync(other, "utf8")).toBe(
      yaml
        .replace("/old/svc", "/opt/svc tools/bin/svc")
        .replace("    - mcp\n", '      - mcp\n      - "--workspace"\n      - /a b/c\n'),
    );
    expect(readEntry(goose, "user", "svc", site)).toMatchObject({ disabled: true, server: SERVER });
  });

  test("is found in the file that has it, where a client reads several", async () => {
    const site = fresh();
    const opencode = findClient("opencode");
    const folder = join(site.home, ".config", "opencode");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "opencode.json"), "{}");
    await applyChange(planInstall(opencode, "user", "svc", SERVER, site));
    writeFileSync(join(folder, "opencode.jsonc"), "{}");
    expect(readEntry(opencode, "user", "svc", site)).toMatchObject({
      state: "present",
      file: join(folder, "opencode.json"),
    });
    expect(planInstall(opencode, "user", "svc", SERVER, site).action).toBe("none");
    await applyChange(planUninstall(opencode, "user", "svc", site));
    expect(readFileSync(join(folder, "opencode.json"), "utf8")).toBe("{}");
  });
});

test("what a killed change left beside the file goes with the next one", async () => {
  const site = fresh();
  const file = put(cursor, "user", site, TEXT);
  writeFileSync(join(dirname(file), ".mcp.json.0123abcd.tmp"), "half");
  writeFileSync(join(dirname(file), ".other.json.0123abcd.tmp"), "of another file");
  await install(site);
  expect(names(file)).toEqual([".other.json.0123abcd.tmp", "mcp.json", "mcp.json.svc-backup"]);
});

test("a disk that is full in the middle leaves the file, and nothing beside it", async () => {
  const site = fresh();
  const large = `{\n  "a": "${"x".repeat(200_000)}"\n}\n`;
  const file = put(cursor, "user", site, large);
  const root = join(import.meta.dir, "../..");
  const script = `
    import { applyChange } from "${root}/src/clients/apply.ts";
    import { findClient } from "${root}/src/clients/clients.ts";
    import { planInstall } from "${root}/src/clients/plan.ts";
    const change = planInstall(findClient("cursor"), "user", "svc", ${JSON.stringify(SERVER)}, ${JSON.stringify(site)});
    try { await applyChange(change); console.log("written"); } catch (error) { console.log(error.message); }`;
  // Writes beyond 64 KiB of a file fail, as on a full disk, and the signal that comes with it is ignored.
  const limited = ["sh", "-c", `trap "" XFSZ; ulimit -f 64; exec "$@"`, "sh", process.execPath, "-e", script];
  const run = () => Bun.spawnSync(limited, { cwd: root }).stdout.toString().trim();
  for (const hasBackup of [false, true]) {
    if (hasBackup) writeFileSync(`${file}.svc-backup`, large);
    expect(run()).toBe(`cannot write 'mcp.json${hasBackup ? "" : ".svc-backup"}': EFBIG: file too large`);
    expect(readFileSync(file, "utf8")).toBe(large);
    expect(names(file)).toEqual(hasBackup ? ["mcp.json", "mcp.json.svc-backup"] : ["mcp.json"]);
    expect(existsSync(join(site.home, ".svc", "clients.json"))).toBe(false);
  }
});
