/** Answers longer than the screen go through a pager, on a terminal and there only. */
import { describe, expect, test } from "bun:test";
import { FAKE_GATE, svc } from "../support.ts";
import { Screen, svcCommand } from "../terminal.ts";

/** Of 200 columns, the terminal of `Screen` has 50 lines. */
const LONG = Array.from({ length: 60 }, (_, i) => `line ${i}`).join("\n");
const SHORT = "one line";
/** Marks every line, so that a screen shows who printed it. */
const MARKING = "sed s/^/paged:/";

const answering = (text: string) => ({ FAKE_GET: JSON.stringify({ rows: [{ id: "a", found: true, text }] }) });
const GET = ["mem", "get", "notes", "a"];

/** What a terminal shows of a row with this text, and the exit code. */
async function shown(text: string, env: Record<string, string>, words: string[] = []) {
  using screen = new Screen(svcCommand([...GET, ...words], [FAKE_GATE]), { TERM: "xterm", ...answering(text), ...env });
  const code = await screen.ended;
  await screen.until(/$/);
  return { code, text: screen.text };
}

describe("on a terminal", () => {
  test("a text with more lines than the screen is paged, a shorter one is not", async () => {
    expect((await shown(LONG, { PAGER: MARKING })).text).toContain("paged:line 59");
    expect((await shown("x".repeat(49 * 200), { PAGER: MARKING })).text).toContain("paged:xxx");
    expect((await shown(SHORT, { PAGER: MARKING })).text).not.toContain("paged:");
  });

  const NOT: [string, Record<string, string>, string[]][] = [
    ["--no-pager", { PAGER: MARKING }, ["--no-pager"]],
    ["--json", { PAGER: MARKING }, ["--json"]],
    ["PAGER=cat", { PAGER: "cat" }, []],
    ["an empty PAGER", { PAGER: "" }, []],
    ["SVC_PAGER before PAGER", { SVC_PAGER: "", PAGER: MARKING }, []],
    ["a terminal of which nothing is known", { TERM: "", PAGER: MARKING }, []],
    ["TERM=dumb", { TERM: "dumb", PAGER: MARKING }, []],
    ["a pager that there is not", { PAGER: "no-such-pager 2>/dev/null" }, []],
  ];
  test.each(NOT)("%s: everything is printed", async (_, env, words) => {
    const { code, text } = await shown(LONG, env, words);
    expect(code).toBe(0);
    expect(text).toContain("line 0");
    expect(text).toContain("line 59");
    expect(text).not.toContain("paged:");
  });

  test("a pager that ends early is not a failure, however much is left", async () => {
    const { code, text } = await shown("a line of some length\n".repeat(5000), { PAGER: "head -n 2" });
    expect(code).toBe(0);
    expect(text.match(/a line of some length/g)).toHaveLength(1);
  });

  test("what a terminal would obey stays escaped", async () => {
    const { text } = await shown(`${LONG}\n\x1b]0;owned\x07\u202e`, { PAGER: MARKING });
    expect(text).toContain("paged:\\x1b]0;owned\\x07\\u202e");
  });

  test.skipIf(!Bun.which("less"))("less is the default (skipped without it): Ctrl-C stays, q ends", async () => {
    using screen = new Screen(svcCommand(GET, [FAKE_GATE]), { TERM: "xterm", ...answering(LONG) });
    await screen.until(/line 40[\s\S]*:/);
    expect(screen.text).not.toContain("line 59");
    screen.type("\x03");
    // A terminal drops what was typed before Ctrl-C was seen: until the next screen is there, it is asked for again.
    while (!/line 59/.test(screen.text)) {
      screen.type(" ");
      await Promise.race([screen.until(/line 59/), Bun.sleep(100)]);
    }
    screen.type("q");
    expect(await screen.ended).toBe(0);
  });

  test("SIGTERM ends the pager too", async () => {
    const env = { TERM: "xterm", PAGER: "echo begun; kill -TERM $PPID; exec sleep 60", ...answering(LONG) };
    using screen = new Screen(svcCommand(GET, [FAKE_GATE]), env);
    expect(await screen.ended).toBe(130);
    expect(screen.text).toContain("begun");
  });
});

test("without a terminal nothing is paged", async () => {
  const { code, stdout } = await svc(GET, { preload: [FAKE_GATE], env: { ...answering(LONG), PAGER: MARKING } });
  expect(code).toBe(0);
  expect(stdout).toEndWith("\nline 59\n");
  expect(stdout).not.toContain("paged:");
});
