/** `add` of a thousand vectors: base64 as our client sends it, beside lists of numbers as a simple client does. */

import { connect } from "../../../src/remote/client/client.ts";
import { random, unitVectors } from "../../random.ts";
import { signedInHome } from "../home.ts";
import { type Line, median, timed } from "../measure.ts";
import { Server, TOKEN } from "./processes.ts";
import { RawClient } from "./raw-client.ts";

const ROWS = 1000;
const DIM = 384;
const RUNS = 25;
const WARM = 5;

/** Two collections that grow side by side, one by each form. */
export async function benchAdd(): Promise<Line[]> {
  using home = signedInHome();
  await using server = await Server.start(home, "unix");
  await using client = await connect(server.address, { token: TOKEN });
  const raw = await RawClient.open(server.address);
  const packed = await client.createCollection("packed", { dim: DIM });
  await client.createCollection("lists", { dim: DIM });
  const floats = unitVectors(ROWS, DIM, random(9));
  const vectors = Array.from({ length: ROWS }, (_, i) => [...floats.subarray(i * DIM, (i + 1) * DIM)]);
  const [base64, lists]: [number[], number[]] = [[], []];
  for (let run = 0; run < RUNS; run++) {
    const ids = Array.from({ length: ROWS }, (_, i) => `${run}-${i}`);
    base64.push(await timed(() => packed.add(floats, { ids })));
    lists.push(await timed(() => raw.request({ op: "add", collection: "lists", args: { vectors, ids } })));
  }
  const [ours, theirs] = [median(base64.slice(WARM)), median(lists.slice(WARM))];
  const ratio = theirs / ours;
  raw.close();
  return [
    {
      what: `add of ${ROWS} x ${DIM} in base64 (p50 ${ours.toFixed(1)} ms a call)`,
      value: (ROWS / ours) * 1000,
      unit: "rows/s",
      against: `the same as lists of numbers (p50 ${theirs.toFixed(1)} ms)`,
      ratio,
      goal: "at least 5",
      met: ratio >= 5,
    },
  ];
}
