/** `svc mem undo`: the rows that the last delete, upsert or update took away. No tool: what is undone is for a person to decide. */
import type { UndoPayload } from "../../memory/requests.ts";
import { command } from "../command.ts";
import { oneLine } from "../output.ts";
import { fit } from "../width.ts";
import { COLLECTION } from "./flags.ts";
import { counted, showId } from "./render.ts";
import { answer, COMMON, withMemory } from "./verb.ts";

/** Ids of each kind that are listed; with --json all are. */
const LISTED_MOST = 20;

export default command({
  details:
    "Puts the rows back that the last delete, upsert, update or import took away: id, text, metadata, vector and created as they\n" +
    "were, updated now. It is a new save. Rows that were added stay; deleted rows come back behind the others. What an undo replaces\n" +
    "is not undone again. The rows are kept for 24 hours, longer while nothing is compacted, and until a compact, an index build or\n" +
    "the next save of this kind. An id that was deleted and added again since is replaced with --force only.",
  examples: ["svc mem undo notes --dry-run", "svc mem undo notes"],
  args: {
    collection: COLLECTION,
    "dry-run": { type: "boolean", description: "only list what would be put back" },
    force: { type: "boolean", description: "also replace rows whose ids were added again since" },
    ...COMMON,
    json: { type: "boolean", description: "print the answer as one JSON object" },
  },
  async run(invocation) {
    const { collection, "dry-run": dryRun = false, force = false, json } = invocation.args;
    const payload = await withMemory(invocation, (verbs, context) =>
      verbs.undo({ collection, force, dry_run: dryRun }, context),
    );
    answer(payload, json === true, (undone) => renderUndone(undone, force));
  },
});

function renderUndone(
  { collection, undone, saved, restored, reverted, changed, dry_run }: UndoPayload,
  force: boolean,
) {
  const done = dry_run ? "would put back" : "put back";
  const stays = force ? "was added again since, and is replaced" : "was added again since: --force replaces it";
  return [
    fit(
      `${done} ${counted(undone, "row")} of ${oneLine(collection)}, as before the save of ${new Date(saved).toISOString()}`,
    ),
    ...listed(restored, "was deleted"),
    ...listed(reverted, "was replaced"),
    ...listed(changed, stays),
  ].join("\n");
}

function listed(ids: readonly string[], what: string): string[] {
  const lines = ids.slice(0, LISTED_MOST).map((id) => `  ${showId(id)}  ${what}`);
  if (ids.length > LISTED_MOST) lines.push(`  and ${ids.length - LISTED_MOST} more: ${what}`);
  return lines;
}
