/**
 * The whole product, from the first login to the last logout, as a recorder watches it: every command of the terminal,
 * every tool, servers over a Unix socket and over TCP with clients in TypeScript and in Python, an organisation's
 * authority, a server that crashes. The one argument is Python's path. Each of them does what it is for, or this ends with 1 and says which did not.
 */
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "../../src/remote/client/client.ts";
import { emptyHome, ROOT, Session, SVC, svc } from "../e2e/home.ts";

type Home = Record<string, string>;

/** Proxies, which must not be asked for addresses of this machine. */
const PROXIES = Object.fromEntries(
  ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"].map((name) => [
    name,
    "http://192.0.2.1:3128",
  ]),
);
/** A program that a repository names as one of git's own, and that asks the network when it is run. */
const ASKING = `#!/bin/sh\nexec '${process.execPath}' -e 'await fetch("http://192.0.2.9/")'\n`;

/** The interpreter for the Python client; none: it is left out. */
const PYTHON = process.argv[2];

const home: Home = { ...emptyHome(), ...PROXIES, CI: "1" };
const running: { kill(): void; exited: Promise<number> }[] = [];

/** A command of the terminal to its end. */
async function run(words: string[], env: Home = home, input = ""): Promise<string> {
  const { code, out, err } = await svc(env, words, input);
  if (code !== 0) throw new Error(`svc ${words.join(" ")} ended with ${code}: ${err || out}`);
  return out;
}

