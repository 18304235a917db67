/** Damage of a node's copy: it reaches no other node, and the copy is made again. */
import { describe, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasServers, NEEDS } from "./installed.ts";
import { add, expectSame, fresh, generationOf, type Node, nodeOf, TIMEOUT_MS, useServer } from "./replicas.ts";

const fileOf = ({ folder }: Node, kind: string) =>
  join(folder, readdirSync(folder).find((name) => name.startsWith(`${kind}-`))!);

function flip(path: string, at = 0.5): void {
  const bytes = readFileSync(path);
  bytes[Math.floor(bytes.length * at)]! ^= 1;
  writeFileSync(path, bytes);
}

describe.skipIf(!hasServers())(`damage of a copy ${NEEDS}`, () => {
  const used = useServer();

  describe.each([false, true])("while the node runs: %p", (isRunning) => {
    /** What a look at the sizes finds is fetched again by itself. */
    const DAMAGES: [string, boolean, (node: Node) => void][] = [
      ["a flipped byte of the delta", false, (node) => flip(fileOf(node, "delta"))],
      ["a flipped byte of the base", false, (node) => flip(fileOf(node, "base"))],
      ["a truncated delta", true, (node) => truncateSync(fileOf(node, "delta"), 100)],
      ["a delta that is gone", true, (node) => rmSync(fileOf(node, "delta"))],
      ["a base that is gone", true, (node) => rmSync(fileOf(node, "base"))],
      ["a manifest that is gone", true, (node) => rmSync(join(node.folder, "collection.json"))],
      ["a manifest that is garbage", true, (node) => writeFileSync(join(node.folder, "collection.json"), "{")],
      ["a folder that is gone", true, (node) => rmSync(node.folder, { recursive: true })],
    ];

    test.each(DAMAGES)(
      "%s reaches no other node",
      async (_, isFetched, damage) => {
        const { server, a, b } = used;
        await a.process.value({ call: "compact", keepHistory: false });
        await a.process.value(add(fresh(5)));
        await b.process.reach(await generationOf(server));
        if (!isRunning) await b.process.killed();
        damage(b);
        if (!isRunning) await b.process.restart();
        await b.process.value({ call: "follow" });
        if (isFetched) {
          await b.process.value(add());
          await expectSame(server, [a, b]);
        }
        const calls = [
          add(),
          { call: "verify" },
          { call: "beside" },
          { call: "compact", keepHistory: false },
          add(),
        ] as const;
        for (const call of calls) await b.process.call(call);
        await a.process.value(add());
        const c = await nodeOf(server);
        await expectSame(server, [a, c]);
        // The copy is replaced once it is removed.
        await b.process.killed();
        rmSync(b.folder, { recursive: true, force: true });
        await b.process.restart();
        await expectSame(server, [a, b, c]);
      },
      TIMEOUT_MS,
    );
  });
});
