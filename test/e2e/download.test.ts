/** `svc runtime install` from packages servers that break, lie or have another release than the one asked for. */
import { beforeAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeBundle } from "../../src/build/release.ts";
import { publicPem, releaseKey } from "../../src/build/release-keys.ts";
import { downloadsPath, platformTag, runtimePaths } from "../../src/paths.ts";
import { keyId } from "../../src/trust/runtime/anchor.ts";
import { type TestKey, testKey } from "../keys.ts";
import { newHome } from "../trust/account/helpers.ts";
import { type Answers, packagesServer } from "../trust/account/packages-server.ts";
import { copyOfHome, emptyHome, type Home, ROOT, SVC, signedIn, svc } from "./home.ts";

const tag = platformTag()!;
const NEWER = 9_000_000;

let original: Home;
/** The executable's own, which it asks for. */
const OWN: { version: string; release: number } = JSON.parse(
  readFileSync(join(ROOT, ".build/build-info.json"), "utf8"),
);
const { version } = OWN;
let bundle: Uint8Array;
beforeAll(async () => {
  original = await signedIn();
  bundle = bundleOf({ version, release: NEWER });
});

/** The installed libraries as another release, signed by the key that the executable trusts. */
function bundleOf(as: { version: string; release: number; expires?: string }): Uint8Array {
  const { kernelLibrary: kernel, runtimeLibrary: runtime } = runtimePaths(original.SVC_HOME!, tag);
  return makeBundle({ tag, ...as, created: "2026-01-01T00:00:00Z", kernel, runtime, key: releaseKey(ROOT) });
}

const installed = (env: Home) =>
  JSON.parse(readFileSync(runtimePaths(env.SVC_HOME!, tag).installed, "utf8")) as { release: number };
const half = () => bundle.length >> 1;

/** A home and a server; `run` runs `svc runtime install` with it. */
async function scene(answers: Answers, env: Home = copyOfHome(original)) {
  const server = await packagesServer(answers);
  const home: Home = { ...env, SVC_PACKAGES_URL: server.url };
  const run = (...words: string[]) => svc(home, ["runtime", "install", ...words]);
  /** Interrupts an install once it has asked for the bundle. */
  const interrupt = async () => {
    const child = Bun.spawn([SVC, "runtime", "install"], { env: home, stdout: "pipe", stderr: "pipe" });
    while (server.asked.length === 0) await Bun.sleep(5);
    await Bun.sleep(50);
    child.kill("SIGINT");
    expect(await child.exited).toBe(130);
    return new Response(child.stderr).text();
  };
  return { env: home, run, interrupt, asked: server.asked, url: server.url };
}

const good: Answers = () => ({ body: bundle });

async function expectStands(env: Home, before: number): Promise<void> {
  expect(installed(env).release).toBe(before);
  expect(await svc(env, ["runtime", "verify"])).toMatchObject({ code: 0 });
}

describe("a download that breaks", () => {
  test("is repeated in the same run", async () => {
    const { env, run, asked } = await scene((_, index) => ({ body: bundle, ...(index === 0 && { cut: half() }) }));
    const { code, out, err } = await run("--json");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(JSON.parse(out)).toMatchObject({ version, release: NEWER });
    expect(asked.map(({ path }) => path)).toEqual(Array.from({ length: 2 }, () => `/runtime/${version}/${tag}.bundle`));
    // The key of this machine's local authority is not for other servers.
    expect(asked.map(({ headers }) => headers.authorization)).toStrictEqual([undefined, undefined]);
    await expectStands(env, NEWER);
  });

  test("in each attempt, and one that is interrupted, leave the old install", async () => {
    const { env, run, asked } = await scene(() => ({ body: bundle, cut: half() }));
    const before = installed(env).release;
    expect(await run()).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^svc: cannot reach the packages server/),
    });
    expect(asked).toHaveLength(3);
    await expectStands(env, before);
    const stopped = await scene(() => ({ body: bundle, stop: half() }), env);
    expect(await stopped.interrupt()).toBe("svc: interrupted\n");
    await expectStands(env, before);
  });

  test("removes what an older svc kept of one", async () => {
    const { env, run } = await scene(good);
    mkdirSync(downloadsPath(env.SVC_HOME!), { mode: 0o700 });
    writeFileSync(join(downloadsPath(env.SVC_HOME!), "abc-1.part"), "of an older svc");
    expect(await run()).toMatchObject({ code: 0 });
    expect(existsSync(downloadsPath(env.SVC_HOME!))).toBe(false);
    await expectStands(env, NEWER);
  });
});

