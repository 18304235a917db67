/** What a person sees of an error. */
import { type Frame, framed } from "./frame.ts";
import { alert } from "./text.ts";

/** An error in a sentence. @param way where to go on, as HTML */
export function notPossible(problem: string, way: string): Pick<Frame, "title" | "content"> {
  const content = `<h1>Not possible</h1>
    ${alert(problem)}
    ${way}`;
  return { title: "Error: not possible", content };
}

/** The same as a page for a person who may not be signed in. */
export function errorPage(site: string, problem: string, way: string): string {
  return framed({ site, ...notPossible(problem, way) });
}
