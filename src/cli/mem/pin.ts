/** `svc mem pin`: rows that every brief shows. */
import { command, UsageError } from "../terminal/command.ts";
import { note, oneLine, print, printJson } from "../terminal/output.ts";
import { COLLECTION } from "./flags.ts";
import { showId } from "./render/text.ts";
import { COMMON, withMemory } from "./verb.ts";

export default command({
  details:
    "Pins a row of the collection: 'svc mem brief' shows it first. The beginning of an id is enough where no other id\n" +
    "begins with it. Without ID it lists what is pinned. A collection has at most 20 pinned rows.\n\n" +
    "An update of the row keeps the pin. A deleted row loses it with the next change of pins. Backups, renames,\n" +
    "alterations and repairs keep pins. An export does not have them.",
  examples: ["svc mem pin notes deploy-rules", "svc mem pin notes", "svc mem pin notes deploy-rules --remove"],
  args: {
    collection: COLLECTION,
    id: { type: "positional", required: false, description: "the id of a row to pin" },
    remove: { type: "boolean", description: "unpin the row" },
    ...COMMON,
    json: { type: "boolean", description: "print {collection, pinned: [id]}" },
  },
  async run(invocation) {
    const { collection, id, remove = false, json } = invocation.args;
    if (remove && id === undefined) throw new UsageError("--remove needs the id of a row");
    const payload = await withMemory(invocation, async (verbs, context) =>
      (await verbs.terminal()).pin({ collection, id, remove }, context),
    );
    if (json) printJson(payload);
    else if (id !== undefined) print(`${remove ? "unpinned" : "pinned"} a row of ${oneLine(collection)}`);
    else if (payload.pinned.length > 0) print(payload.pinned.map(showId).join("\n"));
    else note(`${oneLine(collection)} has no pinned rows: svc mem pin ${oneLine(collection)} ID pins one`);
  },
});
