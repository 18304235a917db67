/** `svc serve unit`: files for service managers, checked by systemd where it is there. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { svc, temporaryFolder } from "../support.ts";

const unit = (...words: string[]) =>
  svc(["serve", "unit", ...words], { env: { HOME: "/Users/a & b", SVC_HOME: "/Users/a & b/.svc" } });

async function files(...words: string[]): Promise<{ path: string; text: string }[]> {
  const { code, stdout, stderr } = await unit(...words, "--json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout).files;
}

const ANALYZE = Bun.which("systemd-analyze");

test.skipIf(ANALYZE === null).each([
  ["without flags", []],
  [
    "with TCP, and words that systemd would replace",
    ["--host", "::1", "--port", "8471", "--tls-cert", '/etc/100% $HOME "x".pem', "--tls-key", "/k"],
  ],
])("systemd accepts the units %s", async (_, flags) => {
  using folder = temporaryFolder();
  const dir = join(folder.path, "units");
  mkdirSync(dir);
  for (const { path, text } of await files("systemd", ...flags)) {
    // Whether the program is there is not the question here.
    writeFileSync(join(dir, basename(path)), text.replace("ExecStart=/usr/local/bin/svc", "ExecStart=/bin/true"));
  }
  const units = ["svc.service", "svc.socket"].map((name) => join(dir, name));
  const child = Bun.spawn([ANALYZE!, "verify", "--man=no", ...units], { stdout: "pipe", stderr: "pipe" });
  const [err, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  expect({ code, ours: err.split("\n").filter((line) => line.includes("svc.s")) }).toEqual({ code: 0, ours: [] });
});

test("systemd: socket and service agree, and what is written is writable", async () => {
  const [service, socket] = await files(
    "systemd",
    "--host",
    "0.0.0.0",
    "--port",
    "8471",
    "--tls",
    "self",
    "--path",
    "/srv/team memory",
    "--audit-log",
    "/var/log/svc/audit.jsonl",
    "--embedder",
    "a=http://127.0.0.1:1/v1#m",
    "--embedder",
    "b=http://127.0.0.1:2/v1#m",
  );
  expect(service!.text).toContain(
    'ExecStart=/usr/local/bin/svc serve --path "/srv/team memory" --host 0.0.0.0 --port 8471 --tls self --save-interval 1 ' +
      '--embedder "a=http://127.0.0.1:1/v1#m" --embedder "b=http://127.0.0.1:2/v1#m" --audit-log /var/log/svc/audit.jsonl\n',
  );
  expect(service!.text).toContain('\nReadWritePaths="/srv/team memory"\nReadWritePaths=/var/log/svc\n');
  expect(service!.text).toContain("\nExecReload=/bin/kill -HUP $MAINPID\n");
  expect(socket!.text).toContain("\nListenStream=0.0.0.0:8471\n");
  const [, unix] = await files("systemd");
  expect(unix!.text).toContain("\nListenStream=/run/svc/svc.sock\nSocketMode=0600\nSocketUser=svc\n");
});

test("launchd: a property list that is well-formed", async () => {
  const [agent] = await files("launchd", "--embedder", "a=http://127.0.0.1:1/v1?x=<1>&y#m");
  expect(agent!.path).toBe("/Users/a & b/Library/LaunchAgents/svc.serve.plist");
  expect(agent!.text).toMatchSnapshot();
  const python = Bun.which("python3");
  if (python === null) return;
  const code = "import plistlib, sys, json; print(json.dumps(plistlib.load(sys.stdin.buffer)))";
  const child = Bun.spawn([python, "-c", code], { stdin: Buffer.from(agent!.text), stdout: "pipe", stderr: "inherit" });
  const parsed = JSON.parse(await new Response(child.stdout).text());
  expect(parsed.ProgramArguments).toEqual([
    "/usr/local/bin/svc",
    "serve",
    "--path",
    "/Users/a & b/.svc/memory",
    "--socket",
    "/Users/a & b/.svc/svc.sock",
    "--save-interval",
    "1",
    "--embedder",
    "a=http://127.0.0.1:1/v1?x=<1>&y#m",
  ]);
});

test("container: distroless, not root, one volume", async () => {
  const [file] = await files("container", "--host", "0.0.0.0", "--port", "8471", "--tls", "self");
  expect(file!.text).toMatchSnapshot();
  expect((await unit("container")).stdout).toContain('"--host","0.0.0.0","--port","8471"');
});

test.each<[string[], RegExp]>([
  [["upstart"], /systemd/],
  [[], /kind|KIND/],
  [["systemd", "--access-token", "geheim"], /--access-token: a unit can be read by others/],
  [["systemd", "--license", "x"], /--license: a unit can be read/],
  [["container", "--supervise"], /starts a crashed server again/],
  [["systemd", "--socket", "/a\nExecStart=/bin/evil"], /control character/],
  [["systemd", "--host", "h"], /belong together/],
  [["systemd", "--host", "h", "--port", "0"], /not 0/],
  [["systemd", "--host", "h", "--port", "99999"], /is not a port/],
  [["systemd", "--tls", "self"], /TLS is for --host/],
])("%p is refused", async (words, message) => {
  const { code, stdout, stderr } = await unit(...words);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(message);
  expect(stderr).not.toContain("geheim");
});
