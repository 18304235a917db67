/** `svc serve` beside bare sockets, in-process work, TLS, many connections and abuse. Each subject has its own servers. */
import type { Line } from "./measure.ts";
import { benchAbuse } from "./serve/abuse.ts";
import { benchAdd } from "./serve/add.ts";
import { benchCost } from "./serve/cost.ts";
import { benchCrowd } from "./serve/crowd.ts";
import { benchPing } from "./serve/ping.ts";
import { benchSearch } from "./serve/search.ts";
import { benchTls } from "./serve/tls.ts";

const SUBJECTS: Record<string, () => Promise<Line[]>> = {
  ping: benchPing,
  search: benchSearch,
  cost: benchCost,
  add: benchAdd,
  crowd: benchCrowd,
  tls: benchTls,
  abuse: benchAbuse,
};

/** All subjects, or those that SVC_BENCH_SERVE names (`SVC_BENCH_SERVE=ping,add`). */
export async function benchServe(): Promise<Line[]> {
  const asked = process.env.SVC_BENCH_SERVE?.split(",") ?? Object.keys(SUBJECTS);
  const lines: Line[] = [];
  for (const name of asked) {
    const subject = SUBJECTS[name];
    if (!subject)
      throw new Error(`SVC_BENCH_SERVE: there is no '${name}'; there are ${Object.keys(SUBJECTS).join(", ")}`);
    lines.push(...(await subject()));
  }
  return lines;
}
