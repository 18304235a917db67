/** Notices of the tools as the terminal shows them. */
import { EMPTY_QUERY } from "../../../texts/notices.ts";
import { nameAsWord } from "./text.ts";

/** A notice with the command in place of the tool that it names. */
export function asCommand(notice: string, collection: string): string {
  const newest = `'svc mem ids --newest 10 ${nameAsWord(collection)}'`;
  return notice
    .replace(EMPTY_QUERY, () => EMPTY_QUERY.replace("svc_ids with newest", () => newest))
    .replaceAll("which svc_get reads", "which 'svc mem get' reads")
    .replaceAll("svc_add makes one", "'svc mem add' makes one")
    .replaceAll("change the stored one by svc_update with its id", "change the stored one by 'svc mem update'")
    .replaceAll(": svc_update keeps metadata", ": 'svc mem update' keeps metadata");
}
