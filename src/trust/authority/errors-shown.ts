/** Errors for people: a browser that is about to show an answer gets a page, where a program gets JSON. */

import { errorPage } from "../../pages/error.ts";
import type { Authority } from "./context.ts";
import { html, siteName } from "./site.ts";

const SENTENCES: Record<number, string> = {
  403: "This address answers devices, or by https only.",
  404: "There is no page at this address.",
  405: "This address answers a form only: go back to the page that it stands on.",
  421: "This server has another name: use the address that the terminal shows.",
  429: "Too many requests came from this address. Try again in some minutes.",
  500: "The server has failed to answer. Its log has the reason.",
  503: "The server cannot read or write its records, or has too much to do. Nothing was changed: try again in a moment.",
};

/** The answer as a page where it is an error in JSON and a person would see it. Its status and its `retry-after` stay. */
export function shownTo(
  request: Request,
  authority: Pick<Authority, "organisation" | "publicUrl">,
  response: Response,
): Response {
  const isError = response.status >= 400 && response.headers.get("content-type")?.startsWith("application/json");
  if (!isError || !request.headers.get("accept")?.includes("text/html")) return response;
  const base = new URL(authority.publicUrl()).pathname.replace(/\/+$/, "");
  const administration = authority.organisation ? `<li><a href="${base}/admin">Administration</a></li>` : "";
  const ways = `<ul><li><a href="${base}/device">Connect a device</a></li>${administration}</ul>`;
  const body = errorPage(siteName(authority), SENTENCES[response.status] ?? "This server cannot answer that.", ways);
  const retryAfter = response.headers.get("retry-after");
  return html(response.status, body, retryAfter === null ? {} : { "retry-after": retryAfter });
}
