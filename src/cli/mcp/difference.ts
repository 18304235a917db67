/** A change of a client's file as a unified difference, as `--dry-run` prints it. */
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import { holdsSecret } from "../../repo/secret-content.ts";

/**
 * The difference between two contents of a file; undefined content is a file that is not there. Lines that hold a
 * credential of another server are not shown: what is printed is often passed on.
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
  return patch.trimEnd().split("\n").map(shown).join("\n");
}

function shown(line: string): string {
  const bare = line.replace(/\r$/, "");
  if (!holdsSecret(new TextEncoder().encode(bare))) return bare;
  return `${bare.slice(0, 1)}(not shown: this line holds a credential)`;
}
