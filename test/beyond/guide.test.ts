/**
 * docs/beyond.md as it is written, with three machines and a database of two servers: its blocks that name this file are
 * run in their order. Then the primary is lost, and a machine is replaced.
 */
import { beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readPage } from "../docs/markdown.ts";
import { emptyHome, type Home, ROOT, SVC, signedIn } from "../e2e/home.ts";
import { type Ended, ended } from "../ended.ts";
import { scratchDir } from "../fixture.ts";
import { client } from "./client.ts";
import { hasServers, NEEDS } from "./installed.ts";
import { PostgresServer } from "./postgres.ts";
import { Standby } from "./standby.ts";

const TIMEOUT_MS = 120_000;
const PASSWORD = "only for this test";

const page = readPage(readFileSync(join(ROOT, "docs/beyond.md"), "utf8"));
const blocks = page.blocks.filter(({ remark }) => remark?.includes("test/beyond/guide.test.ts"));
const [role, writeAddress, copyThere, use, alter] = blocks.map(({ code }) => code) as [string, ...string[]];
/** The superuser of the tests has the role's name. */
const own = (text: string) => text.replaceAll("svc", "team");

/** A machine: a home in which a person has logged in. */
async function machine(): Promise<Home> {
  const { HOME, NO_COLOR } = emptyHome() as { HOME: string; NO_COLOR: string };
  cpSync((await signedIn()).SVC_HOME!, join(HOME, ".svc"), { recursive: true, verbatimSymlinks: true });
  const bin = join(HOME, "bin");
  mkdirSync(bin);
  // The editor of a person who writes the address.
  writeFileSync(join(bin, "nano"), `#!/bin/sh\nprintf '%s\\n' "$ADDRESS" >"$1"\n`);
  chmodSync(join(bin, "nano"), 0o755);
  return { HOME, NO_COLOR, PATH: `${bin}:${dirname(SVC)}:${process.env.PATH}` };
}

/** Runs lines of a shell on a machine. */
function tried(env: Home, lines: string): Promise<Ended> {
  return ended(Bun.spawn(["sh", "-euc", lines], { env, cwd: env.HOME!, stdout: "pipe", stderr: "pipe" }));
}

/** Those that succeed. @returns what they print */
async function run(env: Home, lines: string): Promise<string> {
  const { code, out, err } = await tried(env, lines);
  if (code !== 0) throw new Error(`${lines}\nended with ${code}: ${err}`);
  return out;
}

const FLAG = "--engine-file ~/.svc/database";
const DETAIL = "--json --with-text --with-score";
/** What a machine answers, with all digits of the scores. */
const answers = (env: Home) =>
  run(env, ["deploy", "VPN", "night"].map((words) => `svc mem search notes ${words} ${DETAIL} ${FLAG}`).join("\n"));

/** Searches until an answer has a text: a server saves within a fifth of a second. */
async function found(env: Home, words: string, text: string): Promise<void> {
  for (let answer = ""; !answer.includes(text); )
    answer = await run(env, `svc mem search notes ${words} --with-text ${FLAG}`);
}

