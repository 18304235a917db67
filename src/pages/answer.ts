/** The headers of a site that only its own pages may use, and a page as an answer. */

/** Sent with every response. `same-origin`, since with `no-referrer` browsers send our own form with `Origin: null`. */
export const SITE_HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** A page. @param policy of `policyOf` */
export function answerHtml(
  status: number,
  html: string,
  policy: string,
  headers: Record<string, string> = {},
): Response {
  const own = { "content-type": "text/html; charset=utf-8", "content-security-policy": policy };
  return new Response(html, { status, headers: { ...SITE_HEADERS, ...own, ...headers } });
}
