/** Steps of a life: calls of two processes that share the memory. */
import type { Caller } from "./caller.ts";
import type { World } from "./world.ts";

/** What a call may use and replace. */
export interface Calls {
  world: World;
  callers: [Caller, Caller];
  /** Starts another process on the memory. */
  start(): Promise<Caller>;
}

type CallStep = (calls: Calls) => Promise<unknown>;

export const QUERIES = ["alpha branch", "function walk_commit", "where is the parse error", "README", "window_vector"];

const call = (what: string, args: (world: World) => object): CallStep => {
  return ({ world, callers }) => world.oneOf(callers).call(what, args(world));
};

export const CALL_STEPS: Readonly<Record<string, [number, CallStep]>> = {
  search: [8, call("repo_search", (world) => ({ workspace: world.root(), query: world.oneOf(QUERIES), max_bytes: 0 }))],
  index: [4, call("index_repo", (world) => ({ path: world.root() }))],
  "index some files": [3, call("index_repo", (world) => ({ path: world.root(), max_files: 1 + world.pick(4) }))],
  "index in no time": [
    2,
    call("index_repo", (world) => ({ path: world.root(), max_seconds: world.oneOf([1e-6, 0.001, 0.01]) })),
  ],
  "search in no time": [
    1,
    call("repo_search", (world) => ({ workspace: world.root(), query: "alpha", max_seconds: 0.001 })),
  ],
  "index by force": [1, call("index_repo", (world) => ({ path: world.root(), force: true }))],
  "index a folder": [
    2,
    async ({ world, callers }) => {
      const root = world.root();
      const folder = world.path(root, "folder");
      // Of a folder that git ignores, or that is a repository of its own, the rows are of another repository.
      if (folder === undefined || !isPartOf(world, root, folder)) return;
      await world.oneOf(callers).call("index_repo", { path: `${root}/${folder}` });
    },
  ],
  "both index": [
    2,
    async ({ world, callers }) => {
      const [path, other] = [world.root(), world.root()];
      await Promise.all([callers[0].call("index_repo", { path }), callers[1].call("index_repo", { path: other })]);
    },
  ],
  forget: [
    1,
    async ({ world, callers }) => {
      const root = world.root();
      // It may have no rows to forget.
      await world
        .oneOf(callers)
        .call("forget", { root })
        .catch((error: Error) => {
          if (!error.message.includes("is indexed")) throw error;
        });
    },
  ],
  // Files that were stamped so long before a run are not read again by the next.
  pause: [1, () => Bun.sleep(2100)],
  "killed while it indexes": [
    2,
    async (calls) => {
      const { world, callers } = calls;
      const which = world.pick(2) as 0 | 1;
      const force = world.pick(2) === 0;
      await callers[which].killIn(world.pick(60), "index_repo", { path: world.root(), force });
      callers[which] = await calls.start();
    },
  ],
};

function isPartOf(world: World, root: string, folder: string): boolean {
  const top = world.git(`${root}/${folder}`, "rev-parse", "--show-toplevel");
  const ignored = world.git(`${root}/${folder}`, "check-ignore", "-q", "--", ".");
  return top.out.toString().trim() === root && !ignored.ok;
}
