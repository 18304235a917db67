/** What a client waits for its hooks, in a memory of many rows: from the start of the executable to its end. */
import { signedInHome } from "./home.ts";
import { type Line, median, quantile } from "./measure.ts";

const ROWS = 100_000;
const RUNS = 40;
const P95_MS_MAX = 300;

const WHO = ["the billing cron", "the staging cluster", "the login page", "the invoice export", "the image worker"];
const WHAT = ["fails", "was moved", "is deployed", "needs a warm cache", "was paused", "is signed", "times out"];
const WHEN = ["on Tuesdays", "since the migration", "before each release", "for enterprise customers", "at night"];

/** Notes of a team: the same few things again and again, with words of their own. */
function note(i: number): string {
  const word = (n: number) => `w${((i * 2_654_435_761 + n * 40_503) % 60_000).toString(36)}`;
  const pick = (from: readonly string[], n: number) => from[Math.floor(i / n) % from.length]!;
  return `Note ${i}: ${pick(WHO, 1)} ${pick(WHAT, 5)} ${pick(WHEN, 35)}; ask about ${word(1)} ${word(2)} ${word(3)}.`;
}

const EVENTS: Record<string, [event: string, input: object]> = {
  "an ordinary prompt": ["prompt", { prompt: "fix the failing test" }],
  "a prompt that is searched for": ["prompt", { prompt: "who paused the billing cron for enterprise customers?" }],
  "the beginning of a session": ["session-start", { source: "startup" }],
  "the beginning after a compaction": ["session-start", { source: "compact" }],
  "the end of a turn": ["stop", { stop_hook_active: false }],
};

export async function benchHooks(): Promise<Line[]> {
  using home = signedInHome();
  const rows = Array.from({ length: ROWS }, (_, i) => JSON.stringify({ id: `n${i}`, text: note(i) })).join("\n");
  const imported = Bun.spawnSync([home.svc, "mem", "import", "notes", "--from", "jsonl"], {
    env: home.env,
    stdin: Buffer.from(rows),
    stderr: "ignore",
  });
  if (!imported.success) throw new Error("the notes could not be imported");
  const times = Object.values(EVENTS).map(() => ({ ms: [] as number[], cpu: [] as number[] }));
  for (let run = 0; run <= RUNS; run++) {
    for (const [i, [event, fields]] of Object.values(EVENTS).entries()) {
      const input = Buffer.from(JSON.stringify({ session_id: "bench", cwd: home.dir, ...fields }));
      const start = performance.now();
      const command = [home.svc, "mcp", "hook", event, "--client", "claude-code"];
      const ended = Bun.spawnSync(command, { env: home.env, stdin: input, stdout: "ignore", stderr: "ignore" });
      if (run === 0) continue; // warms the page cache
      times[i]!.ms.push(performance.now() - start);
      times[i]!.cpu.push(Number(ended.resourceUsage.cpuTime.total) / 1000);
    }
  }
  return Object.keys(EVENTS).map((what, i): Line => {
    const value = quantile(times[i]!.ms, 0.95);
    const cpu = `median ${median(times[i]!.ms).toFixed(0)} ms, of CPU ${median(times[i]!.cpu).toFixed(0)} ms`;
    return {
      what: `p95 of the hook of ${what}, ${ROWS} rows; ${cpu}`,
      value,
      unit: "ms",
      goal: `at most ${P95_MS_MAX} ms`,
      met: value <= P95_MS_MAX,
    };
  });
}
