/**
 * The scripts of the workflows, with stand-ins for npm, gh, codesign and notarytool, which note how they were called. That
 * for WSL2 needs Windows.
 */
import { describe, expect, test } from "bun:test";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SVC } from "../../e2e/home.ts";
import { largeDir, scratchDir } from "../../fixture.ts";
import { copied, run, SCRIPTS, StandIns } from "./stand-ins.ts";

describe("prepare-release", () => {
  const prepare = (tag: string, changelog = "## 1.2.3-rc.1\n\nNew.\n\n## 1.2.3\n\nNew.\n") => {
    const npm = new StandIns({ npm: "" });
    const script = copied("prepare-release", { "CHANGELOG.md": changelog });
    return { ...run(script, [], { RELEASE_TAG: tag, GH_REPO: "owner/name" }, npm), calls: npm.calls() };
  };

  test.each(["v1.2.3", "v1.2.3-rc.1"])("installs packages for %s", (tag) => {
    const { code, calls } = prepare(tag);
    expect([code, calls]).toEqual([0, ["npm ci"]]);
  });

  test("refuses a tag that is not a version, and one that the changelog does not have, before anything else", () => {
    for (const tag of ["v1.2", "v1.2.3-next", "v1.2.3+build"]) {
      const { code, said, calls } = prepare(tag);
      expect([code, said, calls]).toEqual([1, `a tag is v1.2.3 or v1.3.0-rc.1, and this one is ${tag}\n`, []]);
    }
    const { code, said, calls } = prepare("v1.2.3", "## 1.2.30\n\nOther.\n## 1.2.3\n\n");
    expect([code, said, calls]).toEqual([1, "CHANGELOG.md has nothing under ## 1.2.3\n", []]);
  });
});

describe("make-release", () => {
  const env = { RELEASE_TAG: "v1.2.3", RELEASE_KEY: "the private key", NEXT_RELEASE_PUBKEY: "the next key" };

  test("has the key in a file only while it runs, and in no environment", () => {
    const kept = join(scratchDir(), "kept");
    const npm = new StandIns({
      npm: `{ stat -c %a "$SVC_RELEASE_KEY_FILE"; cat "$SVC_RELEASE_KEY_FILE" \\
        "$SVC_NEXT_RELEASE_PUBKEY_FILE"; env; } > '${kept}'`,
    });
    const { code, left } = run(copied("make-release"), [], env, npm);
    expect([code, left]).toEqual([0, []]);
    expect(npm.calls()).toEqual(["npm run release -- --version 1.2.3 --sign-macos sign-macos"]);
    const [mode, ...rest] = readFileSync(kept, "utf8").split("\n");
    expect([mode, rest[0], rest[1]]).toEqual(["600", "the private key", "the next key"]);
    expect(rest.slice(2).join("\n")).not.toContain("the private key");
  });

  test("passes on the number, the floor and the keys that end", () => {
    const npm = new StandIns({ npm: "" });
    const more = { RELEASE_NUMBER: "7", RELEASE_FLOOR: "1.0.0", RELEASE_END_KEYS: "aa bb" };
    expect(run(copied("make-release"), [], { ...env, ...more }, npm).code).toBe(0);
    expect(npm.calls()[0]).toEndWith("--sign-macos sign-macos --release 7 --floor 1.0.0 --end-key aa --end-key bb");
  });

  test("leaves no key where the release fails", () => {
    const { code, left } = run(copied("make-release"), [], env, new StandIns({ npm: "exit 1" }));
    expect([code, left]).toEqual([1, []]);
  });

  test.each(Object.keys(env))("says that %s is missing", (name) => {
    const { code, said } = run(copied("make-release"), [], { ...env, [name]: "" }, new StandIns({ npm: "" }));
    expect([code, said]).toEqual([1, expect.stringContaining(`${name}: the `)]);
  });
});

