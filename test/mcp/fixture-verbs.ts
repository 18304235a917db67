/**
 * Verbs that store nothing, to test the protocol. A search's query is a small command, `sleep 300` or `big 1000000`; the
 * information on the workspace is what the client says of its roots.
 */
import { appendFileSync } from "node:fs";
import { CancelledError, ValueError } from "../../src/errors.ts";
import type { ArgumentsOf, CallContext, Verbs } from "../../src/memory/requests.ts";

/** Appends to the file that the environment names. */
export const log = (line: string) => {
  if (process.env.FIXTURE_LOG) appendFileSync(process.env.FIXTURE_LOG, `${line}\n`);
};

async function search(a: ArgumentsOf<"search">, c: CallContext) {
  const [command, argument] = a.query.split(" ");
  if (command === "sleep") {
    await Bun.sleep(Number(argument));
    log(`slept ${argument}`);
  }
  if (command === "wait") await untilCancelled(c);
  if (command === "throw") throw new Error("a bug with a stack");
  if (command === "missing") throw new ValueError(`collection '${a.collection}' does not exist (create it first)`);
  const text = command === "big" ? "x".repeat(Number(argument)) : JSON.stringify(a);
  return { collection: a.collection, query: a.query, hits: [{ id: "1", text }] };
}

function untilCancelled(c: CallContext): Promise<never> {
  return new Promise((_, reject) => {
    const keepAlive = setInterval(() => {}, 1000);
    const cancel = () => {
      clearInterval(keepAlive);
      log("cancelled");
      reject(new CancelledError("stopped; the last saved state stands"));
    };
    if (c.signal?.aborted) cancel();
    c.signal?.addEventListener("abort", cancel, { once: true });
  });
}

/** The verbs. */
export const verbs: Partial<Verbs> = {
  search,
  async compact(a, c) {
    for (let step = 1; step <= 1000; step++) {
      c.progress?.(step, 1000, "merging");
      if (step % 20 === 0) await Bun.sleep(10);
    }
    return { compacted: a.collection };
  },
  async build_ivf(_, c) {
    c.progress?.(0, 0, "sampling");
    return untilCancelled(c);
  },
  async add(a) {
    return { added: a.texts.length, collection: a.collection };
  },
  // As the real one, it asks the client; the answer is what it said.
  async workspace_info(_, c) {
    return { roots: await c.roots?.(), project: c.project } as never;
  },
  async get(a) {
    return { collection: a.collection, rows: a.ids.map((id) => ({ id, found: false })) };
  },
};
