/**
 * Nodes whose clocks are hours apart. Deadlines are durations, and what has to be compared by time is compared by the
 * database's clock: a wrong clock ends no lease, and removes nothing that another node needs.
 */
import { describe, expect, test } from "bun:test";
import { clockAhead } from "../e2e/clock.ts";
import { scratchDir } from "../fixture.ts";
import { client } from "./client.ts";
import { hasServers, NEEDS } from "./installed.ts";
import { add, expectSame, fresh, generationOf, type Node, nodeOf, TIMEOUT_MS, useServer } from "./replicas.ts";

/** Longer than the hour for which the database has files that are not used any more. */
const HOURS = 5;

const isPossible = hasServers() && process.platform === "linux";

describe.skipIf(!isPossible)(`nodes with other clocks (needs Linux) ${NEEDS}`, () => {
  const used = useServer();

  describe.each([HOURS, -HOURS])("%p hours from the others' clock", (hours) => {
    /** A node whose clock is wrong. */
    const wrong = () => nodeOf(used.server, scratchDir(), clockAhead(hours * 3600));

    test(
      "changes and compactions of all take turns, and all answer alike",
      async () => {
        const { server, a, b } = used;
        const c = await wrong();
        const apart = (await c.process.value<number>({ call: "now" })) - Date.now();
        expect(Math.round(apart / 3_600_000)).toBe(hours);
        for (let i = 0; i < 6; i++) {
          const rows = fresh();
          const both = await Promise.all([a, c].map(({ process }) => process.call(add(rows))));
          const codes = both.map((one) => (one !== "killed" && "code" in one ? one.code : "made"));
          expect(codes.sort()).toEqual(["KeyError.id_exists", "made"]);
          // A row of one clock is replaced by the other one.
          const [one, other] = i % 2 ? [b, c] : [c, b];
          await one.process.value({ call: "upsert", rows: [{ ...rows[0]!, version: 1 }] });
          if (i % 3 === 0) await other.process.value({ call: "compact", keepHistory: true });
        }
        expect((await expectSame(server, [a, b, c])).length).toBe(86);
      },
      TIMEOUT_MS,
    );

    test(
      "a node that is frozen with the lease does not commit when it wakes, on whichever side the clock is wrong",
      async () => {
        const { server, a } = used;
        const c = await wrong();
        for (const [frozen, other] of [
          [a, c],
          [c, a],
        ] as [Node, Node][]) {
          await other.process.reach(await generationOf(server));
          const rows = fresh();
          const reached = frozen.proxy.once({ sends: /commit\0/, passes: false, action: "silence" });
          const call = frozen.process.call(add(rows));
          await reached;
          await frozen.process.freeze();
          await other.process.value(add());
          frozen.process.thaw();
          frozen.proxy.pass();
          expect(await call).toHaveProperty("code");
          expect(await call).not.toHaveProperty("code", "OSError.outcome_unknown");
          expect(await expectSame(server, [a, c])).not.toContain(rows[0]!.id);
        }
      },
      TIMEOUT_MS,
    );

    test(
      "what a node still has to fetch is not removed before its time",
      async () => {
        const { server, a, b } = used;
        const c = await wrong();
        const sql = client(server.url);
        const storedFiles = async (): Promise<string[]> => {
          const [{ files }] = await sql`select array_agg(distinct file) as files from svc.svc_chunk`;
          return files;
        };
        await b.process.killed();
        await a.process.value(add());
        const before = await storedFiles();
        for (const { process } of [c, a]) {
          await process.value(add());
          await process.value({ call: "compact", keepHistory: false });
          await process.value({ call: "sweep" });
        }
        const after = await storedFiles();
        expect(before.filter((file) => !after.includes(file))).toEqual([]);
        expect(after.length).toBeGreaterThan(before.length);
        const [{ commits }] = await sql`select count(*)::int as commits from svc.svc_commit`;
        expect(commits).toBeGreaterThan(8);
        await b.process.restart();
        await expectSame(server, [a, b, c]);
      },
      TIMEOUT_MS,
    );
  });
});
