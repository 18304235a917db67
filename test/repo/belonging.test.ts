/** Which files belong to a root: the same as git says, and what `.svcignore` and folders without git add to that. */
import { expect, test } from "bun:test";
import { Belonging } from "../../src/repo/belonging.ts";
import { listed } from "./belonging-list.ts";
import { listedByGit, makeRandomRepository, randomFrom } from "./git-random.ts";
import { temporary } from "./helpers.ts";

const REPOSITORIES = 25;

for (const first of [1000, 2000, 3000, 4000]) {
  test(`the same files as git lists in random repositories (seeds from ${first})`, () => {
    for (let seed = first; seed < first + REPOSITORIES; seed++) {
      const [root, home] = [temporary(), temporary()];
      makeRandomRepository(root, home, randomFrom(seed));
      const belonging = Belonging.open(root, { HOME: home });
      expect({ seed, paths: listed(root, belonging) }).toEqual({ seed, paths: listedByGit(root, home) });
      expect(belonging.problem).toBeUndefined();
    }
  });
}
