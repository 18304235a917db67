/** `svc login` as a person meets it: on a terminal, without one, and over SSH. */
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { authorityPaths } from "../../../src/paths.ts";
import { authorizeDevice } from "../../../src/trust/account/login/device-flow.ts";
import type { AuthorityOptions } from "../../../src/trust/authority/server/server.ts";
import {
  authorityIn,
  facesOf,
  fakeServer,
  LICENSE_KEY_PEM,
  LICENSE_PUBLIC_PEM,
  newHome,
} from "../../trust/account/helpers.ts";
import { FAKE_BUILD, start, svc, temporaryFolder } from "../support.ts";
import { Screen, svcCommand } from "../terminal.ts";

const preload = [FAKE_BUILD];
const LOGIN = ["login", "--no-install"];
const ADDRESS = /address: (http:\S+)/;
const OFFERED = /press Enter to open the browser, or open the address yourself; Ctrl-C stops/;

/** A home whose authority has its key, and a browser that writes its arguments to a file. */
function desk() {
  const folder = temporaryFolder();
  const home = join(folder.path, "home");
  const { licenseKey } = authorityPaths(home);
  mkdirSync(dirname(licenseKey), { recursive: true, mode: 0o700 });
  writeFileSync(licenseKey, LICENSE_KEY_PEM, { mode: 0o600 });
  const opened = join(folder.path, "opened");
  const browser = (script = `printf '%s\\n' "$@" > ${opened}.part && mv ${opened}.part ${opened}`) => {
    for (const name of ["xdg-open", "open"]) {
      writeFileSync(join(folder.path, name), `#!/bin/sh\n${script}\n`);
      chmodSync(join(folder.path, name), 0o755);
    }
  };
  browser();
  const env: Record<string, string> = { SVC_HOME: home, PATH: `${folder.path}:${process.env.PATH}`, DISPLAY: ":0" };
  return { env, home, opened, browser, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

/** An organisation's authority, and the environment that names it. */
async function organisation(options: Partial<AuthorityOptions> = {}) {
  const authority = await authorityIn(newHome(), { intervalSeconds: 0.2, ...options });
  return { SVC_ACCOUNTS_URL: authority.url, SVC_LICENSE_PUBKEY: authority.licensePublicKeyPem };
}

/** Approves as a browser does: takes the form that the page shows, and sends it back. */
async function approve(address: string): Promise<void> {
  const page = await fetch(address);
  const cookie = page.headers.get("set-cookie")!.split(";")[0]!;
  const fields = new URLSearchParams({ decision: "approve" });
  for (const [, name, value] of (await page.text()).matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g))
    fields.set(name!, value!);
  const { origin, pathname } = new URL(address);
  const headers = { cookie, origin, "sec-fetch-site": "same-origin" };
  const done = await fetch(`${origin}${pathname}`, { method: "POST", headers, body: fields });
  expect(done.status).toBe(200);
}

async function appears(path: string): Promise<string> {
  while (!existsSync(path)) await Bun.sleep(10);
  return readFileSync(path, "utf8");
}

describe("on a terminal", () => {
  test("nothing is opened before origin and code are shown and Enter is pressed; then exactly the address", async () => {
    using me = desk();
    using screen = new Screen(svcCommand(LOGIN, preload), me.env);
    // Typed before anything is shown: no answer to what is asked later.
    screen.type("\n\nsvc mem list\n");
    await screen.until(OFFERED);
    const [, address] = await screen.until(ADDRESS);
    const shown = screen.text.slice(screen.text.indexOf("confirm"));
    expect(shown).toMatch(
      /^confirm the login at (http:\/\/127\.0\.0\.1:\d+) \(this machine's local authority\)\r\n {2}code: [B-Z]{4}-[B-Z]{4}\r\n {2}address: \1\//,
    );
    // A command that is meant for the shell is not Enter.
    screen.type("svc mem list\n");
    await Bun.sleep(300);
    expect(existsSync(me.opened)).toBe(false);
    screen.type("\n");
    expect(await appears(me.opened)).toBe(`${address}\n`);
    await approve(address!);
    await screen.until(/logged in with a community licence/);
    expect(await screen.ended).toBe(0);
  });

  test("an approval elsewhere ends the wait; the terminal is as it was, and keeps what is typed afterwards", async () => {
    using me = desk();
    const script = 'stty -g; "$@"; echo "code $?"; stty -g; read line; echo "read: $line"';
    const env = { ...me.env, ...(await organisation()) };
    using screen = new Screen(["sh", "-c", script, "sh", ...svcCommand(LOGIN, preload)], env);
    await screen.until(OFFERED);
    const [, address] = await screen.until(ADDRESS);
    await approve(address!);
    const [, code] = await screen.until(/code (\d+)\r\n[^\r]+\r\n/);
    expect(code).toBe("0");
    screen.type("for the shell\n");
    await screen.until(/read: for the shell/);
    const settings = screen.text.match(/^[0-9a-f:]{40,}|gfmt1:\S+/gm);
    expect(settings).toHaveLength(2);
    expect(settings![0]).toBe(settings![1]!);
    expect(existsSync(me.opened)).toBe(false);
  });

  test("Ctrl-D ends neither the wait nor the login, and Ctrl-C does", async () => {
    using me = desk();
    using screen = new Screen(svcCommand(LOGIN, preload), { ...me.env, ...(await organisation()) });
    await screen.until(OFFERED);
    screen.type("\x04");
    await Bun.sleep(300);
    screen.type("\n\x04\x04");
    await Bun.sleep(300);
    expect(existsSync(me.opened)).toBe(false);
    await approve((await screen.until(ADDRESS))[1]!);
    expect(await screen.ended).toBe(0);

    using other = new Screen(svcCommand(LOGIN, preload), me.env);
    await other.until(OFFERED);
    other.type("\x03");
    expect(await other.ended).toBe(130);
  });

  test("where no browser is found, or it does not open, the address is to be opened by hand", async () => {
    using me = desk();
    const { DISPLAY: _, ...bare } = me.env;
    // A Mac has a browser always.
    if (process.platform !== "darwin") {
      using screen = new Screen(svcCommand(LOGIN, preload), bare);
      await screen.until(
        /open the address in a browser of this machine, or use 'svc login --yes' instead; Ctrl-C stops/,
      );
      expect(screen.text).not.toMatch(OFFERED);
      screen.type("\n");
      await Bun.sleep(200);
      expect(existsSync(me.opened)).toBe(false);
    }
    me.browser("exit 3");
    using screen = new Screen(svcCommand(LOGIN, preload), me.env);
    await screen.until(OFFERED);
    screen.type("\n");
    await screen.until(/the browser did not open: open the address yourself/);
  });

  test("over SSH an organisation's address and code are shown and waited for, and no browser is offered", async () => {
    using me = desk();
    const env = { ...me.env, ...(await organisation()), SSH_CONNECTION: "192.0.2.1 50000 192.0.2.2 22" };
    using screen = new Screen(svcCommand(LOGIN, preload), env);
    await screen.until(/open the address in a browser; Ctrl-C stops/);
    expect(screen.text).toStartWith(`confirm the login at ${env.SVC_ACCOUNTS_URL}\r\n  code: `);
    screen.type("\n");
    await approve((await screen.until(ADDRESS))[1]!);
    expect(await screen.ended).toBe(0);
    expect(existsSync(me.opened)).toBe(false);
  });

  test("over SSH this machine's local authority, which no other machine reaches, names --yes and ends", async () => {
    using folder = temporaryFolder();
    const env = { SVC_HOME: join(folder.path, "home"), SSH_TTY: "/dev/pts/0" };
    using screen = new Screen(svcCommand(LOGIN, preload), env);
    expect(await screen.ended).toBe(1);
    expect(screen.text).toMatch(/^svc: over SSH .*'svc login --yes' approves/);
    expect(existsSync(env.SVC_HOME)).toBe(false);
  });

  test("a token is not read from it", async () => {
    using screen = new Screen(svcCommand(["login", "--token", "-"], preload), {});
    expect(await screen.ended).toBe(2);
    expect(screen.text).toStartWith("svc: --token - reads the token from stdin, which is a terminal here");
  });
});

describe("without a terminal", () => {
  /** A server that no login may ask. */
  const unasked = () => fakeServer(() => new Response("", { status: 500 }));

  test("it says at once what to do instead, and leaves nothing behind", async () => {
    using folder = temporaryFolder();
    const env = { SVC_HOME: join(folder.path, "home") };
    const { code, stdout, stderr } = await svc(LOGIN, { preload, env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^svc: stdin is not a terminal, .*\n$/);
    for (const way of ["'svc login --yes' ", "'svc login --token -' ", "'svc login --no-browser' "])
      expect(stderr).toContain(way);
    expect(existsSync(env.SVC_HOME)).toBe(false);

    const server = unasked();
    const named = { SVC_ACCOUNTS_URL: server.url, SVC_LICENSE_PUBKEY: LICENSE_PUBLIC_PEM };
    const asked = await svc([...LOGIN, "--yes"], { preload, env: { ...env, ...named } });
    expect(asked.code).toBe(1);
    expect(asked.stderr).toContain("svc: stdin is not a terminal");
    expect(asked.stderr).toContain("'svc login --token -' ");
    expect(asked.stderr).not.toContain("'svc login --yes' ");
    expect(server.paths).toEqual([]);
    expect(existsSync(env.SVC_HOME)).toBe(false);
  });

  test("a terminal that is only stdin's, or that CI gave, has no person either", async () => {
    using folder = temporaryFolder();
    const env = { SVC_HOME: join(folder.path, "home") };
    const log = join(folder.path, "log");
    const toLog = ["sh", "-c", 'exec "$@" 2> "$0"', log, ...svcCommand(LOGIN, preload)];
    using screen = new Screen(toLog, env);
    expect(await screen.ended).toBe(1);
    expect(readFileSync(log, "utf8")).toStartWith("svc: stderr is not a terminal, ");
    using runner = new Screen(svcCommand(LOGIN, preload), { ...env, CI: "true" });
    expect(await runner.ended).toBe(1);
    expect(runner.text).toStartWith("svc: CI is set, ");
    expect(existsSync(env.SVC_HOME)).toBe(false);
  });

  test("--no-browser shows address and code and waits", async () => {
    using me = desk();
    const child = start([...LOGIN, "--no-browser"], { preload, env: { ...me.env, CI: "true" } });
    const notes = child.stderr.getReader();
    let shown = "";
    while (!shown.includes("Ctrl-C stops")) shown += new TextDecoder().decode((await notes.read()).value);
    expect(shown).toMatch(/^confirm the login at [\s\S]*\n {2}code: \S+\n/);
    await approve(ADDRESS.exec(shown)![1]!);
    expect(await child.exited).toBe(0);
    expect(existsSync(me.opened)).toBe(false);
  });
});

describe("--token -", () => {
  const words = [...LOGIN, "--token", "-", "--json"];
  test("takes one line of stdin, and waits for no end of a pipe that stays open", async () => {
    using me = desk();
    const env = { ...me.env, ...(await organisation({ approve: "yes" })) };
    // As another client obtains it: it belongs to the first device that uses it.
    const token = await authorizeDevice({ endpoints: facesOf(env.SVC_ACCOUNTS_URL) });
    for (const stdin of [token, `${token}\n`, `\r\n  ${token}\r\n\n`]) {
      expect(await svc(words, { preload, env, stdin })).toMatchObject({ code: 0, stderr: "" });
    }
    const open = Bun.spawn(svcCommand(words, preload), {
      env: { ...env, HOME: me.home },
      stdin: "pipe",
      stdout: "ignore",
      stderr: "ignore",
    });
    open.stdin.write(`${token}\n`);
    open.stdin.flush();
    expect(await open.exited).toBe(0);
  });

  test("explains a stdin that is empty, too long, or has more than a line, and never quotes it", async () => {
    using folder = temporaryFolder();
    const env = { SVC_HOME: join(folder.path, "home") };
    for (const [stdin, wanted] of [
      ["", "stdin is empty, one line with the token is expected"],
      [" \n\n", "stdin is empty"],
      ["svt_secret\nsvt_secret\n", "stdin holds more than one line"],
      ["svt_secret".repeat(2000), "stdin holds more than 16384 bytes"],
    ] as const) {
      const { code, stderr } = await svc(words, { preload, env, stdin });
      expect(code).toBe(1);
      const { type, message } = JSON.parse(stderr).error;
      expect(`${type}: ${message}`).toStartWith(`ValueError: --token -: ${wanted}`);
      expect(stderr).not.toContain("svt_secret");
    }
    expect(existsSync(env.SVC_HOME)).toBe(false);
  });
});
