/** A team of clients: all connect, and at a message some of them search twice a second. */
import { connect, type RemoteTelys } from "../../../src/remote/client/client.ts";
import { random } from "../../random.ts";
import { orders, TOKEN } from "./processes.ts";
import { NOTES, QUERIES, type TeamFigures } from "./tls-work.ts";

/** Connections that are opened at once. */
const AT_ONCE = 32;
const PERIOD_MS = 500;

const [address, connections, busy] = process.argv.slice(2) as [string, string, string];
const next = orders<{ open?: true; seconds?: number }>();

await next();
const clients: RemoteTelys[] = [];
const start = performance.now();
while (clients.length < Number(connections)) {
  const count = Math.min(AT_ONCE, Number(connections) - clients.length);
  clients.push(...(await Promise.all(Array.from({ length: count }, () => connect(address, { token: TOKEN })))));
}
process.send!({ errors: [], times: [], connectMs: performance.now() - start } satisfies TeamFigures);

for (;;) {
  const { seconds = 0 } = await next();
  const figures: TeamFigures = { errors: [], times: [], connectMs: 0 };
  const until = performance.now() + seconds * 1000;
  await Promise.all(clients.slice(0, Number(busy)).map((client, i) => search(client, i, until, figures)));
  process.send!(figures);
}

/** Two searches a second, at a moment of its own. */
async function search(client: RemoteTelys, i: number, until: number, figures: TeamFigures): Promise<void> {
  const draw = random(i + 1);
  const notes = await client.openCollection(NOTES);
  let due = performance.now() + draw() * PERIOD_MS;
  while (due < until) {
    await Bun.sleep(Math.max(0, due - performance.now()));
    const began = performance.now();
    try {
      await notes.searchText(QUERIES[Math.floor(draw() * QUERIES.length)]!, { topK: 10 });
      figures.times.push(performance.now() - began);
    } catch (error) {
      figures.errors.push((error as Error).message);
    }
    due += PERIOD_MS;
  }
}
