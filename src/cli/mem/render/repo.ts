/** Hits in a repository for a person: path and line, the symbol, the lines with their numbers. */
import { join } from "node:path";
import type { RepoHit, RepoSearchPayload } from "../../../memory/requests.ts";
import { type NumberedLine, numberedLines } from "../../../repo/show/numbered.ts";
import { link, style, visible } from "../../terminal/output.ts";
import { showId, showTimes } from "./text.ts";

/** Hits, best first. Paths are relative to the workspace, and on a terminal they are links. */
export function renderRepoHits({ workspace, hits }: RepoSearchPayload, form: string): string {
  if (form === "files") return hits.map((hit) => pathOf(hit, workspace)).join("\n");
  if (form === "grep") return hits.map((hit) => grepLines(hit, workspace)).join("\n");
  return hits
    .map((hit) => [headOf(hit, workspace), ...numbered(linesOf(hit, form))].join("\n"))
    .join(hits.some(({ text }) => text !== undefined) ? "\n\n" : "\n");
}

function headOf(hit: RepoHit, workspace: string): string {
  const { metadata } = hit;
  const line = metadata === undefined ? "" : `:${style("green", String(metadata.start_line))}`;
  const symbol = metadata?.symbol === undefined ? "" : `  ${style("bold", showId(metadata.symbol))}`;
  const unreadable = hit.unreadable ? "  (cannot be read now)" : "";
  return pathOf(hit, workspace) + line + symbol + unreadable + showTimes(hit);
}

/** The path; of a hit that is too large to have one, its id. */
function pathOf({ id, metadata }: RepoHit, workspace: string): string {
  if (metadata === undefined) return showId(id);
  return link(join(workspace, metadata.path), style("magenta", showId(metadata.path)));
}

function linesOf({ text, metadata, truncated }: RepoHit, form: string): NumberedLine[] {
  if (text === undefined) return [];
  if (form !== "windows") return numberedLines(text);
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  // An excerpt may begin anywhere.
  const first = truncated || metadata === undefined ? Number.NaN : metadata.start_line;
  return lines.map((line, i) => (Number.isNaN(first) ? { text: line } : { number: first + i, text: line }));
}

function numbered(lines: readonly NumberedLine[]): string[] {
  const width = Math.max(0, ...lines.map(({ number }) => String(number ?? "").length));
  return lines.map(({ number, text }) => {
    const shown = visible(text.replace(/\r$/, ""));
    return `${style("green", String(number ?? "").padStart(width))}  ${shown}`.trimEnd();
  });
}

/** `path:line:text` as the tool has it, so that other programs can read it. */
function grepLines(hit: RepoHit, workspace: string): string {
  const { text, metadata } = hit;
  if (text === undefined || metadata === undefined) return headOf(hit, workspace);
  const before = `${metadata.path}:`;
  // A path may have line breaks.
  return text
    .slice(before.length)
    .split(`\n${before}`)
    .map((line) => {
      const [, number, rest] = /^(\d+):(.*)$/s.exec(line) ?? [];
      if (number === undefined) return visible(line);
      return `${pathOf(hit, workspace)}:${style("green", number)}:${visible(rest!)}`;
    })
    .join("\n");
}
