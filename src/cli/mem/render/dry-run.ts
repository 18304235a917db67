/** What indexing would do, for a person. */
import type { DryRunPayload } from "../../../memory/requests.ts";
import { oneLine } from "../../terminal/output.ts";
import { counted, megabytes } from "./text.ts";

/** Languages that are named. */
const LANGUAGES_SHOWN = 12;

export function renderDryRun(payload: DryRunPayload): string {
  const { files, bytes, languages, changes, left_out, files_tracked, collection } = payload;
  const named = languages.slice(0, LANGUAGES_SHOWN).map((of) => `${of.files} ${of.language}`);
  if (languages.length > named.length) named.push(`${languages.length - named.length} further languages`);
  const lines = [
    `would index ${counted(files, "file")} (${megabytes(bytes)}) into ${oneLine(collection)}, which has ${files_tracked} of this repository`,
  ];
  if (named.length > 0) lines.push(`  ${named.join(", ")}`);
  for (const [group, examples] of [...Object.entries(changes), ...Object.entries(left_out)]) {
    if (!examples) continue;
    const { count, paths } = examples;
    const shown = [...paths.map(oneLine), ...(count > paths.length ? ["…"] : [])].join(", ");
    const label = group in changes ? group : `left out, ${group.replaceAll("_", " ")}`;
    lines.push(`${label}: ${count} (${shown})`);
  }
  if (payload.truncated) lines.push("stopped at the time limit: there may be more");
  return lines.join("\n");
}
