/** `svc ui` by the executable: flags, who gets in, what happens to files while it runs, and a memory of `svc serve`. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { until } from "../remote/server/raw.ts";
import { Browsing } from "../ui/opened.ts";
import { type Home, SVC, signedIn, svc } from "./home.ts";
import { servers } from "./served.ts";

const PAGE_BYTES_MAX = 60 * 1024;
const serving = servers();
const running: Bun.Subprocess[] = [];
let env: Home;

beforeAll(async () => {
  env = await signedIn();
  await done("add", "notes", "the deploy needs a key", "blue for staging", "--metadata", '{"scope":"ops"}');
  await done("create", "plans", "--description", "what comes next");
});
afterAll(async () => {
  for (const process of running) process.kill("SIGKILL");
});

async function done(...words: string[]): Promise<void> {
  const { code, err } = await svc(env, ["mem", ...words]);
  if (code !== 0) throw new Error(`svc mem ${words[0]} ended with ${code}: ${err}`);
}

interface Started {
  readonly process: Bun.ReadableSubprocess;
  readonly address: string;
  /** What it has printed on stderr. */
  readonly notes: () => string;
}

/** Starts `svc ui` and waits until it prints its address. */
async function start(flags: string[], home: Home = env, exe = SVC): Promise<Started> {
  const process = Bun.spawn([exe, "ui", ...flags], { env: home, cwd: home.HOME, stdout: "pipe", stderr: "pipe" });
  running.push(process);
  let notes = "";
  const reading = (async () => {
    for await (const chunk of process.stderr) notes += new TextDecoder().decode(chunk);
  })();
  const { value } = await process.stdout.getReader().read();
  if (value === undefined) throw new Error(await reading.then(() => notes));
  const address = /http:\/\/127\.0\.0\.1:\d+\/enter\?key=[\w-]+/.exec(new TextDecoder().decode(value))![0];
  return { process, address, notes: () => notes };
}

const person = ({ address }: Started) => Browsing.of({ address } as never);

describe("the command", () => {
  test("--json prints the address alone and opens no browser; Ctrl-C ends it", async () => {
    const started = await start(["--json"], withBrowser());
    expect((await fetch(started.address, { redirect: "manual" })).status).toBe(303);
    started.process.kill("SIGINT");
    expect(await started.process.exited).toBe(0);
    expect(existsSync(opened())).toBe(false);
  });

  test("it opens the browser of the desktop, and with --no-browser none", async () => {
    const quiet = await start(["--no-browser"], withBrowser());
    const loud = await start([], withBrowser());
    await until("the browser is started", () => existsSync(opened()));
    expect(readFileSync(opened(), "utf8").trim()).toBe(loud.address);
    expect(loud.address).not.toBe(quiet.address);
    rmSync(opened());
  });

  test("--port takes that port, and says where another process has it", async () => {
    const first = await start(["--json"]);
    const { port } = new URL(first.address);
    const taken = await svc(env, ["ui", "--json", "--port", port]);
    expect(taken.code).toBe(1);
    expect(taken.err).toContain(port);
    first.process.kill("SIGINT");
    await first.process.exited;
    const second = await start(["--json", "--port", port]);
    expect(new URL(second.address).port).toBe(port);
    for (const wrong of ["0", "65536", "x"]) {
      const { code, err } = await svc(env, ["ui", "--port", wrong]);
      expect({ wrong, code }).toEqual({ wrong, code: 2 });
      expect(err).toContain("--port");
    }
  });

  test("the address works once, and no page without the cookie", async () => {
    const started = await start(["--json"]);
    const { origin } = new URL(started.address);
    expect((await fetch(`${origin}/`)).status).toBe(403);
    await person(started);
    const again = await fetch(started.address, { redirect: "manual" });
    expect(again.status).toBe(403);
    expect(await again.text()).toContain("used already");
  });

  test("without a login it says what to do", async () => {
    const home = { ...env, SVC_HOME: join(env.HOME!, "nothing-here") };
    const { code, err } = await svc(home, ["ui", "--json"]);
    expect(code).toBe(1);
    expect(err).toContain("svc login");
  });
});

