/** A compaction that no caller waits for, while another node saves without a pause. */
import { describe, expect, test } from "bun:test";
import { hasServers, NEEDS } from "./installed.ts";
import { add, expectSame, fresh, TIMEOUT_MS, useServer } from "./replicas.ts";

describe.skipIf(!hasServers())(`compactions ${NEEDS}`, () => {
  const used = useServer();

  test(
    "succeed while another node saves, and nothing is lost",
    async () => {
      const { server, a, b } = used;
      const ids: string[] = [];
      for (let i = 0; i < 5; i++) {
        let isOver = false;
        const saved = (async () => {
          while (!isOver) {
            const rows = fresh();
            await b.process.value(add(rows));
            ids.push(...rows.map(({ id }) => id));
          }
        })();
        const compacted = await a.process.call({ call: "beside" });
        isOver = true;
        await saved;
        expect(compacted).toEqual({ value: true });
      }
      expect(ids.length).toBeGreaterThan(5);
      const found = await expectSame(server, [a, b]);
      expect(found).toEqual(expect.arrayContaining(ids));
    },
    TIMEOUT_MS,
  );
});
