/** Ctrl-C, which a launcher passes on to an svc that the terminal has sent it too. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { ended } from "../../ended.ts";

const MODULE = join(import.meta.dir, "../../../src/cli/terminal/interrupt.ts");

test("the same signal twice at once is one order, and later, or another one, is the second", async () => {
  const run = (more: string) => {
    const program = `
      const { interruption, listenForInterrupts } = await import(${JSON.stringify(MODULE)});
      listenForInterrupts();
      const send = (signal) => process.emit(signal, signal);
      send("SIGINT");
      send("SIGINT");
      console.log(interruption.signal.aborted);
      ${more}
      console.log("still here");
      process.exit(0);`;
    return ended(Bun.spawn([process.execPath, "-e", program], { stdout: "pipe", stderr: "pipe" }));
  };
  expect(await run("")).toEqual({ code: 0, out: "true\nstill here\n", err: "" });
  for (const second of [`await Bun.sleep(200); send("SIGINT");`, `send("SIGTERM");`])
    expect(await run(second)).toEqual({ code: 130, out: "true\n", err: "" });
});
