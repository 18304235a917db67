/** Whether a client will start an entry: by its own lists, and those of its administrator. */
import { SvcError } from "../errors.ts";
import type { Block, Client, ClientSite, Entry, ReadSettings } from "./client.ts";
import { JSON_NOTATION } from "./edit/json.ts";
import { bytesOf, targetOf, textOf } from "./file.ts";

/** What keeps a client from starting an entry; undefined where nothing is known that does. @throws never */
export function blockOf(client: Client, entry: Entry, site: ClientSite): Block | undefined {
  return client.findBlock?.(entry, site, settingsReader(site));
}

/** Reads each file once. One that cannot be read blocks nothing that could be named. */
export function settingsReader(site: ClientSite): ReadSettings {
  const known = new Map<string, ReturnType<ReadSettings>>();
  return (file, notation = JSON_NOTATION) => {
    if (known.has(file)) return known.get(file);
    let settings: ReturnType<ReadSettings>;
    try {
      // Nothing is written, so a link may lead anywhere.
      const bytes = bytesOf(targetOf(file, "user", site), file);
      settings = bytes && notation.parse(textOf(bytes).text);
    } catch (error) {
      if (!(error instanceof SvcError)) throw error;
    }
    known.set(file, settings);
    return settings;
  };
}
