/** Connections that break anywhere, many times over: nothing is applied twice, and no answer is wrong. */
import { expect, test } from "bun:test";
import { connect } from "../../../src/remote/client/client.ts";
import { random } from "../../random.ts";
import { ScriptedServer } from "./server.ts";

const SEEDS = [1, 2, 3, 4];
const CALLS = 300;

test.each(SEEDS)(
  "changes over connections that break are applied once, or their error says that it is unknown (seed %d)",
  async (seed) => {
    const next = random(seed);
    const applied: number[] = [];
    using server = new ScriptedServer({
      onBytes(peer) {
        // Now and then in the middle of whatever comes.
        if (next() > 0.02) return false;
        peer.terminate();
        return true;
      },
      onRequest({ op, args }, peer) {
        const place = next();
        if (place < 0.02) return peer.terminate();
        const { ids } = (args ?? {}) as { ids?: string[] };
        if (op === "upsert") applied.push(Number(ids![0]));
        if (place < 0.04) return peer.terminate();
        peer.reply(op === "upsert" ? ids : op === "ids" ? applied.map(String) : null);
        if (place < 0.06) peer.end();
      },
    });
    await using client = await connect(server.address);
    let collection: Awaited<ReturnType<typeof client.openCollection>> | undefined;
    while (!collection) collection = await client.openCollection("c").catch(() => undefined);

    const outcomes: Promise<unknown>[] = [];
    for (let i = 0; i < CALLS; i++) {
      const dim = next() < 0.1 ? 60_000 : 2;
      const outcome =
        next() < 0.8
          ? collection.upsert([new Float32Array(dim)], { ids: [`${i}`] }).then((ids) => expect(ids).toEqual([`${i}`]))
          : collection.ids().then((ids) => expect(ids.every((id) => Number(id) < CALLS)).toBe(true));
      outcome.catch(() => {}); // looked at when all are over
      outcomes.push(outcome);
      if (next() < 0.2) await Promise.allSettled(outcomes.slice(-5));
    }
    const isUpsert = new Set<number>();
    const results = await Promise.allSettled(outcomes);
    results.forEach((result, i) => {
      const times = applied.filter((id) => id === i).length;
      if (times > 0) isUpsert.add(i);
      expect(times).toBeLessThanOrEqual(1);
      if (result.status === "fulfilled") return;
      expect(result.reason).toMatchObject({ type: "OSError" });
      if (!result.reason.message.includes("is not known")) expect(times).toBe(0);
    });
    // What was applied was applied in the order of the calls.
    expect(applied).toEqual(applied.toSorted((a, b) => a - b));
    expect(isUpsert.size).toBeGreaterThan(CALLS / 4);
    expect(server.peers.length).toBeGreaterThan(3);
  },
);
