/** What a search of a repository reads, counted in the system calls of the executable. */
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { signedIn, svc } from "./home.ts";

test.skipIf(!Bun.which("strace"))(
  "a search resolves its workspace once and reads the fingerprints once, whatever it finds (needs strace)",
  async () => {
    const env = await signedIn();
    const root = join(env.HOME!, "project");
    mkdirSync(root);
    for (let i = 0; i < 12; i++) writeFileSync(join(root, `file-${i}.ts`), `export const aardvark${i} = ${i};\n`);
    const question = ["mem", "repo-search", "aardvark", "--top-k", "10", "--with-text", "--json"];
    const where = [...question, "--workspace", root];
    expect(await svc(env, where)).toMatchObject({ code: 0 });
    // A file stamped less than two seconds before a run is read again by the next.
    await Bun.sleep(2100);
    expect(await svc(env, where)).toMatchObject({ code: 0 });
    const log = join(env.HOME!, "calls");
    const prefix = ["strace", "-f", "-e", "trace=openat,statfs,readlink", "-o", log];
    const again = await svc(env, where, "", { prefix });
    const { index_status, hits } = JSON.parse(again.out);
    expect({ index_status, texts: hits.map(({ text }: { text: string }) => text.slice(0, 21)) }).toEqual({
      index_status: "hit",
      texts: Array(10).fill("export const aardvark"),
    });
    const calls = readFileSync(log, "utf8").split("\n");
    const count = (pattern: RegExp) => calls.filter((line) => pattern.test(line)).length;
    expect({
      fingerprints: count(/openat\(.*\.fingerprints"/),
      statfs: count(/statfs\(.*\/project"/),
    }).toEqual({ fingerprints: 1, statfs: 1 });
  },
);
