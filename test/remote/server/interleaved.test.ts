/** Frames of many connections over TLS at once, in pieces that arrive in turns, some of which never become whole. */
import { expect, test } from "bun:test";
import { ask, Honest, large, type Raw, TestServer, until } from "./raw.ts";
import { selfTls } from "./tls-server.ts";

const CONNECTIONS = 24;
const PIECES = 40;

/** A frame with a row of its own, small or for the decoder's thread. */
function frameOf(at: number): Buffer {
  const args = { vectors: [[at, 1]], ids: [`row-${at}`] };
  if (at % 2 === 0) return ask("add", "c", args, at);
  return large({ op: "add", collection: "c", args, id: at });
}

test("each connection gets the answer to its frame, and half a frame changes nothing", async () => {
  await using server = await TestServer.start({ tls: await selfTls() });
  const honest = await Honest.start(server);
  const root = await server.open();
  await root.ok("create_collection", "c", { dim: 2 });
  const raws = await Promise.all(Array.from({ length: CONNECTIONS }, () => server.open()));
  const isCut = (at: number) => at % 3 === 0;
  for (let piece = 0; piece < PIECES; piece++) {
    for (const [at, raw] of raws.entries()) {
      // The connection ends without the rest, in good order or with a reset.
      if (isCut(at) && piece === PIECES / 2) end(raw, at);
      if (isCut(at) && piece >= PIECES / 2) continue;
      const bytes = frameOf(at);
      const cut = (part: number) => Math.floor((bytes.length * part) / PIECES);
      raw.send(bytes.subarray(cut(piece), cut(piece + 1)));
    }
    await Bun.sleep(0);
  }
  for (const [at, raw] of raws.entries()) {
    if (!isCut(at)) expect(await raw.next()).toEqual({ ok: true, result: [`row-${at}`], id: at });
  }
  const whole = raws.flatMap((_, at) => (isCut(at) ? [] : [`row-${at}`]));
  expect((await root.ok("ids", "c")).sort()).toEqual(whole.sort());
  const rest = raws.length - raws.filter((_, at) => isCut(at)).length;
  await until("the cut ones to be gone", async () => (await root.ok("stats")).connections.open === rest + 2);
  await honest.stop();
});

function end(raw: Raw, at: number): void {
  if (at % 2 === 0) raw.shutdown();
  else raw.close();
}
