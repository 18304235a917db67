/** `svc mem edit`: text and metadata of a row in the person's editor. No tool: an agent has svc_update. */
import { readId } from "../../checks/ids.ts";
import { type EditPayload, isSame } from "../../memory/edit.ts";
import { asUsage, command, SECRETS } from "../terminal/command.ts";
import { note, oneLine } from "../terminal/output.ts";
import { COLLECTION } from "./flags.ts";
import { counted, showId } from "./render/text.ts";
import { documentOf, readDocument } from "./rows/document.ts";
import { Draft } from "./rows/draft.ts";
import { editorOf, runEditor } from "./rows/editor.ts";
import { typedIds } from "./rows/prefixes.ts";
import { answer, COMMON, withMemory } from "./verb.ts";

export default command({
  details:
    "Opens the row in VISUAL or EDITOR: its metadata as YAML between two lines of ---, then its text. When the editor\n" +
    "ends, text and metadata are saved as one update. If you change nothing, or leave an empty file, nothing is saved.\n\n" +
    "The row is not locked while you edit it. If another process changes or deletes it meanwhile, nothing is saved.\n" +
    "Then, and after any other failure, the file with what you typed is kept, and the error names it.\n\n" +
    "The beginning of an id is enough where no other id begins with it. The index of a repository cannot be edited.",
  examples: ["svc mem edit notes deploy", "EDITOR='code --wait' svc mem edit notes deploy"],
  args: {
    collection: COLLECTION,
    "row-id": { type: "positional", description: "id of the row, or its beginning" },
    secrets: SECRETS,
    ...COMMON,
    json: { type: "boolean", description: "print {collection, id, edited, masked}" },
  },
  async run(invocation) {
    const { collection, "row-id": given, json = false } = invocation.args;
    const typed = asUsage(() => readId(given, "the id"));
    const editor = editorOf(invocation.env);
    // The memory is closed while the editor runs, which may be for hours.
    const { id, before } = await withMemory(invocation, async (verbs) => {
      const [id = typed] = await typedIds(verbs, collection, [typed]);
      return { id, before: await (await verbs.terminal()).editable_row({ collection, id }) };
    });
    const name = `row ${showId(id)} of ${oneLine(collection)}`;
    using draft = Draft.write(id, documentOf(before, name));
    try {
      await runEditor(editor, draft.path);
      const after = readDocument(draft.read(), before);
      const isChanged = !isSame(after, before);
      const payload: EditPayload = isChanged
        ? await withMemory(invocation, async (verbs, context) =>
            (await verbs.terminal()).edit({ collection, id, before, after }, context),
          )
        : { collection, id, edited: false };
      answer(payload, json, ({ edited }) => (edited ? `saved ${name}` : ""));
      if (!isChanged && !json) note("nothing changed: nothing was saved");
      if (payload.masked && !json) note(`${counted(payload.masked, "credential")} masked`);
    } catch (error) {
      throw draft.keepFor(error);
    }
  },
});
