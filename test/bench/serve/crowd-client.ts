/** Clients of the crowd: opens idle connections on request, then works on others and sends the times of requests. */
import { connect } from "../../../src/remote/client/client.ts";
import { type CrowdFigures, work } from "./crowd-work.ts";
import { orders, TOKEN } from "./processes.ts";
import { RawClient } from "./raw-client.ts";

/** Connections that are opened at once. */
const AT_ONCE = 32;

const [address, busy, seconds] = process.argv.slice(2) as [string, string, string];
const next = orders<{ open?: number; busy?: number }>();

const { open = 0 } = await next();
const idle: RawClient[] = [];
while (idle.length < open) {
  const some = Array.from({ length: Math.min(AT_ONCE, open - idle.length) }, () => RawClient.open(address));
  idle.push(...(await Promise.all(some)));
}
for (const client of idle) await client.request({ op: "ping" });
process.send!({ errors: [], times: {} } satisfies CrowdFigures);

await next();
const clients = await Promise.all(Array.from({ length: Number(busy) }, () => connect(address, { token: TOKEN })));
const figures: CrowdFigures = { errors: [], times: {} };
// The first second is warm-up of both processes.
await Promise.all(
  clients.map((client, i) => work(client, i, performance.now() + 1000, { errors: figures.errors, times: {} })),
);
const until = performance.now() + Number(seconds) * 1000;
await Promise.all(clients.map((client, i) => work(client, 1000 + i, until, figures)));
process.send!(figures);
await next();
