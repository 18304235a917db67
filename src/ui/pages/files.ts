/** Files into the memory, and out of it: import, backup and export. */
import { choice, field } from "../../pages/forms.ts";
import { alert, escaped } from "../../pages/text.ts";
import type { Site } from "../memory/site.ts";
import { UPLOAD_BYTES_MAX } from "../memory/upload.ts";
import { fitting } from "./fitting.ts";
import { page } from "./layout.ts";

/** `UPLOAD_BYTES_MAX` as pages show it. */
const UPLOAD_LIMIT = `${UPLOAD_BYTES_MAX / 1024 / 1024} MiB`;

export interface FilesPage {
  /** Collections that a file may go into. */
  readonly collections: readonly string[];
  /** Formats of imports: a name and a title. */
  readonly formats: readonly (readonly [name: string, title: string])[];
  readonly said?: string | undefined;
  /** What was wrong with a form, and what was typed into its field. */
  readonly wrong?: { readonly form: "import" | "backup" | "export"; readonly problem: string; readonly typed: string };
}

/** Bytes of the names that the field for a collection proposes. */
const NAMES_BYTES = 20_000;

export function filesPage(site: Site, files: FilesPage): string {
  const content = `<h1>Import and backup</h1>
    ${site.readOnly ? "" : importing(files)}${backup(site, files)}${exporting(site, files)}`;
  return page(site, { title: "Import and backup", section: "/files", content, said: files.said });
}

function importing({ collections, formats, wrong }: FilesPage): string {
  const { typed = "", problem } = wrong?.form === "import" ? wrong : {};
  const names = fitting(
    collections.values().map((name) => `<option value="${escaped(name)}">`),
    NAMES_BYTES,
  );
  const options = [
    ["", "recognise it"] as const,
    ...formats.map(([name, title]) => [name, `${name}: ${title}`] as const),
  ];
  return `<section><h2>Import a file</h2>
    <p>Choose a file, or drop it anywhere on this page: at most ${UPLOAD_LIMIT}. For a larger file, or a folder, run
      <code>svc mem import COLLECTION FILE</code> in a terminal.</p>
    ${problem === undefined ? "" : alert(problem)}
    <form method="post" action="/files/import" enctype="multipart/form-data">
      <label for="file">File</label>
      <input type="file" id="file" name="file" required data-max="${UPLOAD_BYTES_MAX}">
      <p class="alert" id="too-large" role="alert" hidden>This file is larger than ${UPLOAD_LIMIT}: run <code>svc mem import COLLECTION FILE</code> in a terminal.</p>
      ${field({
        name: "collection",
        label: "Collection",
        value: typed,
        hint: "It is created if it does not exist.",
        more: 'list="collections" required',
      })}
      <datalist id="collections">${names.join("")}</datalist>
      ${choice("from", "Format", options, "")}
      <div class="choice"><input type="checkbox" id="lenient" name="lenient" value="1" checked><label for="lenient">Leave out bad rows, and list them</label></div>
      <div class="choice"><input type="checkbox" id="skip" name="skip" value="1"><label for="skip">Skip texts that the collection already has</label></div>
      <div class="choice"><input type="checkbox" id="times" name="times" value="1" checked><label for="times">Keep the times that rows have in the file</label></div>
      <details><summary>For CSV and JSON whose columns are not recognised</summary>
        ${field({ name: "text-column", label: "Column with the texts" })}
        ${field({ name: "id-column", label: "Column with the ids" })}</details>
      <p class="actions"><button class="primary">Import</button></p>
    </form></section>`;
}

function backup(site: Site, { wrong }: FilesPage): string {
  if (site.readOnly) return "";
  const { typed = "", problem } = wrong?.form === "backup" ? wrong : {};
  return `<section><h2>Backup</h2>
    <p>Copies all collections into a folder of this machine, and checks every byte of the copies. <code>svc mem restore</code> brings them back.</p>
    <form method="post" action="/files/backup">
      ${field({
        name: "folder",
        label: "Folder to copy into",
        value: typed,
        hint: "Such as /mnt/usb/memory or ~/backups/monday. It is created if it does not exist.",
        problem,
        more: "required",
      })}
      <div class="choice"><input type="checkbox" id="copy" name="copy" value="1"><label for="copy">Copy every byte, so that the backup shares no file with the memory</label></div>
      <p class="actions"><button>Back up</button></p></form></section>`;
}

function exporting(site: Site, { wrong }: FilesPage): string {
  const one = `<p>To download one collection, open it and choose “Figures and settings”.</p>`;
  if (site.readOnly) return `<section><h2>Export</h2>${one}</section>`;
  const { typed = "", problem } = wrong?.form === "export" ? wrong : {};
  return `<section><h2>Export all collections</h2>
    <p>Writes each collection as a file of JSON lines into a folder of this machine. Other programs can read these files, and an import can too.</p>
    <form method="post" action="/files/export">
      ${field({
        name: "to",
        label: "Folder for the files",
        value: typed,
        hint: "It is created if it does not exist. Files in it are not replaced.",
        problem,
        more: "required",
      })}
      <p class="actions"><button>Export</button></p></form>${one}</section>`;
}