describe("sign-macos", () => {
  const env = {
    // As the program base64 of Linux has it, in lines.
    APPLE_CERTIFICATE: Buffer.from("certificate".repeat(20)).toString("base64").replace(/.{76}/g, "$&\n"),
    APPLE_CERTIFICATE_PASSWORD: "password of the file",
    APPLE_IDENTITY: "Developer ID Application: Example",
    APPLE_NOTARY_KEY: "notary key",
    APPLE_NOTARY_KEY_ID: "ID",
    APPLE_NOTARY_ISSUER: "ISSUER",
  };
  const programs = {
    security: `[ "$*" != "list-keychains -d user" ] || echo '    "/keys/login.keychain-db"'`,
    codesign: "",
    ditto: "",
    xcrun: `[ "$2" != submit ] || echo '{"id":"7","status":"Accepted"}'`,
  };

  test("signs, notarises and starts the executable, and leaves nothing", () => {
    const certificate = join(scratchDir(), "certificate");
    const apple = new StandIns({
      ...programs,
      security: `[ "$1" != import ] || cp "$2" '${certificate}'\n${programs.security}`,
    });
    const executable = join(largeDir(), "svc");
    cpSync(SVC, executable);
    const { code, out, left } = run(join(SCRIPTS, "sign-macos"), [executable], env, apple);
    expect([code, left]).toEqual([0, []]);
    expect(out).toMatch(/^svc \S+ /);
    const calls = apple.calls().map((call) => call.replace(/-p [0-9a-f]{32}|-k [0-9a-f]{32}/, ""));
    expect(calls.map((call) => call.split(" ").slice(0, 2).join(" "))).toEqual([
      "security list-keychains",
      "security create-keychain",
      "security unlock-keychain",
      "security import",
      "security set-key-partition-list",
      "security list-keychains",
      "codesign --force",
      "codesign --verify",
      "ditto -c",
      "xcrun notarytool",
      "security list-keychains",
      "security delete-keychain",
    ]);
    expect(calls[5]).toBe("security list-keychains -d user -s signing.keychain-db login.keychain-db");
    expect(calls.at(-2)).toBe("security list-keychains -d user -s login.keychain-db");
    expect(readFileSync(certificate, "utf8")).toBe("certificate".repeat(20));
    expect(calls[6]).toContain("--options runtime --timestamp --entitlements macos.entitlements svc");
  });

  test.each(Object.keys(programs))("fails where %s does, without its keychain", (name) => {
    const apple = new StandIns({ ...programs, [name]: name === "security" ? `[ "$1" != import ]` : "exit 1" });
    const { code, left } = run(join(SCRIPTS, "sign-macos"), [SVC], env, apple);
    expect([code === 0, left]).toEqual([false, []]);
    expect(apple.calls().at(-1)).toStartWith("security delete-keychain");
  });

  test("fails where Apple refuses the file, and prints why", () => {
    const xcrun = `case $2 in submit) echo '{"id":"7","status":"Invalid"}' ;; log) echo "the reason of $3" ;; esac`;
    const { code, said, left } = run(join(SCRIPTS, "sign-macos"), [SVC], env, new StandIns({ ...programs, xcrun }));
    expect([code, left]).toEqual([1, []]);
    expect(said).toContain("the reason of 7");
  });

  test("the entitlements are those that Bun and a library of our own need", () => {
    const text = readFileSync(join(SCRIPTS, "macos.entitlements"), "utf8");
    const names = [...text.matchAll(/<key>com\.apple\.security\.cs\.([\w-]+)<\/key>\s*<true\/>/g)].map(
      ([, name]) => name,
    );
    expect(names).toEqual(["allow-jit", "allow-unsigned-executable-memory", "disable-library-validation"]);
  });
});

