/** What small commands cost beside a bare Bun hello world, compiled as svc is; and what the executable weighs. */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SVC, scratchFolder, signedInHome } from "./home.ts";
import { type Line, median } from "./measure.ts";

const RUNS = 60;
/** The commands, and how often the hello world each may cost. */
const COMMANDS = [
  { words: ["--version"], most: 1.5 },
  { words: ["mem", "search", "notes", "how do we deploy"], most: 3.5 },
  { words: ["mem", "list"], most: 4 },
] as const;
/**
 * How svc is compiled. Without the last two, hello world reads every folder above the working directory for settings: 7 ms
 * below a /tmp of 12,000 entries, where it takes 4.
 */
const FLAGS = ["--compile", "--minify", "--bytecode", "--no-compile-autoload-dotenv", "--no-compile-autoload-bunfig"];

/** Runs hello world and commands in turn, by CPU time. Medians of ratios within a turn: the machine's speed drifts between turns. */
export async function benchCommands(): Promise<Line[]> {
  using folder = scratchFolder();
  const scratch = folder.path;
  using home = signedInHome();
  const hello = join(scratch, "hello");
  writeFileSync(join(scratch, "hello.ts"), 'console.log("hello");\n');
  Bun.spawnSync([process.execPath, "build", join(scratch, "hello.ts"), ...FLAGS, "--outfile", hello]);
  const notes = ["We deploy blue-green.", "Retro is on Fridays at ten."];
  Bun.spawnSync([SVC, "mem", "add", "notes", ...notes], { env: home.env, stdin: "ignore" });
  const run = (command: readonly string[]) => {
    const ended = Bun.spawnSync([...command], { env: home.env, stdin: "ignore", stdout: "ignore", stderr: "ignore" });
    if (!ended.success) throw new Error(`${command.join(" ")} failed`);
    // CPU time of all threads: that of the clock grows with whatever else the machine does, and not evenly.
    return Number(ended.resourceUsage.cpuTime.total) / 1000;
  };
  const times = COMMANDS.map(() => ({ ms: [] as number[], ratios: [] as number[] }));
  const bare: number[] = [];
  for (let turn = 0; turn <= RUNS; turn++) {
    const base = run([hello]);
    const each = COMMANDS.map(({ words }) => run([SVC, ...words]));
    if (turn === 0) continue; // warms the page cache
    bare.push(base);
    times.forEach(({ ms, ratios }, i) => {
      ms.push(each[i]!);
      ratios.push(each[i]! / base);
    });
  }
  const lines = COMMANDS.map(({ words, most }, i): Line => {
    const [value, ratio] = [median(times[i]!.ms), median(times[i]!.ratios)];
    const against = `a compiled hello world (${median(bare).toFixed(1)} ms)`;
    return {
      what: `CPU of svc ${words.join(" ")}`,
      value,
      unit: "ms",
      against,
      ratio,
      goal: `at most ${most}`,
      met: ratio <= most,
    };
  });
  return [...lines, ...sizes()];
}

function sizes(): Line[] {
  const size = (what: string, bytes: number, most: number): Line => {
    return { what, value: bytes / 1e6, unit: "MB", goal: `at most ${most} MB`, met: bytes <= most * 1e6 };
  };
  return [
    size("the executable", statSync(SVC).size, 126),
    size("the executable as gzip", Bun.gzipSync(readFileSync(SVC), { level: 9 }).byteLength, 64),
  ];
}
