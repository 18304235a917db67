/** Several repositories and a linked work tree in one memory, through the executable. */
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { git } from "../repo/helpers.ts";
import { signedIn, svc } from "./home.ts";

/** A folder of files, as a person has them. */
function project(home: string, name: string): string {
  const root = join(realpathSync(home), name);
  mkdirSync(root);
  for (let i = 0; i < 20; i++) {
    writeFileSync(
      join(root, `${name}-${i}.ts`),
      `/** ${name} ${i}: takes the lock. */\nexport const ${name}${i} = ${i};\n`,
    );
  }
  return root;
}

test("another repository and a linked work tree change neither an answer nor, where nothing is new, a byte", async () => {
  const env = await signedIn();
  const home = env.HOME!;
  const main = project(home, "heron");
  git(main, "init", "-q");
  git(main, "add", ".");
  git(main, "commit", "-qm", "first");
  const json = async (words: string[], cwd?: string) => {
    const { code, out, err } = await svc(env, ["mem", ...words, "--json"], "", cwd === undefined ? {} : { cwd });
    expect({ code, err }).toEqual({ code: 0, err: "" });
    return JSON.parse(out);
  };
  const search = (root: string) =>
    json(["repo-search", "who takes the lock heron7", "--top-k", "10", "--workspace", root]);
  const ids = (answer: { hits: { id: string }[] }) => answer.hits.map(({ id }) => id.slice(17));
  const alone = await search(main);
  // A file stamped less than two seconds before a run is read again by the next.
  await Bun.sleep(2100);
  expect((await search(main)).index_status).toBe("hit");

  const other = project(home, "plover");
  await json(["index", other]);
  const linked = join(realpathSync(home), "linked");
  git(main, "worktree", "add", "-q", linked);
  expect(await json(["index", linked])).toMatchObject({ status: "built", files_tracked: 20 });

  const memory = join(env.SVC_HOME!, "memory");
  const bytes = () =>
    readdirSync(memory, { recursive: true, encoding: "utf8" }).map((name) => {
      const { ino, size, mtimeNs } = statSync(join(memory, name), { bigint: true });
      return [name, ino, size, mtimeNs];
    });
  const before = bytes();
  const again = await search(main);
  expect(bytes()).toEqual(before);
  expect(again).toEqual({ ...alone, index_status: "hit" });
  expect(ids(await search(linked))).toEqual(ids(alone));

  const { repositories } = await json(["repos"]);
  expect(repositories.map(({ root }: { root: string }) => root).sort()).toEqual([main, linked, other].sort());
  git(main, "worktree", "remove", linked);
  expect((await search(main)).index_status).toBe("hit");
  expect((await json(["count", "repo_symbols"])).count).toBe(40);
  expect(await json(["repos", "--forget", "plover"], home)).toMatchObject({ forgotten: other, deleted: 20 });
  expect((await json(["repos"])).repositories).toMatchObject([{ root: main, files: 20, rows: 20, exists: true }]);
  expect(await svc(env, ["mem", "repos", "--forget", other])).toMatchObject({
    code: 1,
    out: "",
    err: `svc: no repository '${other}' is indexed: 'svc mem repos' lists those that are\n`,
  });
});