describe("draft-release", () => {
  const changelog = "# Changelog\n\n## 1.2.3\n\nNew ([a](docs/a.md#b), [c](https://d)).\n\n## 1.2.30\n\nOther.\n";
  const folder = scratchDir();
  for (const name of ["SHA256SUMS", "svc-linux-x86_64.gz"]) writeFileSync(join(folder, name), name);

  const NONE = "echo 'release not found' >&2; exit 1";

  function draft(tag: string, view: string) {
    const notes = join(scratchDir(), "notes");
    const gh = new StandIns({
      gh: `case $2 in view) ${view} ;; create) while [ "$1" != --notes-file ]; do shift; done; cp "$2" '${notes}' ;; esac`,
    });
    const script = copied("draft-release", { "CHANGELOG.md": changelog });
    const ended = run(script, [folder], { RELEASE_TAG: tag, GH_REPO: "owner/name" }, gh);
    const text = existsSync(notes) ? readFileSync(notes, "utf8").trim() : undefined;
    return { ...ended, calls: gh.calls(), text };
  }

  test("takes the changelog's part of the version, with links to its files, and all files", () => {
    const { code, calls, text, left } = draft("v1.2.3", NONE);
    const link = "https://github.com/owner/name/blob/v1.2.3/docs/a.md#b";
    expect([code, text, left]).toEqual([0, `New ([a](${link}), [c](https://d)).`, []]);
    const create = "gh release create v1.2.3 --draft --verify-tag --title svc 1.2.3 --notes-file";
    expect(calls.at(-1)).toMatch(new RegExp(`^${create} \\S+ SHA256SUMS svc-linux-x86_64.gz$`));
  });

  test("replaces a draft, and leaves what is published", () => {
    expect(draft("v1.2.3", "echo true").calls[1]).toBe("gh release delete v1.2.3 --yes");
    const { code, said, calls } = draft("v1.2.3", "echo false");
    expect([code, said.trim(), calls.length]).toEqual([1, "v1.2.3 is published already", 1]);
  });

  test("makes no second one where GitHub does not answer", () => {
    const { code, said, calls } = draft("v1.2.3", "echo 'connection refused' >&2; exit 1");
    expect([code, said.trim(), calls.length]).toEqual([1, "connection refused", 1]);
  });

  test("refuses a version that the changelog does not have", () => {
    const { code, said, calls } = draft("v1.2.4", NONE);
    expect([code, said.trim(), calls]).toEqual([1, "CHANGELOG.md has nothing under ## 1.2.4", []]);
  });
});

