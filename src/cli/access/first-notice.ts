/** Adds a notice about the sign-in to one answer. */
import { noticeWithin } from "../../answers/answer.ts";
import { type CallContext, VERBS, type Verbs } from "../../memory/requests.ts";
import { joinNotices } from "../../texts/notices.ts";

/** What all verbs have in common. */
type Verb = (a: { readonly max_bytes: number }, c: CallContext) => Promise<{ notice?: string | undefined }>;

/** The first successful answer begins with the notice and keeps its size limit. */
export function withFirstNotice(verbs: Verbs, notice: string): Verbs {
  let left: string | undefined = notice;
  const said = (verb: Verb): Verb => {
    return async (a, c) => {
      if (left === undefined) return verb(a, c);
      const own = noticeWithin(left, a.max_bytes);
      const payload = await verb({ ...a, max_bytes: a.max_bytes && a.max_bytes - bytesOf(own) }, c);
      // Of several calls at once only one has it, which then is shorter than the others.
      if (left === undefined) return payload;
      left = undefined;
      return { ...payload, notice: joinNotices(". ", [own, payload.notice]) };
    };
  };
  // The verb's own arguments and payload belong together, which the type of a union cannot express.
  const entries = VERBS.map((name) => [name, said(verbs[name].bind(verbs) as unknown as Verb)]);
  return Object.fromEntries(entries) as Verbs;
}

/** Bytes that it takes in an answer. */
function bytesOf(notice: string): number {
  return Buffer.byteLength(JSON.stringify({ notice }));
}
