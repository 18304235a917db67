/** `/files`: import, backup and export. */
import { OSError, ValueError } from "../../errors.ts";
import { FORMATS } from "../../formats/formats.ts";
import { shellWord } from "../../shell-word.ts";
import { exportAll } from "../memory/export-all.ts";
import { importUpload } from "../memory/import.ts";
import type { Site } from "../memory/site.ts";
import { call } from "../memory/verb.ts";
import { type FilesPage, filesPage } from "../pages/files.ts";
import { copiedPage, importedPage } from "../pages/results.ts";
import { html, locally, type Routes } from "./call.ts";
import { type Fields, fieldsOf } from "./fields.ts";

export const FILES_ROUTES: Routes = {
  "GET /files": locally(async (site, { said }) => html(filesPage(site, { ...(await choicesOf(site)), said }))),
  "POST /files/import": locally(async (site, { request }, local) => {
    const form = await fieldsOf(request);
    const file = form.file("file");
    return corrected(site, "import", form.text("collection"), async () => {
      if (file === undefined) throw new ValueError("choose a file");
      const done = await importUpload(site, local, file, chosen(form), request.signal);
      return html(importedPage(site, done), done.failure === undefined ? 200 : 400);
    });
  }),
  "POST /files/backup": locally(async (site, { request }, local) => {
    const form = await fieldsOf(request);
    const folder = form.text("folder");
    return corrected(site, "backup", folder, async () => {
      absolute(folder);
      const options = { copy: form.has("copy"), signal: request.signal };
      const { directory, collections, failed, left_out } = await local.withStore((store) =>
        store.backup(folder, options),
      );
      const left = [...left_out, ...failed.map(({ name, error }) => ({ name, reason: error }))];
      const command = `svc mem restore ${shellWord(directory)}`;
      const use = "To restore the collections:";
      return html(copiedPage(site, { title: "Backup", folder: directory, copied: collections, left, use, command }));
    });
  }),
  "POST /files/export": locally(async (site, { request }, local) => {
    const form = await fieldsOf(request);
    const to = form.text("to");
    return corrected(site, "export", to, async () => {
      absolute(to);
      const { folder, files, left } = await exportAll(site, local, to, request.signal);
      const command = `svc mem import COLLECTION ${shellWord(`${folder}/COLLECTION.jsonl`)}`;
      const use = "To import one of the files:";
      return html(copiedPage(site, { title: "Export", folder, copied: files, left, use, command }));
    });
  }),
};

/** Shows the form again where what was typed into it is wrong. */
async function corrected(
  site: Site,
  form: NonNullable<FilesPage["wrong"]>["form"],
  typed: string,
  work: () => Promise<Response>,
): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    // Another folder is typed also where this one cannot be written.
    if (!(error instanceof ValueError || error instanceof OSError)) throw error;
    const wrong = { form, problem: error.message, typed };
    return html(filesPage(site, { ...(await choicesOf(site)), wrong }), 400);
  }
}

async function choicesOf(site: Site): Promise<FilesPage> {
  const { collections } = await call(site, "list_collections", {}, { manifestsOnly: true });
  const formats = FORMATS.map(({ name, title }) => [name, title] as const);
  return { collections, formats };
}

function chosen(form: Fields) {
  const given = (name: string) => form.text(name) || undefined;
  return {
    collection: form.text("collection"),
    from: given("from"),
    times: form.has("times"),
    lenient: form.has("lenient"),
    skipDuplicates: form.has("skip"),
    textColumn: given("text-column"),
    idColumn: given("id-column"),
  };
}

/** What all our systems take, with room for the names of files below. */
const NAME_BYTES_MAX = 255;
const PATH_BYTES_MAX = 700;

/** A browser has no working directory. @throws ValueError */
function absolute(folder: string): void {
  if (folder === "") throw new ValueError("name a folder");
  if (folder.includes("\0")) throw new ValueError("a path cannot hold the character U+0000");
  if (
    Buffer.byteLength(folder) > PATH_BYTES_MAX ||
    folder.split("/").some((name) => Buffer.byteLength(name) > NAME_BYTES_MAX)
  )
    throw new ValueError(`the path is longer than systems allow: ${NAME_BYTES_MAX} bytes for each name`);
  if (/^(?:~?\/|[a-z][a-z0-9+.-]*:\/\/)/i.test(folder)) return;
  throw new ValueError("write the whole path, such as /mnt/usb/memory or ~/backups/monday");
}
