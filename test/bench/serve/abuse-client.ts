/** Abusive clients: receives how many of each kind and for how long, sends when the last of them was dropped. */
import { HEADER_BYTES } from "../../../src/remote/wire/frame.ts";
import { orders } from "./processes.ts";
import { RawClient } from "./raw-client.ts";

/** How many of each. */
export interface Abusers {
  /** Connected; sends nothing. */
  halfOpen: number;
  /** Unauthenticated; a byte every 200 ms of what could become an `auth`. */
  slowUnauthenticated: number;
  /** Authenticated; a byte every 200 ms of a frame. */
  slowClients: number;
  /** Authenticated; the header of a frame of 256 MiB, some of it, and nothing more. */
  announcers: number;
}

export interface AbuseFigures {
  /** Connections that were not dropped. */
  open: number;
  /** Seconds from the start of its abuse until the slowest was dropped. */
  lastDropS: number;
}

const SLOW_MS = 200;
const ANNOUNCED_BYTES = 256 * 1024 * 1024;
const SOME_BYTES = 16 * 1024;
const AT_ONCE = 50;

interface Abuser {
  client: RawClient;
  since: number;
  droppedAt?: number;
}

const [address] = process.argv.slice(2) as [string];
const next = orders<Abusers & { seconds: number }>();

for (;;) {
  const { halfOpen, slowUnauthenticated, slowClients, announcers, seconds } = await next();
  const end = performance.now() + seconds * 1000;
  const all: Abuser[] = [];
  const slow: Abuser[] = [];
  const drip = setInterval(() => {
    for (const { client } of slow) if (!client.isClosed) client.write(Buffer.from("{"));
  }, SLOW_MS);
  const watch = setInterval(() => {
    for (const abuser of all) if (abuser.client.isClosed) abuser.droppedAt ??= performance.now();
  }, 20);
  await open(announcers, true, (abuser) => abuser.client.write(frameStart(SOME_BYTES)));
  await open(slowClients, true, (abuser) => {
    abuser.client.write(frameStart(0));
    slow.push(abuser);
  });
  await open(slowUnauthenticated, false, (abuser) => {
    abuser.client.write(frameStart(0, 1000));
    slow.push(abuser);
  });
  await open(halfOpen, false, () => {});
  await Bun.sleep(end - performance.now());
  clearInterval(drip);
  clearInterval(watch);
  const left = all.filter(({ droppedAt }) => droppedAt === undefined);
  const times = all.map(({ since, droppedAt = performance.now() }) => (droppedAt - since) / 1000);
  for (const { client } of left) client.close();
  process.send!({ open: left.length, lastDropS: Math.max(...times) } satisfies AbuseFigures);

  async function open(count: number, auth: boolean, begin: (abuser: Abuser) => void): Promise<void> {
    for (let done = 0; done < count; done += AT_ONCE) {
      const some = Array.from({ length: Math.min(AT_ONCE, count - done) }, () => RawClient.open(address, { auth }));
      for (const client of await Promise.all(some)) {
        const abuser = { client, since: performance.now() };
        all.push(abuser);
        begin(abuser);
      }
    }
  }
}

function frameStart(bytes: number, announced = ANNOUNCED_BYTES): Buffer {
  const start = Buffer.alloc(HEADER_BYTES + bytes, 0x20);
  start.writeUInt32BE(announced, 0);
  return start;
}