describe.skipIf(!hasServers())(`the guide ${NEEDS}`, () => {
  let primary: PostgresServer;
  let standby: Standby;
  let [a, b, c]: Home[] = [];
  let address: string;

  /** Sets up a machine that has no memory yet. */
  async function joined(): Promise<Home> {
    const env = await machine();
    await run({ ...env, ADDRESS: address }, writeAddress!);
    return env;
  }

  async function expectAlike(...machines: Home[]): Promise<void> {
    const all = await Promise.all(machines.map(answers));
    for (const one of all) expect(one).toBe(all[0]!);
  }

  beforeAll(async () => {
    primary = await PostgresServer.start({ dir: join(scratchDir(), "primary") });
    standby = await Standby.of(primary, { dir: join(scratchDir(), "standby") });
  }, TIMEOUT_MS);

  test(
    "a database is made, and the first machine copies its memory there",
    async () => {
      const sql = client(primary.url);
      for (const statement of own(role).replace("…", PASSWORD).split(";\n")) await sql.unsafe(statement);
      const form = page.blocks.find(({ code }) => code.startsWith("postgres://"))!.code;
      address = own(form)
        .replace("PASSWORD", encodeURIComponent(PASSWORD))
        .replace("db1.example.org", `127.0.0.1:${primary.port}`)
        .replace("db2.example.org", `127.0.0.1:${standby.port}`);
      a = await joined();
      await run(a, "svc mem add notes 'the deploy needs the VPN' 'staging is rebuilt at night'");
      await run(a, "svc mem add docs 'how we deploy'");
      expect(await run(a, copyThere!)).toContain("copied 2 collections");
      expect(await run(a, use!)).toMatch(/docs[\s\S]*notes[\s\S]*1\. /);
    },
    TIMEOUT_MS,
  );

  test(
    "each further machine finds it, and what one adds is found by all",
    async () => {
      [b, c] = await Promise.all([joined(), joined()]);
      for (const env of [b, c]) expect(await run(env, use!)).toMatch(/docs[\s\S]*notes[\s\S]*1\. /);
      await run(b, `svc mem add notes 'the VPN needs a new certificate each May' ${FLAG}`);
      expect(await answers(a!)).toContain("each May");
      await expectAlike(a!, b, c);
    },
    TIMEOUT_MS,
  );

  test(
    "the primary is lost: what was saved is there, and the machines go on with its standby",
    async () => {
      const socket = join(c!.HOME!, "s.sock");
      const server = ["sh", "-c", `exec svc serve --socket ${socket} --save-interval 0.2 --json ${FLAG}`];
      const served = Bun.spawn(server, { env: c!, cwd: c!.HOME!, stdout: "pipe", stderr: "ignore" });
      try {
        for await (const _ of served.stdout) break;
        const remote = `--remote unix://${socket}`;
        await run(c!, `svc mem add notes 'saved before the loss' ${remote}`);
        await found(b!, "loss", "saved before the loss");
        await primary.kill();
        const { code, err } = await tried(b!, `svc mem add notes 'while no server accepts writes' ${FLAG}`);
        expect([code, err]).toEqual([1, expect.stringContaining("nothing was saved")]);
        expect((await tried(b!, `svc mem search notes loss --with-text ${FLAG}`)).out).toContain(
          "saved before the loss",
        );
        await standby.promote();
        await run(b!, `svc mem add notes 'added by a command after the loss' ${FLAG}`);
        await run(c!, `svc mem add notes 'added through the server after the loss' ${remote}`);
        await found(a!, "server", "through the server");
      } finally {
        served.kill();
        await served.exited;
      }
      expect(await answers(a!)).toContain("the deploy needs the VPN");
      await expectAlike(a!, b!, c!);
    },
    TIMEOUT_MS,
  );

  test(
    "a machine that is lost is replaced, and a copy that was removed is fetched again",
    async () => {
      const before = await answers(a!);
      rmSync(b!.HOME!, { recursive: true });
      b = await joined();
      rmSync(join(c!.HOME!, ".svc/copies"), { recursive: true });
      for (const env of [b, c!]) expect(await answers(env)).toBe(before);
      await run(b, `svc mem add docs 'the new machine' ${FLAG}`);
      expect(await run(c!, `svc mem search docs machine --with-text ${FLAG}`)).toContain("the new machine");
    },
    TIMEOUT_MS,
  );

  test(
    "a collection is altered on one machine, and put in the place of the old one",
    async () => {
      const before = await answers(b!);
      await run(a!, alter!);
      for (const env of [b!, c!]) {
        await run(env, "rm -r ~/.svc/copies/*/notes");
        expect(await answers(env)).toBe(before);
      }
    },
    TIMEOUT_MS,
  );
});
