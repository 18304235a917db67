/** `/c/:name/export`: a collection as a download, made while it is sent. */

import { exportPages, headLine } from "../../memory/transfer/export.ts";
import { SITE_HEADERS } from "../../pages/answer.ts";
import { call } from "../memory/verb.ts";
import { locally, type Routes } from "./call.ts";

export const EXPORT_ROUTES: Routes = {
  "GET /c/:name/export": locally(async (site, { params, url }, local) => {
    const collection = params.name!;
    const terminal = await local.terminal();
    // What can fail is done before the download begins.
    const head = await terminal.export_head({ collection });
    const { ids } = await call(site, "ids", { collection });
    const vectors = url.searchParams.has("vectors") || head.schema.embedder === null;
    const pages = exportPages(terminal, collection, ids, { vectors, metadata: true, times: true });
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(encoder.encode(`${headLine(head)}\n`));
      },
      async pull(controller) {
        const { value, done } = await pages.next();
        if (done || value === undefined) controller.close();
        else controller.enqueue(encoder.encode(value.lines));
      },
      async cancel() {
        await pages.return(undefined);
      },
    });
    const headers = {
      ...SITE_HEADERS,
      "content-type": "application/x-ndjson; charset=utf-8",
      "content-disposition": disposition(`${collection}.jsonl`),
    };
    return new Response(body, { headers });
  }),
};

const encoder = new TextEncoder();

/** A file's name in a header (RFC 6266): for old clients in ASCII, and whole. */
function disposition(name: string): string {
  const ascii = name.replace(/[^\w.-]/g, "_");
  const whole = encodeURIComponent(name).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${ascii}"; filename*=UTF-8''${whole}`;
}
