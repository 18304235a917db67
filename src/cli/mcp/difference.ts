/** A change of a client's file as a unified difference, as `--dry-run` prints it. */
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import { holdsSecret } from "../../secrets/content.ts";

/**
 * The difference between two contents of a file; undefined content is a file that is not there. Credentials of other
 * servers are not shown, those that their format tells and those that their name does: what is printed is often passed
 * on.
 * @param name the file as it is shown
 */
export function differenceOf(name: string, before: Uint8Array | undefined, after: Uint8Array | undefined): string {
  const decoder = new TextDecoder();
  const text = (bytes: Uint8Array | undefined) => (bytes === undefined ? "" : decoder.decode(bytes));
  const side = (bytes: Uint8Array | undefined) => (bytes === undefined ? "/dev/null" : name);
  const options = { context: 3, headerOptions: FILE_HEADERS_ONLY };
  const patch = createTwoFilesPatch(
    side(before),
    side(after),
    text(before),
    text(after),
    undefined,
    undefined,
    options,
  );
  const lines = patch.trimEnd().split("\n");
  return lines.map((line, index) => shown(line, lines[index - 1] ?? "")).join("\n");
}

const NAME = "(?:api[-_]?key|secret|token|passwd|password|passphrase|authorization|bearer|credential)[\\w.-]*";
/** A value after such a name; a number, a word of JSON and what opens a list or an object do not count. */
const VALUE = new RegExp(
  `(${NAME}["']?\\s*[:=,]\\s*["']?)(?![[{"']|(?:\\d+|true|false|null)\\b)[^\\s"',}\\]][^"',}\\]]*`,
  "gi",
);
/** A name at the end of a line, whose value is on the next one: an argument in a list. */
const OPEN = new RegExp(`${NAME}["']?,\\s*$`, "i");
const HIDDEN = "(not shown)";

function shown(line: string, before: string): string {
  const bare = line.replace(/\r$/, "");
  if (holdsSecret(new TextEncoder().encode(bare))) {
    return `${bare.slice(0, 1)}(not shown: this line holds a credential)`;
  }
  const value = OPEN.test(before) ? bare.replace(/["'][^"']*["']/, `"${HIDDEN}"`) : bare;
  return value.replace(VALUE, `$1${HIDDEN}`);
}
