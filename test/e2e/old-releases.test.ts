/** Releases that are too old for the executable, from wherever they come, and what a packages server may answer with. */
import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeBundle } from "../../src/build/release.ts";
import { releaseKey } from "../../src/build/release-keys.ts";
import { platformTag, releasesPath, runtimePaths } from "../../src/paths.ts";
import { builtLibraries } from "../native.ts";
import { fakeServer } from "../trust/account/helpers.ts";
import { copyOfHome, emptyHome, type Home, ROOT, signedIn, svc } from "./home.ts";

const tag = platformTag()!;
/** The executable's own. */
const OWN: { version: string; release: number } = JSON.parse(
  readFileSync(join(ROOT, ".build/build-info.json"), "utf8"),
);
const older = { ...OWN, release: OWN.release - 1 };

let libraries: { kernel: string; runtime: string };
let original: Home;
beforeAll(async () => {
  libraries = await builtLibraries();
  original = await signedIn();
});

/** This checkout's libraries as another release, signed by the key that the executable knows. */
const bundleOf = (as: typeof OWN, expires = "2999-01-01T00:00:00Z") =>
  makeBundle({ tag, ...as, created: "2020-01-01T00:00:00Z", expires, ...libraries, key: releaseKey(ROOT) });

function fileOf(env: Home, bundle: Uint8Array): string {
  const path = join(env.HOME!, "a.bundle");
  writeFileSync(path, bundle);
  return path;
}
const dir = (env: Home) => runtimePaths(env.SVC_HOME!, tag).dir;

describe("on a machine where nothing is installed, a packages server", () => {
  const ANSWERS: [string, () => Uint8Array, RegExp][] = [
    [
      "with an older release",
      () => bundleOf(older),
      /^svc: release \d+ \(\S+\) is older than this svc \(release \d+\); 'svc/m,
    ],
    [
      "with another version",
      () => bundleOf({ ...OWN, version: "9.0.0" }),
      /^svc: the bundle is of version 9\.0\.0, not \d/m,
    ],
    [
      "with one that has expired",
      () => bundleOf(OWN, "2021-01-01T00:00:00Z"),
      /^svc: the packages server offers release \d+ \(\S+\), which it must not after 2021-01-01T00:00:00Z/m,
    ],
  ];
  test.each(ANSWERS)("%s is not believed", async (_, bundle, message) => {
    const server = fakeServer(() => new Response(bundle() as Uint8Array<ArrayBuffer>));
    const env: Home = { ...emptyHome(), SVC_PACKAGES_URL: server.url };
    for (const words of [
      ["login", "--yes"],
      ["runtime", "install"],
    ]) {
      expect(await svc(env, words)).toMatchObject({ code: 1, err: expect.stringMatching(message) });
      expect(existsSync(dir(env))).toBe(false);
    }
    expect(server.paths).toEqual(Array(2).fill(`/runtime/${OWN.version}/${tag}.bundle`));
    expect((await svc(env, ["mem", "list"])).err).toContain("the native runtime is not installed");
  });
});

test("what has expired is installed from a file, and loaded", async () => {
  const env = copyOfHome(original);
  const file = fileOf(env, bundleOf({ ...OWN, release: OWN.release + 1 }, "2021-01-01T00:00:00Z"));
  expect(await svc(env, ["runtime", "install", "--file", file])).toMatchObject({ code: 0 });
  expect(await svc(env, ["mem", "list"])).toMatchObject({ code: 0 });
});

test("an older release from a file needs --allow-downgrade, and stays over logins until a newer one", async () => {
  const env = copyOfHome(original);
  const install = ["runtime", "install", "--file", fileOf(env, bundleOf(older))];
  rmSync(dir(env), { recursive: true });
  expect(await svc(env, install)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/is older than .*; 'svc runtime install --allow-downgrade' installs it anyway\n$/),
  });
  expect(await svc(env, [...install, "--allow-downgrade"])).toMatchObject({ code: 0 });
  expect(await svc(env, ["mem", "list"])).toMatchObject({ code: 0 });
  expect(await svc(env, ["login", "--yes", "--no-install"])).toMatchObject({ code: 0 });
  expect(await svc(env, ["mem", "list"])).toMatchObject({ code: 0 });
  expect((await svc(env, ["login", "--yes"])).out).toMatch(
    new RegExp(`^installed runtime .*release ${OWN.release}\\)`, "m"),
  );
  expect(await svc(env, ["mem", "list"])).toMatchObject({ code: 0 });
});

test("after an update of svc tool calls name the command, and replace nothing by themselves", async () => {
  const env = copyOfHome(original);
  const file = fileOf(env, bundleOf(older));
  await svc(env, ["runtime", "install", "--file", file, "--allow-downgrade"]);
  // As the executable before left it.
  rmSync(releasesPath(env.SVC_HOME!));
  const { code, err } = await svc(env, ["mem", "list"]);
  expect({ code, err }).toEqual({
    code: 1,
    err:
      `svc: the installed native runtime ${OWN.version} (release ${older.release}) is older than this svc ` +
      `(release ${OWN.release}): 'svc login' or 'svc runtime install' replaces it\n`,
  });
  expect(JSON.parse(readFileSync(join(dir(env), "installed.json"), "utf8")).release).toBe(older.release);
  expect(await svc(env, ["login", "--yes"])).toMatchObject({ code: 0 });
  expect(await svc(env, ["mem", "list"])).toMatchObject({ code: 0 });
});
