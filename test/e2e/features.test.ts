/** What a licence's features and tier are good for: each command needs its own. */
import { beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LocalStore } from "../../src/api/local-store.ts";
import { accountPaths, authorityPaths } from "../../src/paths.ts";
import { IS_REMOTE, SKIPPED } from "../mcp/remote.ts";
import { failure, signed } from "../trust/account/helpers.ts";
import { claimsIn } from "./aged.ts";
import { copyOfHome, type Home, Session, SVC, signedIn, svc } from "./home.ts";

let original: Home;
beforeAll(async () => {
  original = await signedIn();
  expect((await svc(original, ["mem", "add", "notes", "We deploy blue-green.", "--id", "deploy"])).code).toBe(0);
});

/** A licence of a home's local authority with these features. */
async function licence(env: Home, features: string[], tier = "community"): Promise<string> {
  const home = env.SVC_HOME!;
  const claims = { ...claimsIn(home), products: { svc: { tier, features } } };
  return signed(claims, { alg: "RS256" }, readFileSync(authorityPaths(home).licenseKey, "utf8"));
}

/** A home whose login's licence has these features only. */
async function having(...features: string[]): Promise<Home> {
  const env = copyOfHome(original);
  await relicense(env, ...features);
  mkdirSync(join(env.HOME!, "project"));
  writeFileSync(join(env.HOME!, "project", "a.ts"), "export const deploy = 1;\n");
  return env;
}

async function relicense(env: Home, ...features: string[]): Promise<void> {
  const path = accountPaths(env.SVC_HOME!).license;
  writeFileSync(path, `${await licence(env, features)}\n`, { mode: 0o600 });
}

/** The sentence of a command that needs `feature`. */
const missing = (use: string, feature: string, ...has: string[]) =>
  `${use} needs the feature '${feature}', and the licence, of tier "community", has ` +
  `${has.map((one) => `"${one}"`).join(", ")}: ask the administrator of your authority for it, then run 'svc login'`;

describe("without its feature", () => {
  test.skipIf(IS_REMOTE)(
    `a tool is refused, the list of tools is not, and the next login needs no restart ${SKIPPED.start}`,
    async () => {
      const env = await having("memory");
      const session = await Session.open(env);
      expect((await session.client.listTools()).tools).toHaveLength(19);
      const refused = { text: `PermissionError: ${missing("svc mcp", "mcp", "memory")}`, isError: true };
      expect(await session.raw("svc_list_collections")).toEqual(refused);
      expect(await session.raw("svc_get", { collection: "notes", ids: ["deploy"] })).toEqual(refused);
      await relicense(env, "mcp");
      expect((await session.raw("svc_list_collections")).isError).toBeFalse();
      const repo = await session.raw("svc_workspace_info");
      expect(repo).toEqual({
        text: `PermissionError: ${missing("'svc mcp' for repositories", "repo", "mcp")}`,
        isError: true,
      });
      await relicense(env, "mcp", "repo");
      const found = await session.call("svc_repo_search", { query: "deploy", workspace: join(env.HOME!, "project") });
      expect(found.hits).toHaveLength(1);
    },
  );

  test("svc mem is refused, its verbs for repositories too, and nothing is made", async () => {
    const env = await having("mcp", "serve", "repo");
    for (const [name, ...words] of [
      ["svc mem list", "mem", "list"],
      ["svc mem add", "mem", "add", "other", "text"],
      ["svc mem index", "mem", "index", "project"],
    ]) {
      const ended = await svc(env, words);
      expect(ended).toEqual({ code: 1, out: "", err: `svc: ${missing(name!, "memory", "mcp", "serve", "repo")}\n` });
    }
    for (const words of [["check"], ["backup", "copy"]])
      expect((await svc(env, ["mem", ...words])).err).toContain("needs the feature 'memory'");
    const memory = await having("memory");
    for (const words of [["index", "project"], ["repo-search", "deploy", "--workspace", "project"], ["repos"]]) {
      const ended = await svc(memory, ["mem", ...words]);
      expect(ended).toMatchObject({ code: 1, out: "" });
      expect(ended.err).toContain(`'svc mem ${words[0]}' for repositories needs the feature 'repo'`);
    }
    expect((await svc(memory, ["mem", "list", "--json"])).out).not.toContain("other");
  });

  test("svc serve is refused, but for a licence that it is asked to check", async () => {
    const env = await having("memory");
    const socket = join(env.HOME!, "s.sock");
    const serve = (...more: string[]) => ["serve", "--socket", socket, ...more];
    const refused = await svc(env, serve());
    expect(refused).toEqual({ code: 1, out: "", err: `svc: ${missing("svc serve", "serve", "memory")}\n` });
    expect(await serves(env, serve("--require-license"))).toBe(0);
    expect(await serves({ ...env, SVC_LICENSE: await licence(env, ["mcp"]) }, serve("--require-license"))).toBe(0);

    const team = { ...env, SVC_LICENSE: await licence(env, ["serve"], "team") };
    expect(await serves(team, serve("--require-tier", "team"))).toBe(0);
    expect(await serves(team, serve("--require-license", "--require-tier", "team"))).toBe(0);
    for (const [given, tier, message] of [
      [team.SVC_LICENSE, "community", 'the licence is of tier "team", not "community"'],
      [team.SVC_LICENSE, "Team", 'the licence is of tier "team", not "Team"'],
      ["", "team", 'the licence is of tier "community", not "team"'],
      [await licence(env, ["mcp"], "team"), "team", "svc serve needs the feature 'serve'"],
    ] as const) {
      const ended = await svc({ ...env, SVC_LICENSE: given }, serve("--require-tier", tier));
      expect(ended).toMatchObject({ code: 1, out: "" });
      expect(ended.err).toContain(message);
    }
  });
});

/** Starts a server, and ends it once it listens. @returns its exit code */
async function serves(env: Home, words: string[]): Promise<number> {
  await using child = Bun.spawn([SVC, ...words], { env, stdout: "pipe", stderr: "pipe" });
  const { value } = await child.stdout.getReader().read();
  expect(new TextDecoder().decode(value)).toStartWith("listening on");
  child.kill("SIGTERM");
  return child.exited;
}

test("a program needs the feature of the memory", async () => {
  const [env, other] = [await having("mcp"), await having("memory")];
  const error = await failure(() => LocalStore.open(join(env.HOME!, "m"), { env }));
  expect(error).toMatchObject({ type: "PermissionError", code: "PermissionError.feature_missing" });
  expect(error.message).toStartWith("this program needs the feature 'memory'");
  const store = await LocalStore.open(undefined, { env: other });
  expect(await store.collections()).toEqual(["notes"]);
  await store.close();
});