test("a bundle that cannot be used is an error, and is not downloaded again", async () => {
  const { env, run, asked } = await scene(() => ({ body: bundle.toReversed() }));
  const before = installed(env).release;
  expect(await run()).toMatchObject({
    code: 1,
    err: expect.stringContaining("svc: the runtime bundle cannot be used: it is not a gzip file"),
  });
  expect(asked).toHaveLength(1);
  await expectStands(env, before);
});

describe("a bundle that is signed, but not to be offered", () => {
  const yesterday = () => new Date(Date.now() - 86_400_000).toISOString();
  const expired = () => bundleOf({ version, release: NEWER, expires: yesterday() });
  const REFUSED: [string, () => Uint8Array, string[], RegExp][] = [
    [
      "another version than this svc's",
      () => bundleOf({ version: "8.0.0", release: NEWER }),
      [],
      /^svc: the bundle is of version 8\.0\.0, not/,
    ],
    ["another version than was asked for", () => bundle, ["--version", "8.0.0"], /is of version \S+, not 8\.0\.0/],
    ["one that has expired", expired, [], /^svc: the packages server offers release 9000000 .* must not after/],
    ["one that has expired, asked for", expired, ["--allow-downgrade", "--version", version], /must not after/],
  ];
  test.each(REFUSED)("%s is refused", async (_, make, words, message) => {
    const { env, run, asked } = await scene(() => ({ body: make() }));
    const before = installed(env).release;
    expect(await run(...words)).toMatchObject({ code: 1, out: "", err: expect.stringMatching(message) });
    expect(asked).toHaveLength(1);
    await expectStands(env, before);
  });

  test("an older release than svc's own is refused where nothing was ever installed", async () => {
    const older = bundleOf({ version, release: OWN.release - 1 });
    const { env, run } = await scene(() => ({ body: older }), emptyHome());
    expect(await svc(env, ["login", "--yes", "--no-install"])).toMatchObject({ code: 0 });
    expect(await run()).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^svc: release \d+ .* is older than this svc/),
    });
    expect(readdirSync(join(env.SVC_HOME!, "runtime"))).not.toContain(tag);
    expect(await run("--allow-downgrade")).toMatchObject({ code: 0 });
    expect(await svc(env, ["runtime", "verify"])).toMatchObject({ code: 0 });
  });

  test("one that expires after it was installed goes on working", async () => {
    const env = copyOfHome(original);
    const file = join(env.HOME!, "expired.bundle");
    writeFileSync(file, expired());
    expect(await svc(env, ["runtime", "install", "--file", file])).toMatchObject({ code: 0 });
    expect(await svc(env, ["mem", "add", "notes", "text"])).toMatchObject({ code: 0 });
  });
});

