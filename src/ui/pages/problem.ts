/** Errors as pages. */
import { notPossible } from "../../pages/error.ts";
import { framed } from "../../pages/frame.ts";
import type { Site } from "../memory/site.ts";
import { page } from "./layout.ts";
import { STYLE } from "./style.ts";

/** For a request that is refused: it names nothing of the memory. */
export function errorPage(problem: string): string {
  return framed({ site: "this machine", style: STYLE, ...notPossible(problem, "") });
}

/** For the person whose memory it is. */
export function problemPage(site: Site, problem: string): string {
  return page(site, notPossible(problem, '<p><a href="/">All collections</a></p>'));
}
