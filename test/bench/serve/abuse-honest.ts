/** The honest clients beside abusers: some that stay connected, and one that reconnects all the time. */

import { connect } from "../../../src/remote/client/client.ts";
import { random, unitVectors } from "../../random.ts";
import { type CrowdFigures, DIM, VECTORS } from "./crowd-work.ts";
import { orders, TOKEN } from "./processes.ts";

const CLIENTS = 4;
const CONNECT_EVERY_MS = 10;

const [address] = process.argv.slice(2) as [string];
const next = orders<{ seconds: number }>();
const query = unitVectors(1, DIM, random(4));

for (;;) {
  const { seconds } = await next();
  const figures: CrowdFigures = { errors: [], times: { ping: [], search: [], connect: [] } };
  const until = performance.now() + seconds * 1000;
  const measured = async (op: string, run: () => Promise<unknown>) => {
    const start = performance.now();
    try {
      await run();
      figures.times[op]!.push(performance.now() - start);
    } catch (error) {
      figures.errors.push(`${op}: ${(error as Error).message}`);
    }
  };
  const stay = async () => {
    await using client = await connect(address, { token: TOKEN });
    const vectors = await client.openCollection(VECTORS);
    while (performance.now() < until) {
      await measured("ping", () => client.ping());
      await measured("search", () => vectors.search(query));
      await Bun.sleep(1);
    }
  };
  const comeAndGo = async () => {
    for (; performance.now() < until; await Bun.sleep(CONNECT_EVERY_MS)) {
      await measured("connect", async () => {
        await using client = await connect(address, { token: TOKEN });
        await client.ping();
      });
    }
  };
  await Promise.all([...Array.from({ length: CLIENTS }, stay), comeAndGo()]);
  process.send!(figures);
}
