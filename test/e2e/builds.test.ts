/** Two builds of one version and release, which differ by the release key only, are told apart. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { BuildInfo } from "../../src/build-info.ts";
import { keyId } from "../../src/trust/runtime/anchor.ts";
import { testKey } from "../keys.ts";
import { executableOf } from "./executables.ts";
import { emptyHome, ROOT, SVC, svc } from "./home.ts";

const OWN: BuildInfo = JSON.parse(readFileSync(join(ROOT, ".build/build-info.json"), "utf8"));
const other = testKey("roll-1");

test("svc version and the manifest of a collection name the commit and the release key", async () => {
  const { version, release } = OWN;
  const twin = await executableOf("twin", { version, release, keys: [other, testKey("roll-2")] });
  const commit = OWN.commit === null ? "" : `commit ${OWN.commit}, `;
  for (const [exe, key] of [
    [SVC, OWN.releaseKeyId],
    [twin, keyId(other.publicPem)],
  ] as const) {
    const env = emptyHome();
    const run = async (...words: string[]) => {
      const { code, out, err } = await svc(env, words, "", { exe });
      if (code !== 0) throw new Error(`svc ${words.join(" ")}: ${err}`);
      return out;
    };
    const build = `${commit}release key ${key}`;
    expect(await run("version")).toBe(`svc ${version} (runtime release ${release}, ${OWN.platform}, ${build})\n`);
    expect(JSON.parse(await run("version", "--json"))).toMatchObject({ version, commit: OWN.commit, release_key: key });
    await run("login", "--yes");
    await run("mem", "add", "notes", "hello world", "--path", env.HOME!);
    const manifest = JSON.parse(readFileSync(join(env.HOME!, "notes/collection.json"), "utf8"));
    expect(manifest).toMatchObject({ telys_version: version, telys_build: build });
  }
});