/** A desktop whose browser writes its address into a file. */
function withBrowser(): Home {
  const bin = join(env.HOME!, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(
    join(bin, "xdg-open"),
    `#!/bin/sh\nprintf '%s' "$1" > '${opened()}.part'\nmv '${opened()}.part' '${opened()}'\n`,
  );
  chmodSync(join(bin, "xdg-open"), 0o755);
  return { ...env, PATH: `${bin}:${env.PATH}`, DISPLAY: ":0" };
}

const opened = () => join(env.HOME!, "opened");

describe("the pages", () => {
  test("are there, small, and ask for nothing elsewhere", async () => {
    const browser = await person(await start(["--json"]));
    for (const path of ["/", "/new", "/c/notes/settings", "/files", "/repositories", "/health"]) {
      const { status, body } = await browser.get(path);
      expect({ path, status }).toEqual({ path, status: 200 });
      expect(Buffer.byteLength(body)).toBeLessThan(PAGE_BYTES_MAX);
      expect(body).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
    }
    expect((await browser.get("/health")).body).toContain("<h2>Executable</h2>");
    const saved = await browser.post("/c/notes/settings", { do: "describe", description: "of the team" });
    expect(saved.body).toContain("Saved the description.");
    const { out } = await svc(env, ["mem", "history", "notes", "--json"]);
    expect(out).toContain('"client":"terminal"');
  });

  test("of --read-only have no form and take none", async () => {
    const browser = await person(await start(["--json", "--read-only"]));
    expect((await browser.get("/")).body).toContain("--read-only");
    for (const path of ["/", "/c/notes/settings", "/files", "/health"]) {
      expect((await browser.get(path)).body).not.toContain('method="post"');
    }
    expect((await browser.post("/c/plans/settings", { do: "drop", confirm: "plans" })).status).toBe(403);
    expect((await browser.post("/new", { name: "x" })).status).toBe(403);
    expect((await svc(env, ["mem", "list"])).out).toContain("plans");
  });

  test("of --read-only search a repository and leave its index as it is", async () => {
    const root = join(env.HOME!, "project");
    mkdirSync(root, { recursive: true });
    writeFileSync(join(root, "a.ts"), "export function blueGreen() {}\n");
    await done("index", root);
    const rows = async () => JSON.parse((await svc(env, ["mem", "repos", "--json"])).out).repositories[0].files;
    expect(await rows()).toBe(1);
    writeFileSync(join(root, "b.ts"), "export function blueGreen() {}\n");
    const search = async (flags: string[]) => {
      const browser = await person(await start(["--json", ...flags]));
      const { body } = await browser.get("/repositories");
      const link = /href="(\/repositories\/search[^"]+)"/.exec(body)![1]!.replaceAll("&amp;", "&");
      return (await browser.get(`${link}&q=blueGreen`)).body;
    };
    const read = await search(["--read-only"]);
    expect(read).toContain("a.ts:1");
    expect(read).toContain("the index was not updated");
    expect(read).not.toContain("b.ts");
    expect(await rows()).toBe(1);
    expect(await search([])).toContain("b.ts:1");
  });

  test("go on after the executable was replaced, also those that no one has seen before", async () => {
    const exe = join(env.HOME!, "svc-copy");
    copyFileSync(SVC, exe);
    chmodSync(exe, 0o755);
    const browser = await person(await start(["--json"], env, exe));
    expect((await browser.get("/")).status).toBe(200);
    writeFileSync(`${exe}.new`, "#!/bin/sh\necho another version\n", { mode: 0o755 });
    renameSync(`${exe}.new`, exe);
    for (const path of ["/c/notes/settings", "/files", "/repositories", "/health"]) {
      expect({ path, status: (await browser.get(path)).status }).toEqual({ path, status: 200 });
    }
    const made = await browser.post("/new", { name: "after" });
    expect(made.path).toBe("/c/after");
    const form = new FormData();
    form.set("collection", "after");
    form.set("file", new File(['{"text":"still here"}\n'], "a.jsonl"));
    expect((await browser.post("/files/import", form)).body).toContain("Imported 1 row");
    const renamed = await browser.post("/c/after/settings", { do: "rename", to: "later" });
    expect(renamed.body).toContain("Renamed after to later.");
    rmSync(exe);
    expect((await browser.post("/c/later/settings", { do: "drop", confirm: "later" })).body).toContain("Dropped later");
  });

  test("say it when the memory's directory is gone, and work again when it is back", async () => {
    const home = await signedIn();
    await svc(home, ["mem", "add", "notes", "one"]);
    const memory = join(home.SVC_HOME!, "memory");
    const browser = await person(await start(["--json"], home));
    expect((await browser.get("/")).body).toContain("One collection");
    renameSync(memory, `${memory}-away`);
    for (const path of ["/", "/c/notes/settings", "/files", "/repositories", "/health"]) {
      const { status, body } = await browser.get(path);
      expect({ path, isPage: body.includes("<h1>") && status < 500 }).toEqual({ path, isPage: true });
    }
    const lost = await browser.post("/c/notes/settings", { do: "describe", description: "x" });
    expect(lost.status).toBe(400);
    rmSync(memory, { recursive: true, force: true });
    renameSync(`${memory}-away`, memory);
    expect((await browser.get("/c/notes/settings")).status).toBe(200);
  });
});

test("--remote shows what svc serve has, and no files", async () => {
  const home = { ...env, SVC_ACCESS_TOKEN: "sesame-2741" };
  const memory = join(env.HOME!, "served");
  expect((await svc(env, ["mem", "add", "shared", "one", "two", "--path", memory])).code).toBe(0);
  const { address } = await serving(
    [SVC, "serve", "--path", memory, "--json", "--host", "127.0.0.1", "--port", "0"],
    home,
  );
  const browser = await person(await start(["--json", "--remote", address], home));
  const { body } = await browser.get("/");
  expect(body).toContain(address);
  expect(body).toContain('href="/c/shared"');
  expect(body).not.toContain('href="/files"');
  expect((await browser.get("/c/shared/settings")).body).toContain("<dt>Rows</dt><dd>2</dd>");
  expect((await browser.get("/files")).status).toBe(404);
  const { code, err } = await svc(home, ["ui", "--json", "--remote", "127.0.0.1:1"]);
  expect(code).toBe(1);
  expect(err).toContain("127.0.0.1:1");
});
