/** Whether an output is the one that a page claims. `…` in the claim stands for whatever is there. */

/**
 * Compares text. `…` stands for anything within its line; a line that is `…` alone for any lines, or none. White space
 * at the ends of lines and around the whole does not count.
 * @returns a sentence with both, or undefined where the claim is true
 */
export function differs(claim: string, output: string): string | undefined {
  const trimmed = (text: string) => text.replace(/[^\S\n]+$/gm, "").replace(/^\n+|\n+$/g, "");
  const pattern = trimmed(claim)
    .split("\n")
    .map((line) => (line.trim() === "…" ? "(?:.*\\n)*?" : `${line.split("…").map(RegExp.escape).join(".*?")}\\n`))
    .join("");
  if (new RegExp(`^${pattern}$`).test(`${trimmed(output)}\n`)) return undefined;
  return `the page says\n${claim}\nbut it prints\n${output}`;
}

/** The same for JSON: texts in the claim are patterns, `"…"` is any value, and the order of keys does not count. */
export function differsAsJson(claim: string, output: string): string | undefined {
  const expected: unknown = JSON.parse(claim);
  let actual: unknown;
  try {
    actual = JSON.parse(output);
  } catch {
    return `the page says\n${claim}\nbut it prints what is not JSON\n${output}`;
  }
  return agrees(expected, actual) ? undefined : `the page says\n${claim}\nbut it prints\n${output}`;
}

function agrees(expected: unknown, actual: unknown): boolean {
  if (expected === "…") return true;
  if (typeof expected === "string") return typeof actual === "string" && differs(expected, actual) === undefined;
  if (typeof expected !== "object" || expected === null) return expected === actual;
  if (typeof actual !== "object" || actual === null || Array.isArray(expected) !== Array.isArray(actual)) return false;
  const [keys, others] = [Object.keys(expected), Object.keys(actual)];
  return (
    keys.length === others.length &&
    keys.every((key) => key in actual && agrees((expected as Record<string, unknown>)[key], (actual as never)[key]))
  );
}
