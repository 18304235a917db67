/** What an answer of `svc_repo_search` holds, whatever its form. */

/** An answer as read. */
export interface Answer {
  /** Paths of its hits, best first; a file may be there again. */
  paths: string[];
  /** All text shown of a file. */
  shown: Map<string, string>;
}

interface Hit {
  metadata?: { path?: string };
}

/** Characters of a line that an answer has to hold; of longer lines those around the name. */
const PIECE = 60;
const BEFORE_NAME = 10;

/** @param text the text block */
export function readAnswer(text: string): Answer {
  const { hits } = JSON.parse(text) as { hits: Hit[] };
  const paths: string[] = [];
  const shown = new Map<string, string>();
  for (const { metadata, ...rest } of hits) {
    const path = metadata?.path;
    if (path === undefined) continue;
    paths.push(path);
    shown.set(path, [shown.get(path) ?? "", ...stringsIn(rest)].join("\n"));
  }
  return { paths, shown };
}

/** Whether it shows a line of a file. `name`: what the line defines, around which a form may cut it. */
export function showsLine({ shown }: Answer, path: string, line: string, name: string): boolean {
  const whole = line.trim();
  const from = whole.length <= PIECE ? 0 : Math.max(0, whole.indexOf(name) - BEFORE_NAME);
  return shown.get(path)?.includes(whole.slice(from, from + PIECE)) === true;
}

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
