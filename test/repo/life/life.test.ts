/** A short life of repositories; long ones: `bun test/repo/life/long.ts`. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { openStore, scratchDir } from "../../fixture.ts";
import { expectedIn } from "./expected.ts";
import { live } from "./life.ts";
import { shortened } from "./shorten.ts";
import { World } from "./world.ts";

/** Printed where a life goes wrong; the same life is lived again with it. */
const SEED = 2;
const STEPS = Array.from({ length: 100 }, (_, i) => i);

test.skipIf(!Bun.which("git")).each([false, true])(
  `a life of two repositories and a linked work tree, seed ${SEED}, without git: %p (needs git)`,
  async (withoutGit) => {
    const dir = scratchDir();
    const life = { seed: SEED, steps: STEPS, every: 20, last: true, withoutGit };
    expect({ seed: SEED, found: await live(life, dir) }).toEqual({ seed: SEED, found: undefined });
    // What was left is checked as every collection is.
    const store = await openStore(join(dir, "memory"));
    await store.open("repo_symbols").verify();
    await store.close();
  },
  // Some seconds, but it starts a dozen processes: on a machine that does much else it takes many times as long.
  240_000,
);

test.skipIf(!Bun.which("git"))("what git lists and svc documents as left out (needs git)", () => {
  const world = new World(scratchDir(), 1);
  world.write(world.one, ".env", "A=1\n");
  world.write(world.one, "x.log", "ignored\n");
  world.write(world.one, "dist/kept.md", "by force\n");
  world.write(world.one, "blank.md", "\n\n");
  world.write(world.one, "null.bin", "a\0b");
  world.git(world.one, "add", "-f", "dist/kept.md");
  world.git(world.one, "clone", "-q", world.library, "clone");
  world.git(world.one, "submodule", "--quiet", "add", world.library, "sub");
  expect([...expectedIn(world, world.one)!.paths].sort()).toEqual([
    ...[".gitignore", ".gitmodules", "README.md", "build/kept.js", "dist/kept.md", "docs/guide.md"],
    ...["src/deep/part.py", "src/main.ts", "sub/build/tool.ts", "sub/lib.ts"],
  ]);
});

test("a list of steps is shortened to those that are needed", async () => {
  const needed = [7, 40, 41];
  const found = (steps: number[]) => ({ step: 99, lines: ["wrong"], taken: steps.map((step) => `${step}: x`) });
  const shortest = await shortened(found(STEPS), async (steps) => {
    return needed.every((step) => steps.includes(step)) ? found(steps) : undefined;
  });
  expect(shortest.taken).toEqual(["7: x", "40: x", "41: x"]);
});
