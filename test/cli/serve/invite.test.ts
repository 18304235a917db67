/** `svc serve invite`: what it prints, and what it refuses before it makes anything. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { readInvitation } from "../../../src/remote/client/invitation.ts";
import { isWholeToken } from "../../../src/remote/tokens/token-text.ts";
import { svc, temporaryFolder } from "../support.ts";

/** A server's home and memory, neither of which is there yet. */
function desk() {
  const folder = temporaryFolder();
  const [home, memory] = [join(folder.path, "home"), join(folder.path, "memory")];
  const run = (...words: string[]) => svc(["serve", ...words, "--path", memory], { env: { SVC_HOME: home } });
  const invite = (...words: string[]) => run("invite", ...words);
  return { home, memory, run, invite, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

test("one line on stdout has the address with the certificate's fingerprint and a token of these rights", async () => {
  using me = desk();
  const { code, stdout, stderr } = await me.invite(
    ...["ada", "--address", "team.example.org:8471", "--collections", "a,b*", "--read-only", "--client", "cursor"],
  );
  expect(code).toBe(0);
  const [, text] = /^svc join '(svc1:[\w-]+)' --client cursor\n$/.exec(stdout)!;
  const { address, token } = readInvitation(text!);
  expect(address).toMatch(/^tls:\/\/team\.example\.org:8471#SHA256:[\w-]{43}$/);
  expect(isWholeToken(token)).toBe(true);
  expect(stderr).toContain(`ada: reads a, b*; does not expire\nthe invitation leads to ${address}\n`);
  expect(stderr).toContain("send it over a private channel");
  expect(stderr).not.toContain(token.slice(5));
  expect((await me.run("token", "list")).stdout).toMatch(/^ada .*reads a, b\*$/m);
  // The certificate is kept, so that every invitation has the same.
  const json = await me.invite("ben", "--address", "[2001:db8::7]:8471", "--json");
  expect(JSON.parse(json.stdout)).toMatchObject({
    command: expect.stringMatching(/^svc join 'svc1:[\w-]+'$/),
    address: `tls://[2001:db8::7]:8471#${address.split("#")[1]}`,
    name: "ben",
    state: "valid",
    notes: [],
  });
});

test.each<[string, string, RegExp | undefined]>([
  ["tls://team.example.org:8471", "tls://team.example.org:8471", undefined],
  [`tls://h:1#SHA256:${"b".repeat(43)}`, `tls://h:1#SHA256:${"b".repeat(43)}`, undefined],
  ["tcp://team.example.org:8471", "tcp://team.example.org:8471", /^warning: nothing is encrypted.*--tls self/m],
  ["tcp://127.0.0.1:8471", "tcp://127.0.0.1:8471", /^note: only this machine reaches 127\.0\.0\.1$/m],
])("%s goes into the invitation as it is", async (given, address, message) => {
  using me = desk();
  const { code, stdout, stderr } = await me.invite("ada", "--address", given);
  expect([code, readInvitation(stdout).address]).toEqual([0, address]);
  if (message) expect(stderr).toMatch(message);
  else expect(stderr).not.toMatch(/warning|note:/);
  expect(existsSync(join(me.home, "serve_tls.pem"))).toBe(false);
});

test.each<[string, string[], RegExp]>([
  ["no address", [], /where do clients reach the server\? give --address HOST:PORT/],
  [
    "an address without a port",
    ["--address", "team.example.org"],
    /^svc: --address: 'team\.example\.org' has no port: give HOST:PORT/,
  ],
  ["a port that there is not", ["--address", "team.example.org:70000"], /1 to 65535/],
  ["all addresses", ["--address", "0.0.0.0:8471"], /clients cannot connect to 0\.0\.0\.0/],
  ["all IPv6 addresses", ["--address", "tls://[::]:8471"], /clients cannot connect to ::/],
  ["a socket", ["--address", "/run/svc.sock"], /a Unix socket is for this machine/],
  ["no address at all", ["--address", "team example"], /--address: 'team example' is not HOST:PORT/],
  ["half a fingerprint", ["--address", "tls://h:1#SHA256:x"], /fingerprint/],
  ["a client that there is not", ["--address", "h:1", "--client", "emacs-22"], /emacs-22/],
  ["a time in the past", ["--address", "h:1", "--expires=-1d"], /give minutes/],
])("%s is refused before anything is made", async (_, words, message) => {
  using me = desk();
  const { code, stdout, stderr } = await me.invite("ada", ...words);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(message);
  expect([existsSync(me.memory), existsSync(me.home)]).toEqual([false, false]);
});

test("a name that is taken is refused, and its token stays", async () => {
  using me = desk();
  await me.invite("ada", "--address", "h:1");
  const { code, stdout, stderr } = await me.invite("ada", "--address", "h:1", "--read-only");
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/there is a token 'ada' already.*svc serve token revoke/);
  expect((await me.run("token", "list")).stdout).toMatch(/^ada .*reads and writes/m);
});
