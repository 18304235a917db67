/** Which repositories are indexed, and a search in one of them. */

import type { RepoEntry, RepoHit, RepoSearchPayload } from "../../memory/requests.ts";
import { pages, table } from "../../pages/lists.ts";
import { alert, escaped, isolated, moment, visible } from "../../pages/text.ts";
import { numberedLines } from "../../repo/show/numbered.ts";
import type { Site } from "../memory/site.ts";
import { counted, sized } from "./amounts.ts";
import { fitting } from "./fitting.ts";
import { page } from "./layout.ts";

/** Bytes of the cells of the list, and of the work trees that are gone. */
const LIST_BYTES = 25_000;
const GONE_BYTES = 5_000;
/** Characters of a line. */
const LINE_MAX = 300;

export interface RepositoriesPage {
  readonly repositories: readonly RepoEntry[];
  /** Linked work trees that git no longer has. */
  readonly removed: readonly string[];
}

export function repositoriesPage(site: Site, { repositories, removed }: RepositoriesPage): string {
  const now = site.now();
  const toRow = (one: RepoEntry) => [
    one.root === null || !one.exists
      ? isolated(one.root ?? one.repo_id)
      : `<span data-row><a href="${escaped(searchPath(one))}">${isolated(one.root)}</a></span>`,
    one.files?.toLocaleString("en") ?? "",
    one.rows.toLocaleString("en"),
    `<span class="whole">${sized(one.bytes)}</span>`,
    one.last_used === undefined ? "" : moment(one.last_used, now),
    stateOf(one),
  ];
  const rows = fitting(repositories.values().map(toRow), LIST_BYTES);
  const shown = rows.length < repositories.length ? `, of which the last used ${rows.length} are shown` : "";
  const caption = `${repositories.length === 1 ? "One repository" : `${repositories.length.toLocaleString("en")} repositories`}${shown}`;
  const gone = fitting(
    removed.values().map((root) => `<li>${isolated(root)}</li>`),
    GONE_BYTES,
  ).join("");
  const content = `<h1>Repositories</h1>
    ${
      repositories.length === 0
        ? "<p>No repository is indexed. An agent indexes the one it works in with its first <code>svc_repo_search</code>, you do with <code>svc mem index FOLDER</code>.</p>"
        : `<p>Choose one to search it.</p>${table({ caption, columns: ["Folder", "Files", "Rows", "Size", "Last used", "State"], rows })}`
    }${gone === "" ? "" : `<p>Removed, as git no longer has these work trees:</p><ul>${gone}</ul>`}`;
  return page(site, { title: "Repositories", section: "/repositories", content });
}

function stateOf({ root, exists, partial, files_done, files_found, linked_to, collection }: RepoEntry): string {
  const states = [
    root === null ? "its fingerprints are missing: index it again" : exists ? "" : "the folder is missing",
    partial ? `partial: ${files_done} of ${files_found} files` : "",
    linked_to === undefined ? "" : `linked work tree of ${isolated(linked_to)}`,
    collection === "repo_symbols" ? "" : `in collection ${isolated(collection)}`,
  ];
  return states.filter(Boolean).join("; ") || "indexed";
}

/** The page of a repository. */
export function searchPath(
  { repo_id, collection }: Pick<RepoEntry, "repo_id" | "collection">,
  more: Record<string, string> = {},
): string {
  return `/repositories/search?${new URLSearchParams({ repo: repo_id, in: collection, ...more })}`;
}

export interface RepositoryPage {
  readonly repository: RepoEntry;
  readonly query: string;
  /** Only these files. */
  readonly hint: string;
  /** Undefined where nothing was searched. */
  readonly found?: RepoSearchPayload | undefined;
  readonly problem?: string | undefined;
}

export function repositoryPage(site: Site, { repository, query, hint, found, problem }: RepositoryPage): string {
  const { repo_id, collection, root } = repository;
  const content = `<h1>Search in ${isolated(root ?? repo_id)}</h1>
    ${problem === undefined ? "" : alert(problem)}
    <form class="search" method="get" action="/repositories/search" role="search">
      <input type="hidden" name="repo" value="${escaped(repo_id)}"><input type="hidden" name="in" value="${escaped(collection)}">
      <div><label for="q">What to look for</label><input type="search" id="q" name="q" value="${escaped(query)}" dir="auto" autocomplete="off" required></div>
      <div><label for="hint">Only these files</label><input id="hint" name="hint" value="${escaped(hint)}" autocomplete="off" placeholder="src/**/*.ts"></div>
      <button class="primary">Search</button></form>
    ${found === undefined ? "" : hitsOf(found, repository, query, hint)}<p><a href="/repositories">All repositories</a></p>`;
  const title = query === "" ? "Search a repository" : `${query.slice(0, 60).toWellFormed()} – repository`;
  return page(site, { title, section: "/repositories", content });
}

function hitsOf(found: RepoSearchPayload, repository: RepoEntry, query: string, hint: string): string {
  const { hits, notice, partial, files_done, files_found, next } = found;
  const remarks = [
    partial ? `Not every file was looked at in time (${files_done} of ${files_found}): search again to go on.` : "",
    notice ?? "",
  ];
  const said = remarks.flatMap((one) => (one === "" ? [] : [`<p class="hint">${isolated(one)}</p>`])).join("");
  const list = fitting(hits.values().map((hit) => `<li>${hitOf(hit)}</li>`)).join("");
  const more = next === undefined ? undefined : searchPath(repository, { q: query, hint, after: next });
  return `<h2>${hits.length === 0 ? "Nothing was found" : counted(hits.length, "file")}</h2>${said}
    <ol class="hits">${list}</ol>${pages("Further files", { first: undefined, previous: undefined, next: more })}`;
}

function hitOf({ id, metadata, text, unreadable }: RepoHit): string {
  const place = metadata === undefined ? id : `${metadata.path}:${metadata.start_line}`;
  const symbol = metadata?.symbol === undefined ? "" : ` <strong>${isolated(metadata.symbol)}</strong>`;
  const state = unreadable ? " (cannot be read now)" : "";
  return `<code>${isolated(place)}</code>${symbol}${state}${text === undefined ? "" : `<pre>${linesOf(text)}</pre>`}`;
}

/** The lines as they are on disk, with their numbers. */
function linesOf(text: string): string {
  const lines = numberedLines(text);
  const width = Math.max(...lines.map(({ number }) => String(number ?? "").length));
  return lines
    .map(({ number, text: line }) => {
      const shown = line.length > LINE_MAX ? `${line.slice(0, LINE_MAX).toWellFormed()}…` : line;
      // A tab is seen as what it is.
      const parts = shown
        .replace(/\r$/, "")
        .split("\t")
        .map((part) => escaped(visible(part)));
      return `<span class="number">${String(number ?? "").padStart(width)}</span> ${parts.join("\t")}`;
    })
    .join("\n");
}
