/** Repositories that cannot be read, change under a call, or are not one. */
import { beforeAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { repoIdOf } from "../../src/repo/chunks/identity.ts";
import { openStore } from "../fixture.ts";
import { random } from "../random.ts";
import { git, put, rootWith, temporary } from "../repo/helpers.ts";
import { asPlainUser, copyOfHome, SVC, signedIn, svc } from "./home.ts";
import { index, pathsOf, search, withoutGit } from "./indexed.ts";

let home: Record<string, string>;
beforeAll(async () => {
  home = await signedIn();
});

/** Both with git on the machine and without. */
const environments = () => [copyOfHome(home), withoutGit(home)];

/** A repository of many small files, each with a word. */
function manyFiles(word: string, files = 400): string {
  const root = rootWith({});
  for (let i = 0; i < files; i++) {
    put(root, `src/${i % 20}/f${i}.ts`, `export const ${word}${i} = "${word}";\n`.repeat(40));
  }
  git(root, "init", "-q");
  git(root, "add", ".");
  return root;
}

test.skipIf(asPlainUser === undefined)(
  "a folder that cannot be read any more: its hits are marked, and none is without text (as root, needs setpriv)",
  async () => {
    const prefix = asPlainUser!.map((word) => (word === "setpriv" ? Bun.which("setpriv")! : word));
    for (const env of environments()) {
      const root = rootWith({ "closed/a.ts": "export const quokka = 1;\n", "open/b.ts": "export const numbat = 2;\n" });
      git(root, "init", "-q");
      expect(await pathsOf(env, root, prefix)).toEqual(["closed/a.ts", "open/b.ts"]);
      chmodSync(join(root, "closed"), 0);
      try {
        for (const query of ["quokka", "numbat"]) {
          const { hits } = await search(env, root, query, prefix);
          for (const hit of hits) expect(typeof hit.text === "string" || hit.unreadable === true).toBe(true);
        }
        const { hits } = await search(env, root, "numbat", prefix);
        expect(hits[0].metadata.path).toBe("open/b.ts");
      } finally {
        chmodSync(join(root, "closed"), 0o755);
      }
      expect((await search(env, root, "quokka", prefix)).hits[0]).toMatchObject({
        metadata: { path: "closed/a.ts" },
        text: expect.stringContaining("quokka"),
      });
    }
  },
);

test("a repository replaced by a link while it is indexed: nothing of where the link leads gets in", async () => {
  const next = random(17);
  const outside = manyFiles("numbat");
  for (let round = 0; round < 6; round++) {
    const root = manyFiles("quokka");
    const env = environments()[round % 2]!;
    const running = svc(env, ["mem", "index", root, "--json"]);
    await Bun.sleep(60 + 300 * next());
    renameSync(root, `${root}.moved`);
    symlinkSync(outside, root);
    // It may end with an error; another call finds the link, which names another repository.
    await running;
    const { repo_id } = await index(env, `${root}.moved`);
    const ids = JSON.parse((await svc(env, ["mem", "ids", "repo_symbols", "--max-bytes", "0", "--json"])).out).ids;
    expect(ids.filter((id: string) => id.startsWith(repo_id)).length).toBeGreaterThan(300);
    const words = [
      "mem",
      "search",
      "repo_symbols",
      "numbat",
      "--lexical",
      "--top-k",
      "1000",
      "--max-bytes",
      "0",
      "--json",
    ];
    const { hits } = JSON.parse((await svc(env, words)).out);
    // A call that found the link before it looked at anything has indexed the other repository, as that one.
    const wrong = hits.filter((hit: { id: string }) => !hit.id.startsWith(`${repoIdOf(outside)}:`));
    expect({ round, wrong }).toEqual({ round, wrong: [] });
    rmSync(root);
    renameSync(`${root}.moved`, root);
  }
});

test("a FIFO, a folder and a link to a device for files that hold rules", async () => {
  const kinds: Readonly<Record<string, (path: string) => void>> = {
    fifo: (path) => expect(Bun.spawnSync(["mkfifo", path]).success).toBe(true),
    folder: (path) => mkdirSync(path),
    device: (path) => symlinkSync("/dev/zero", path),
  };
  for (const [kind, make] of Object.entries(kinds)) {
    for (const [i, name] of [".gitignore", ".svcignore", ".git/info/exclude"].entries()) {
      const root = rootWith({ "a.ts": "export const a = 1;\n" });
      git(root, "init", "-q");
      rmSync(join(root, name), { force: true });
      mkdirSync(dirname(join(root, name)), { recursive: true });
      make(join(root, name));
      expect({ kind, name, paths: await pathsOf(environments()[i % 2]!, root) }).toEqual({
        kind,
        name,
        paths: ["a.ts"],
      });
    }
  }
});

test("a FIFO in place of a file: its rows are gone, and the others stay", async () => {
  for (const env of environments()) {
    const root = rootWith({ "a.ts": "export const a = 1;\n", "b.ts": "export const b = 1;\n" });
    git(root, "init", "-q");
    git(root, "add", ".");
    expect(await pathsOf(env, root)).toEqual(["a.ts", "b.ts"]);
    rmSync(join(root, "a.ts"));
    expect(Bun.spawnSync(["mkfifo", join(root, "a.ts")]).success).toBe(true);
    expect((await search(env, root, "export")).hits.map((hit: { text?: string }) => typeof hit.text)).toEqual([
      "string",
    ]);
    expect(await pathsOf(env, root)).toEqual(["b.ts"]);
  }
});

test("names that are not UTF-8 are counted, and names that differ by case are two files", async () => {
  for (const env of environments()) {
    const root = rootWith({ "a.ts": "export const a = 1;\n", "Dir/x.ts": "export const x = 1;\n" });
    git(root, "init", "-q");
    git(root, "add", ".");
    writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x66, 0xff, 0x2e, 0x74, 0x73])]), "odd\n");
    expect(await index(env, root)).toMatchObject({ files_tracked: 2, files_skipped: { unreadable: 1 } });
    renameSync(join(root, "a.ts"), join(root, "A.ts"));
    renameSync(join(root, "Dir"), join(root, "dir"));
    expect(await pathsOf(env, root)).toEqual(["A.ts", "dir/x.ts"]);
    put(root, "a.ts", "export const both = 1;\n");
    expect(await pathsOf(env, root)).toEqual(["A.ts", "a.ts", "dir/x.ts"]);
  }
});