describe("a server that has nothing for this svc", () => {
  const other = testKey("roll-foreign");
  /** A release of a key that the executable does not know, and one that only claims to be of the key that it knows. */
  const foreign = () => signedBy(other, keyId(other.publicPem));
  const forged = () => signedBy(other, keyId(publicPem(releaseKey(ROOT))));
  const signedBy = ({ privateKey, publicPem }: TestKey, key_id: string) => {
    const { kernelLibrary: kernel, runtimeLibrary: runtime } = runtimePaths(original.SVC_HOME!, tag);
    const as = { tag, version, release: NEWER, created: "2026-01-01T00:00:00Z", kernel, runtime };
    const honestly = makeBundle({ ...as, key: privateKey });
    if (key_id === keyId(publicPem)) return honestly;
    const unpacked = Buffer.from(Bun.gunzipSync(honestly as Uint8Array<ArrayBuffer>)).toString("latin1");
    return Bun.gzipSync(Buffer.from(unpacked.replace(keyId(publicPem), key_id), "latin1"));
  };
  const none: Answers = () => ({ status: 404, body: '{"error":"not_found"}' });
  const LACKS: [string, Answers, RegExp][] = [
    ["the version", none, /^the packages server has no runtime \S+ for \S+$/],
    ["a key that it knows", () => ({ body: foreign() }), /names a release key that this svc does not know \(/],
  ];
  test.each(LACKS)("%s: the embedded bundle is installed and verified, and it is said", async (_, answer, reason) => {
    const { env, run, url } = await scene(answer, emptyHome());
    expect(await svc(env, ["login", "--yes", "--no-install"])).toMatchObject({ code: 0 });
    const { code, out, err } = await run();
    expect(code).toBe(0);
    expect(out).toMatch(/^installed runtime \S+ \(release \d+\) for \S+ from the bundle that came with svc$/m);
    expect(err).toMatch(new RegExp(`^note: ${url}: .*; the bundle that came with svc is used instead\n`));
    await expectStands(env, OWN.release);
    const json = JSON.parse((await run("--version", version, "--json")).out);
    expect(json).toMatchObject({ source: "embedded", release: OWN.release, instead_of: { source: url } });
    expect(json.instead_of.reason).toMatch(reason);
    const login = await svc(env, ["login", "--yes", "--json"]);
    expect(login).toMatchObject({ code: 0, err: expect.stringContaining("is used instead") });
    expect(JSON.parse(login.out).runtime).toMatchObject({ source: "embedded", instead_of: { source: url } });
  });

  const REFUSED: [string, Answers, string[], RegExp][] = [
    ["another version was asked for", none, ["--version", "8.0.0"], /: the packages server has no runtime 8\.0\.0 for/],
    ["a signature does not fit", () => ({ body: forged() }), [], /telys_manifest\.sig does not fit/],
    ["it fails", () => ({ status: 500 }), [], /answered with status 500/],
    ["it asks for a key", () => ({ status: 401 }), [], /refuses the API key/],
  ];
  test.each(REFUSED)("where %s it is an error, and the old install stands", async (_, answer, words, message) => {
    const { env, run } = await scene(answer);
    const before = installed(env).release;
    expect(await run(...words)).toMatchObject({ code: 1, out: "", err: expect.stringMatching(message) });
    await expectStands(env, before);
  });

  test("under a key of the environment, which did not sign the embedded bundle, the server's answer is the error", async () => {
    const { env } = await scene(none);
    const under = { ...env, SVC_RELEASE_PUBKEY: other.publicPem };
    expect(await svc(under, ["runtime", "install"])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^svc: the packages server has no runtime/),
    });
  });

  test("a newer install is not replaced by the embedded bundle", async () => {
    const { env, run } = await scene(none);
    const file = join(env.HOME!, "newer.bundle");
    writeFileSync(file, bundle);
    expect(await run("--file", file)).toMatchObject({ code: 0 });
    expect(await run()).toMatchObject({
      code: 1,
      err: expect.stringMatching(/release \d+ .* older than the/),
    });
    expect(await svc(env, ["login", "--yes"])).toMatchObject({ code: 0, out: expect.stringMatching(/^kept runtime/m) });
    await expectStands(env, NEWER);
  });
});

describe("what is said of a download", () => {
  const slow: Answers = () => ({ body: bundle, pieceBytes: Math.ceil(bundle.length / 20), everyMs: 20 });

  test("on a terminal is a line that is drawn over", async () => {
    const { env } = await scene(slow);
    const decoder = new TextDecoder();
    let shown = "";
    const child = Bun.spawn([SVC, "runtime", "install"], {
      env: { ...env, TERM: "xterm" },
      terminal: {
        ...{ cols: 100, rows: 24 },
        data(_, bytes) {
          shown += decoder.decode(bytes, { stream: true });
        },
      },
    });
    expect(await child.exited).toBe(0);
    const lines = shown.split("\r\u001b[2K").slice(1);
    expect(lines[0]).toMatch(/^downloading the runtime: \[[= ]+\] \d+ %, \d+\.\d of \d+\.\d MB/);
    expect(lines.at(-1)).toStartWith("installed runtime");
  });

  test("elsewhere, of a short one, is nothing", async () => {
    const { run } = await scene(slow);
    const { code, out, err } = await run("--json");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out.trim().split("\n")).toHaveLength(1);
  });
});

/** A file system of its own, where mounting is allowed. */
const mount = process.platform === "linux" ? Bun.which("mount") : null;
const disk = newHome();
const tmpfs = ["-t", "tmpfs", "-o", "size=40m", "none", disk];
const umount = () => Bun.spawnSync(["umount", "--lazy", disk]).success;
const canMount = mount !== null && Bun.spawnSync([mount, ...tmpfs]).success && umount();

test.skipIf(!canMount)("a full disk leaves the old install (needs the right to mount)", async () => {
  expect(Bun.spawnSync([mount!, ...tmpfs]).success).toBe(true);
  try {
    const local = { ...emptyHome(), SVC_HOME: join(disk, "svc") };
    cpSync(original.SVC_HOME!, local.SVC_HOME, { recursive: true });
    const { env, run } = await scene(good, local);
    const before = installed(env).release;
    Bun.spawnSync(["dd", "if=/dev/zero", `of=${join(disk, "rest")}`, "bs=4096"], { stderr: "ignore" });
    expect(await run()).toMatchObject({ code: 1, err: expect.stringMatching(/^svc: cannot \w+ .*ENOSPC/) });
    Bun.spawnSync(["rm", join(disk, "rest")]);
    await expectStands(env, before);
  } finally {
    umount();
  }
});