describe("publishing", () => {
  const folder = scratchDir();
  writeFileSync(join(folder, "SHA256SUMS"), "sums");
  writeFileSync(join(folder, "svc.rb"), 'class Svc < Formula\n  version "1.2.3"\nend\n');
  writeFileSync(join(folder, "server.json"), '{"name":"svc"}');

  test.each([
    ["the same files", "true", 0],
    ["another file", `printf others > "$5/svc.rb"`, 1],
    ["a file less", `rm "$5/svc.rb"`, 1],
  ])("a draft with %s", (_, change, expected) => {
    const gh = new StandIns({ gh: `[ "$2" != download ] || { cp '${folder}'/* "$5"; ${change}; }` });
    const { code, left } = run(join(SCRIPTS, "publish-release"), [folder], { RELEASE_TAG: "v1.2.3" }, gh);
    expect([code, left]).toEqual([expected, []]);
    expect(gh.calls().includes("gh release edit v1.2.3 --draft=false")).toBe(expected === 0);
  });

  test("packages: the main one last, those that are there already not again, a prerelease not as the latest", async () => {
    const config = join(scratchDir(), "npmrc");
    const npm = new StandIns({
      npm: `case "$*" in
        whoami) cat "$NPM_CONFIG_USERCONFIG" > '${config}' ;;
        "config get registry") echo https://registry.example/ ;;
        "view @svc-memory/svc-linux-x64@1.2.3-rc.1 version") echo 1.2.3-rc.1 ;;
      esac`,
    });
    const packages = scratchDir();
    for (const name of ["svc", "svc-darwin-arm64", "svc-linux-x64"]) {
      const manifest = { name: `@svc-memory/${name}`, version: "1.2.3-rc.1" };
      const archive = new Bun.Archive({ "package/package.json": JSON.stringify(manifest) }, { compress: "gzip" });
      writeFileSync(join(packages, `svc-memory-${name}-1.2.3-rc.1.tgz`), await archive.bytes());
    }
    const env = { NODE_AUTH_TOKEN: "the token" };
    const { code, said, left } = run(join(SCRIPTS, "publish-packages"), [packages], env, npm);
    expect([code, said, left]).toEqual([0, "", []]);
    // npm puts the token in its place.
    expect(readFileSync(config, "utf8")).toBe(`//registry.example/:_authToken=\${NODE_AUTH_TOKEN}\n`);
    const published = npm.calls().filter((call) => call.startsWith("npm publish"));
    const rest = "--provenance --access public --tag next";
    expect(published).toEqual([
      `npm publish svc-memory-svc-darwin-arm64-1.2.3-rc.1.tgz ${rest}`,
      `npm publish svc-memory-svc-1.2.3-rc.1.tgz ${rest}`,
    ]);
  });

  test("no packages without a login at the registry", () => {
    const npm = new StandIns({ npm: `[ "$1" != whoami ]` });
    const { code } = run(join(SCRIPTS, "publish-packages"), [folder], { NODE_AUTH_TOKEN: "wrong" }, npm);
    expect([code, npm.calls()]).toEqual([1, ["npm config get registry", "npm whoami"]]);
  });

  const tap = (tag: string, gh: StandIns) =>
    run(join(SCRIPTS, "publish-tap"), [folder], { RELEASE_TAG: tag, TAP_REPO: "owner/homebrew-tap" }, gh);

  test("neither the formula nor the registry's entry of a prerelease", () => {
    const gh = new StandIns({ gh: "", curl: "" });
    expect(tap("v1.2.3-rc.1", gh).code).toBe(0);
    expect(run(join(SCRIPTS, "publish-registry"), [folder], { RELEASE_TAG: "v1.2.3-rc.1" }, gh).code).toBe(0);
    expect(gh.calls()).toEqual([]);
  });

  test("no formula where GitHub does not answer", () => {
    const { code, said } = tap("v1.2.3", new StandIns({ gh: "echo 'connection refused' >&2; exit 1" }));
    expect([code, said]).toEqual([1, "connection refused\n"]);
  });

  test.each(["", "old hash"])("the formula, with '%s' in its place", (old) => {
    const missing = "{ echo 'gh: Not Found (HTTP 404)' >&2; exit 1; }";
    const gh = new StandIns({ gh: `[ "$2" = --method ] || ${old ? `echo '${old}'` : missing}` });
    const { code } = tap("v1.2.3", gh);
    const content = readFileSync(join(folder, "svc.rb")).toString("base64");
    expect(code).toBe(0);
    const put = gh.calls().at(-1)!;
    expect(put).toContain(`-f message=svc 1.2.3 -f content=${content}`);
    expect(put.includes("-f sha=old hash")).toBe(old !== "");
  });

  test("the registry's entry, with the token that the registry gives for the workflow's", async () => {
    const seen: string[] = [];
    await using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      async fetch(request) {
        const { pathname, search } = new URL(request.url);
        seen.push(`${pathname}${search} ${request.headers.get("authorization") ?? ""} ${await request.text()}`);
        if (pathname === "/token") return Response.json({ value: "workflow's" });
        return pathname === "/v0/publish" ? Response.json({}) : Response.json({ registry_token: "registry's" });
      },
    });
    const child = Bun.spawn(["bash", join(SCRIPTS, "publish-registry"), folder], {
      env: {
        PATH: process.env.PATH!,
        TMPDIR: scratchDir(),
        RELEASE_TAG: "v1.2.3",
        MCP_REGISTRY: server.url.origin,
        ACTIONS_ID_TOKEN_REQUEST_URL: `${server.url.origin}/token?a=1`,
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: "job's",
      },
      stdout: "ignore",
    });
    expect(await child.exited).toBe(0);
    expect(seen).toEqual([
      "/token?a=1&audience=mcp-registry Bearer job's ",
      `/v0/auth/github-oidc  {"oidc_token":"workflow's"}`,
      `/v0/publish Bearer registry's {"name":"svc"}`,
    ]);
  });
});

test("soak runs the long tests for the minutes that it is given", () => {
  const npm = new StandIns({ npm: "" });
  expect(run(copied("soak"), ["15"], {}, npm).code).toBe(0);
  expect(npm.calls()).toEqual(["npm ci", "npm run test:soak -- --minutes 15"]);
});
