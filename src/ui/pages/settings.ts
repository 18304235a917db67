/** A collection as a whole: what it is, its figures, and what its owner may do with it. */
import { field } from "../../pages/forms.ts";
import { alert, distance, escaped, isolated, visible } from "../../pages/text.ts";
import { shellWord } from "../../shell-word.ts";
import type { CollectionFacts } from "../memory/facts.ts";
import type { Site } from "../memory/site.ts";
import { pathOf } from "./addresses.ts";
import { counted, sized } from "./amounts.ts";
import { collectionHead } from "./collection-head.ts";
import { figuresOf, plotsOf } from "./figures.ts";
import { page } from "./layout.ts";

/** What a form of the page does. */
export const ACTIONS = ["describe", "meaning", "compact", "rename", "drop"] as const;
export type Action = (typeof ACTIONS)[number];

export interface SettingsPage extends CollectionFacts {
  readonly said?: string | undefined;
  /** What was wrong with a form, and what was typed into its field. */
  readonly wrong?: { readonly action: Action; readonly problem: string; readonly typed: string } | undefined;
}

export function settingsPage(site: Site, facts: SettingsPage): string {
  const { detail, unreadable, said } = facts;
  const { name } = detail;
  const command = `svc mem check ${shellWord(name)} --repair`;
  const damage =
    unreadable === undefined
      ? ""
      : `${alert(`This collection cannot be read: ${unreadable[1]}.`)}${
          unreadable[0] === "damaged" && !unreadable[1].includes("--repair")
            ? `<p>This command saves the rows that can be read: <code class="command">${escaped(visible(command))}</code></p>`
            : ""
        }`;
  const about = { name, isRepository: facts.isOfRepositories };
  const head = unreadable === undefined ? collectionHead(site, about, "settings") : `<h1>${isolated(name)}</h1>`;
  const content = `${head}${damage}${figuresOf(facts, site.now())}${plotsOf(facts)}${exported(site, facts)}${changes(site, facts)}`;
  return page(site, { title: `Settings of ${name}`, content, said });
}

/** A download, which changes nothing. */
function exported(site: Site, { detail: { name }, unreadable }: SettingsPage): string {
  if (site.local === undefined || unreadable !== undefined) return "";
  return `<section><h2>Export</h2>
    <p>A file with a line of JSON for each row, which <code>svc mem import</code> and <a href="/files">Import and backup</a> read.</p>
    <form method="get" action="${pathOf(name, "export")}">
      <div class="choice"><input type="checkbox" id="vectors" name="vectors" value="1"><label for="vectors">Include the vectors, so that an import need not make them</label></div>
      <p class="actions"><button>Download</button></p></form></section>`;
}

function changes(site: Site, facts: SettingsPage): string {
  if (site.readOnly) return "";
  const { unreadable, isOfRepositories, isNamedFreely } = facts;
  if (site.local === undefined) return unreadable === undefined ? compact(site, facts) : "";
  const isReadable = unreadable === undefined;
  return [
    isReadable ? describe(facts) : "",
    isReadable && !isOfRepositories ? meaning(facts) : "",
    isReadable ? compact(site, facts) : "",
    isReadable && isNamedFreely ? rename(facts) : "",
    drop(site, facts),
  ].join("");
}

function describe(facts: SettingsPage): string {
  const { typed, problem } = wrongIn(facts, "describe");
  const value = typed ?? facts.detail.description ?? "";
  const hint = "Agents read it to choose where to search and add. Leave it empty to remove it.";
  return section(facts, "describe", "Description", "Save the description", {
    fields: field({ name: "description", label: "What the collection is for", value, hint, problem }),
  });
}

function meaning(facts: SettingsPage): string {
  const { meaning, text_rows = 0, meaning_rows = 0 } = facts.detail;
  if (meaning === undefined) return "";
  const isOn = meaning === "on";
  const waiting = meaning_rows < text_rows ? " The vectors of the others are made in the background." : "";
  const about = isOn
    ? `It is on: ${counted(meaning_rows, "text")} of ${text_rows.toLocaleString("en")} can be found by meaning.${waiting} Turning it off deletes the vectors that this needs.`
    : "It is off: texts are found by their words only.";
  return section(facts, "meaning", "Search by meaning", isOn ? "Turn it off" : "Turn it on", {
    fields: `<p>${about}</p><input type="hidden" name="meaning" value="${isOn ? "off" : "on"}">`,
  });
}

function compact(site: Site, facts: SettingsPage): string {
  const keeps =
    site.local === undefined
      ? ""
      : `<div class="choice"><input type="checkbox" id="history" name="history" value="keep" checked><label for="history">Keep the history</label></div>
      <p class="hint">Without the history, deleted and replaced rows are gone for good, and nothing can be undone.</p>`;
  return section(facts, "compact", "Compact", "Compact", {
    fields: `<p>Writes the collection again without its deleted and replaced rows. It becomes smaller, and faster to open.</p>${keeps}`,
  });
}

function rename(facts: SettingsPage): string {
  const { typed = "", problem } = wrongIn(facts, "rename");
  return section(facts, "rename", "Rename", "Rename", {
    fields: field({ name: "to", label: "New name", value: typed, problem, more: "required" }),
  });
}

function drop(site: Site, facts: SettingsPage): string {
  const { name, rows, bytes, last_write, description } = facts.detail;
  const { typed = "", problem } = wrongIn(facts, "drop");
  const holds = [
    rows === undefined ? "" : `<strong>${counted(rows, "row")}</strong>`,
    bytes === undefined ? "" : sized(bytes),
    last_write === undefined ? "" : `last written ${distance(last_write, site.now())}`,
    description === undefined ? "" : `described as “${isolated(description.slice(0, 200).toWellFormed())}”`,
  ];
  return section(facts, "drop", "Drop", "Drop for good", {
    isDanger: true,
    fields: `<p>Removes ${isolated(name)} with all it holds: ${holds.filter(Boolean).join(", ")}. Only a backup brings it back.</p>
      ${field({ name: "confirm", label: "Type the collection's name to confirm", value: typed, problem, more: "required" })}`,
  });
}

function section(
  { detail }: SettingsPage,
  action: Action,
  title: string,
  button: string,
  { fields, isDanger = false }: { fields: string; isDanger?: boolean },
): string {
  return `<section><h2>${title}</h2><form method="post" action="${pathOf(detail.name, "settings")}">
      <input type="hidden" name="do" value="${action}">${fields}
      <p class="actions"><button${isDanger ? ' class="danger"' : ""}>${button}</button></p></form></section>`;
}

/** What was wrong with this form. */
function wrongIn({ wrong }: SettingsPage, action: Action): { typed?: string; problem?: string } {
  return wrong?.action === action ? { typed: wrong.typed, problem: wrong.problem } : {};
}
