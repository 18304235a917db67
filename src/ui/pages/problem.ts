/** Errors as pages. */
import { notPossible } from "../../pages/error.ts";
import { framed } from "../../pages/frame.ts";
import type { Site } from "../memory/site.ts";
import { page } from "./layout.ts";
import { STYLE } from "./style.ts";

/** For a request that is refused: it names nothing of the memory. @param goesOn whether a click leads to the pages */
export function errorPage(problem: string, goesOn = false): string {
  const way = goesOn ? '<p><a href="/">Open svc ui</a></p>' : "";
  return framed({ site: "this machine", style: STYLE, ...notPossible(problem, way) });
}

/** For the person whose memory it is. */
export function problemPage(site: Site, problem: string): string {
  return page(site, notPossible(problem, '<p><a href="/">All collections</a></p>'));
}