test("a bare repository, a .git folder and folders below them are refused, and nothing is written", async () => {
  const root = rootWith({ "a.ts": "export const a = 1;\n" });
  git(root, "init", "-q");
  const bare = join(temporary(), "bare.git");
  git(root, "clone", "-q", "--bare", root, bare);
  for (const env of environments()) {
    for (const path of [bare, join(bare, "refs"), join(root, ".git"), join(root, ".git/objects")]) {
      const { code, err } = await svc(env, ["mem", "index", path]);
      expect({ path, code }).toEqual({ path, code: 1 });
      expect(err).toContain("name the work tree of the repository");
    }
    expect((await svc(env, ["mem", "list", "--json"])).out).not.toContain("repo_symbols");
  }
});

test("two first indexes at once, each killed at some point: the next one has everything once", async () => {
  const next = random(23);
  const root = manyFiles("kowari", 600);
  for (let round = 0; round < 5; round++) {
    const env = environments()[round % 2]!;
    const memory = join(env.HOME!, "memory");
    const own = { ...env, SVC_MEMORY_PATH: memory };
    const started = [0, 1].map(() =>
      Bun.spawn([SVC, "mem", "index", root], { env: own, stdin: "ignore", stdout: "ignore", stderr: "ignore" }),
    );
    await Promise.all(
      started.map(async (child) => {
        await Bun.sleep(40 + 500 * next());
        child.kill("SIGKILL");
        await child.exited;
      }),
    );
    const { repo_id } = await index(own, root);
    const { ids } = JSON.parse((await svc(own, ["mem", "ids", "repo_symbols", "--max-bytes", "0", "--json"])).out);
    expect({ round, rows: ids.length, distinct: new Set(ids).size }).toEqual({ round, rows: 600, distinct: 600 });
    expect(ids.every((id: string) => id.startsWith(`${repo_id}:`))).toBe(true);
    expect(await index(own, root)).toMatchObject({ chunks_added: 0, chunks_deleted: 0, files_tracked: 600 });
    const store = await openStore(memory);
    await store.open("repo_symbols").verify();
    await store.close();
  }
});

test("two first indexes at once, both to their ends", async () => {
  const root = manyFiles("kowari", 300);
  for (const env of environments()) {
    const payloads = await Promise.all([index(env, root), index(env, root)]);
    for (const payload of payloads) expect(payload).toMatchObject({ files_tracked: 300 });
    const { ids } = JSON.parse((await svc(env, ["mem", "ids", "repo_symbols", "--max-bytes", "0", "--json"])).out);
    expect({ rows: ids.length, distinct: new Set(ids).size }).toEqual({ rows: 300, distinct: 300 });
  }
});

const LARGE = process.env.SVC_TEST_LARGE === "1";

test.skipIf(!LARGE)(
  "100,000 files (some minutes: with SVC_TEST_LARGE=1)",
  async () => {
    const root = rootWith({});
    for (let i = 0; i < 100_000; i++) {
      if (i % 100 === 0) mkdirSync(join(root, `d${Math.floor(i / 10_000)}/e${i / 100}`), { recursive: true });
      writeFileSync(
        join(root, `d${Math.floor(i / 10_000)}/e${Math.floor(i / 100)}/f${i}.ts`),
        `export const w${i} = ${i};\n`,
      );
    }
    git(root, "init", "-q");
    git(root, "add", ".");
    const env = copyOfHome(home);
    expect(await index(env, root)).toMatchObject({ files_tracked: 100_000, chunks_added: 100_000 });
    expect(await index(env, root)).toMatchObject({ status: "hit", files_tracked: 100_000 });
    put(root, "d3/e350/f35000.ts", "export const kookaburra = 1;\n");
    expect((await search(env, root, "kookaburra")).hits[0].metadata.path).toBe("d3/e350/f35000.ts");
    const bare = { ...env, PATH: join(env.HOME!, "no-programs") };
    expect(await index(bare, root)).toMatchObject({ files_tracked: 100_000, chunks_added: 0, files_removed: 0 });
  },
  600_000,
);
