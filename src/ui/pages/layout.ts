/** The header of every page, with the sections. */
import { type Frame, framed } from "../../pages/frame.ts";
import { isolated, status, visible } from "../../pages/text.ts";
import type { Site } from "../memory/site.ts";
import { SCRIPT } from "./script.ts";
import { STYLE } from "./style.ts";

/** The sections, by their path. Those of files are missing for a memory elsewhere. */
const SECTIONS = [
  { path: "/", text: "Collections", isLocal: false },
  { path: "/search", text: "Search", isLocal: false },
  { path: "/repositories", text: "Repositories", isLocal: true },
  { path: "/files", text: "Import and backup", isLocal: true },
  { path: "/health", text: "Health", isLocal: true },
] as const;
export type Section = (typeof SECTIONS)[number]["path"];

/** For a memory of `svc serve`: what its pages lack. */
const ELSEWHERE =
  "A server has it: for history, duplicates, import, export, backup, repositories and health, run svc ui on that machine.";

export interface PageOptions extends Pick<Frame, "title" | "content"> {
  readonly section?: Section | undefined;
  /** What was done before. */
  readonly said?: string | undefined;
}

/** A page. @param content HTML, of which everything that is not ours was escaped */
export function page(site: Site, { title, content, section, said }: PageOptions): string {
  const links = SECTIONS.filter(({ isLocal }) => !isLocal || site.local !== undefined).map(({ path, text }) => {
    return `<li><a href="${path}"${path === section ? ' aria-current="page"' : ""}>${text}</a></li>`;
  });
  const there = site.local === undefined ? ` ${ELSEWHERE}` : "";
  const note = site.readOnly ? " Nothing can be changed here (--read-only)." : "";
  const header = `<nav aria-label="Sections"><ul>${links.join("")}</ul></nav>`;
  const first = said === undefined ? "" : status(said);
  const about = `<p class="hint memory">Memory: ${isolated(site.memory)}.${there}${note}</p>`;
  return framed({
    // A collection's name, an id or a search may stand in it.
    title: visible(title),
    site: "this machine",
    header,
    content: `${first}${content}${about}`,
    style: STYLE,
    script: SCRIPT,
  });
}
