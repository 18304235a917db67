/** What a person sees of an error that concerns no page in particular. */
import { framed } from "./frame.ts";
import { alert } from "./text.ts";

/** @param links addresses and texts of pages that are there */
export function errorPage(site: string, problem: string, links: readonly (readonly [string, string])[]): string {
  const items = links.map(([address, text]) => `<li><a href="${address}">${text}</a></li>`);
  const content = `<h1>Not possible</h1>
    ${alert(problem)}
    <ul>${items.join("")}</ul>`;
  return framed({ title: "Error: not possible", site, content });
}
