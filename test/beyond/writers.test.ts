/** Several writers at a time on each of two nodes: what waits together is committed together, and nothing is lost. */
import { describe, expect, test } from "bun:test";
import { hasServers, NEEDS } from "./installed.ts";
import { expectSame, fresh, generationOf, type Node, TIMEOUT_MS, useServer } from "./replicas.ts";

const WRITERS = 8;
const ROWS_EACH = 15;

describe.skipIf(!hasServers())(`writers of two nodes ${NEEDS}`, () => {
  const used = useServer();

  test(
    "every acknowledged row is there once, in fewer commits than rows",
    async () => {
      const { server, a, b } = used;
      const before = await generationOf(server);
      const rows = [a, b].map(() => Array.from({ length: WRITERS }, () => fresh(ROWS_EACH)));
      const write = ({ process }: Node, i: number) =>
        process.value({ call: "writers", each: rows[i]!, stages: i === 1 });
      await Promise.all([a, b].map(write));
      const added = rows.flat(2).map(({ id }) => id);
      expect((await generationOf(server)) - before).toBeLessThan(added.length / 2);
      const ids = await expectSame(server, [a, b]);
      expect(ids.slice(80).toSorted()).toEqual(added.toSorted());
    },
    TIMEOUT_MS,
  );
});