/** A server, once it has printed a line that fits. */
async function start(words: string[], env: Home, wanted: RegExp): Promise<RegExpExecArray> {
  const child = Bun.spawn([SVC, ...words], { env, cwd: env.HOME, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  running.push(child);
  let text = "";
  for await (const bytes of child[words[0] === "login" ? "stderr" : "stdout"]) {
    text += new TextDecoder().decode(bytes);
    const found = wanted.exec(text);
    if (found) return found;
  }
  throw new Error(`svc ${words.join(" ")} ended: ${text}`);
}

/** A repository with a remote, a missing object, a submodule, and programs in its configuration. */
function repository(): string {
  const dir = join(home.HOME!, "repository");
  const programs = join(home.HOME!, "programs");
  for (const folder of [join(dir, "src"), join(dir, "far"), programs]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(dir, "src/a.ts"), "export function blueGreen() {\n  return 'deploys';\n}\n");
  writeFileSync(join(dir, "far/b.ts"), "export const far = 1;\n");
  const program = join(programs, "asking");
  writeFileSync(program, ASKING);
  chmodSync(program, 0o755);
  const git = (...words: string[]) => {
    const env = { PATH: home.PATH!, HOME: home.HOME!, GIT_CONFIG_NOSYSTEM: "1" };
    const { exitCode, stdout, stderr } = Bun.spawnSync(["git", ...words], { cwd: dir, env });
    if (exitCode !== 0) throw new Error(`git ${words.join(" ")}: ${stderr}`);
    return stdout.toString().trim();
  };
  git("init", "-q");
  git("add", ".");
  git("-c", "user.name=a", "-c", "user.email=a@example.invalid", "commit", "-q", "-m", "a");
  const submodule = '[submodule "sub"]\n\tpath = sub\n\turl = http://192.0.2.9/sub.git\n';
  writeFileSync(join(dir, ".gitmodules"), submodule);
  git("update-index", "--add", "--cacheinfo", `160000,${git("rev-parse", "HEAD")},sub`);
  const tree = git("rev-parse", "HEAD:far");
  git("sparse-checkout", "set", "--cone", "--sparse-index", "src");
  // The folder is there again, so that git has to be asked what it tracks in it, and its tree is not.
  mkdirSync(join(dir, "far"), { recursive: true });
  rmSync(join(dir, ".git/objects", tree.slice(0, 2), tree.slice(2)), { force: true });
  git("config", "core.repositoryFormatVersion", "1");
  for (const [name, value] of [
    ["extensions.partialClone", "origin"],
    ["remote.origin.url", "http://192.0.2.9/a.git"],
    ["remote.origin.promisor", "true"],
    ["remote.origin.partialCloneFilter", "tree:0"],
    ["submodule.sub.url", "http://192.0.2.9/sub.git"],
    ["core.fsmonitor", program],
    ["core.sshCommand", program],
    ["core.askPass", program],
    ["credential.helper", program],
  ] as const)
    git("config", name, value);
  return dir;
}

const steps: Record<string, () => Promise<unknown>> = {
  async "the first login, and what it installed"() {
    await run(["login", "--yes"]);
    await run(["runtime", "verify", "--json"]);
    await run(["runtime", "status"]);
    await run(["runtime", "install"]);
    await run(["runtime", "env"]);
    await run(["version"]);
  },

  async "a memory from the terminal"() {
    await run(["mem", "add", "notes", "we deploy blue green on Tuesdays", "--metadata", '{"scope":"ops"}']);
    await run(["mem", "search", "notes", "how do we deploy", "--top-k", "3"]);
    await run(["mem", "list"]);
    const exported = await run(["mem", "export", "notes"]);
    await run(["mem", "import", "copies"], home, exported);
    await run(["mem", "check"]);
    await run(["mem", "backup", join(home.HOME!, "backup")]);
    await run(["mem", "describe", "notes", "what we do"]);
    await run(["mem", "alter", "notes", "--lexical"]);
    await run(["mem", "rename", "copies", "others"]);
    await run(["mem", "drop", "others", "--yes"]);
    await run(["mem", "restore", join(home.HOME!, "backup"), "--replace"]);
  },

  async "every tool"() {
    const workspace = Bun.which("git") ? repository() : ROOT;
    const session = await Session.open(home, "--workspace", workspace);
    running.push({ kill: () => void session.close(), exited: Promise.resolve(0) });
    const collection = "tools";
    const calls: Record<string, object> = {
      create_collection: { name: collection, lexical: true },
      add: { collection, texts: ["one", "two"], ids: ["1", "2"] },
      upsert: { collection, texts: ["three"], ids: ["3"] },
      update: { collection, ids: ["1"], texts: ["four"] },
      delete: { collection, ids: ["2"] },
      search: { collection, query: "four", with_text: true },
      get: { collection, ids: ["1"] },
      ids: { collection },
      count: { collection },
      stats: { collection },
      list_collections: {},
      compact: { collection },
      build_lexical: { collection },
      search_lexical: { collection, query: "four" },
      build_ivf: { collection },
      tune: { collection, dry_run: true },
      workspace_info: {},
      index_repo: { path: workspace },
      repo_search: { query: "blueGreen" },
    };
    const { tools } = await session.client.listTools();
    const missing = tools.map(({ name }) => name).filter((name) => !(name.slice("svc_".length) in calls));
    if (missing.length > 0) throw new Error(`no call of ${missing}`);
    for (const [name, args] of Object.entries(calls)) await session.call(`svc_${name}`, args);
    await session.close();
    await run(["mem", "repos"]);
  },

  async "a first call that signs in"() {
    const session = await Session.open({ ...emptyHome(), ...PROXIES }, "--login");
    running.push({ kill: () => void session.close(), exited: Promise.resolve(0) });
    await session.call("svc_add", { collection: "notes", texts: ["a note"] });
    await session.close();
  },

  async "MCP clients, and the doctor"() {
    await run(["mcp", "install", "--client", "cursor", "--client", "codex"]);
    await run(["mcp", "status"]);
    await run(["doctor"]);
    await run(["mcp", "uninstall", "--all"]);
  },

  async "the pages of svc ui"() {
    const [line] = await start(["ui", "--json"], home, /\{.*\}/);
    const { address } = JSON.parse(line);
    const { origin } = new URL(address);
    const entered = await fetch(address, { redirect: "manual" });
    const cookie = entered.headers.get("set-cookie")?.split(";")[0] ?? "";
    for (const path of ["/", "/c/notes/settings", "/c/notes/export", "/files", "/repositories", "/health"]) {
      const { status } = await fetch(origin + path, { headers: { cookie } });
      if (status !== 200) throw new Error(`${path} is answered with ${status}`);
    }
  },

  async "a server on a Unix socket, and clients"() {
    const socket = join(home.HOME!, "svc.sock");
    await start(["serve", "--path", join(home.HOME!, "served"), "--socket", socket, "--json"], home, /\{.*\}/);
    await talk(`unix://${socket}`);
  },

  async "a server on TCP, and clients"() {
    const token = "sesame-4711";
    const env = { ...home, SVC_ACCESS_TOKEN: token };
    const words = ["serve", "--path", join(home.HOME!, "tcp"), "--host", "127.0.0.1", "--port", "0", "--json"];
    const [line] = await start(words, env, /\{.*\}/);
    await talk(JSON.parse(line).address, token);
  },

  async "an organisation's authority, and a login to it"() {
    const server: Home = { ...emptyHome(), ...PROXIES };
    const [line] = await start(["authority", "serve", "--json"], server, /\{.*\}/);
    const { url, license_public_key } = JSON.parse(line);
    const env: Home = { ...emptyHome(), ...PROXIES, CI: "1" };
    const key = join(env.HOME!, "key.pem");
    writeFileSync(key, license_public_key);
    const words = ["login", "--no-browser", "--authority", url, "--license-pubkey", key];
    const [, page] = await start(words, env, /address: (\S+)\n/);
    const code = readFileSync(join(server.SVC_HOME!, "organisation/approval_code"), "utf8").trim();
    await approve(page!, { account: "ada@example.org", approval_code: code });
    if ((await running.at(-1)!.exited) !== 0) throw new Error("the login did not end well");
    await run(["runtime", "verify"], env);
    await run(["mem", "add", "notes", "a note"], env);
    const { devices } = JSON.parse(await run(["authority", "devices", "--json"], server));
    await run(["authority", "devices", "rename", devices[0].device_id, "laptop"], server);
    await run(["authority", "devices", "revoke", "laptop"], server);
    const again = Bun.spawn([SVC, "login", "--no-browser"], { env, stdout: "ignore", stderr: "pipe" });
    const said = await new Response(again.stderr).text();
    if (!said.includes(`this device was revoked at ${url}:`)) throw new Error(`the login said ${said}`);
    if (!(await run(["authority", "audit"], server)).includes('"device_revoked"'))
      throw new Error("it was not recorded");
    const other: Home = { ...emptyHome(), ...PROXIES, CI: "1" };
    const enrollKey = await run(["authority", "enroll", "--tag", "ci"], server);
    await run(["login", "--enroll-key", "-", "--authority", url, "--license-pubkey", key], other, enrollKey);
    await run(["mem", "add", "notes", "a note"], other);
    await run(["authority", "enroll", "list"], server);
  },

  async "a server that crashes"() {
    // What would have Bun send a report of it, by curl.
    const env = { ...home, BUN_ENABLE_CRASH_REPORTING: "1", BUN_CRASH_REPORT_URL: "http://192.0.2.8/" };
    const child = Bun.spawn([SVC, "mcp"], { env, stdin: "pipe", stdout: "pipe", stderr: "ignore" });
    child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    await child.stdin.flush();
    await child.stdout.getReader().read();
    child.kill("SIGSEGV");
    await child.exited;
  },

  async "the logout"() {
    await run(["logout"]);
  },
};

/** Both clients on one server. */
async function talk(address: string, token?: string): Promise<void> {
  const client = await connect(address, token === undefined ? {} : { token });
  const notes = await client.createCollection("notes", { embedder: "multigram" });
  await notes.addTexts(["we deploy blue green"]);
  await notes.save();
  await notes.searchText("deploy");
  await client.close();
  if (!PYTHON) return;
  const program = `
import sys, svc
with svc.connect(sys.argv[1], *sys.argv[2:]) as memory:
    memory.ping()
    print(memory.open_collection("notes").search_text("deploy")["ids"])
`;
  const env = {
    PATH: home.PATH!,
    HOME: home.HOME!,
    PYTHONPATH: join(ROOT, "src/remote/python"),
    PYTHONDONTWRITEBYTECODE: "1",
  };
  const child = Bun.spawnSync([PYTHON, "-c", program, address, ...(token === undefined ? [] : [token])], { env });
  if (!child.success) throw new Error(`the Python client: ${child.stderr}`);
}

/** Approves a code on the page, as a browser does. */
async function approve(address: string, typed: Record<string, string> = {}): Promise<void> {
  const shown = await fetch(address, { redirect: "manual" });
  const html = await shown.text();
  const fields = new URLSearchParams({ decision: "approve", ...typed });
  for (const [, name, value] of html.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)) fields.set(name!, value!);
  const action = /<form[^>]* action="([^"]+)"/.exec(html)?.[1] ?? "";
  const { origin } = new URL(address);
  const answer = await fetch(new URL(action, address), {
    method: "POST",
    headers: { cookie: shown.headers.get("set-cookie")?.split(";")[0] ?? "", origin, "sec-fetch-site": "same-origin" },
    body: fields,
  });
  if (!answer.ok) throw new Error(`the page answered ${answer.status}`);
}

for (const name of Object.keys(PROXIES)) delete process.env[name];
let failed = false;
for (const [name, step] of Object.entries(steps)) {
  const began = performance.now();
  try {
    await step();
    console.log(`${Math.round(performance.now() - began)} ms  ${name}`);
  } catch (error) {
    failed = true;
    console.error(`${name}: ${error instanceof Error ? error.message : error}`);
  }
}
for (const child of running) child.kill();
await Promise.all(running.map(({ exited }) => exited));
process.exit(failed ? 1 : 0);
