/** The syntax of git's configuration files. They are untrusted: what follows an error is not read. */

/** One line `name = value`. */
export interface ConfigEntry {
  /** In lower case. */
  section: string;
  /** As it is written, in lower case in the old form `[section.subsection]`. */
  subsection: string | undefined;
  /** In lower case. */
  name: string;
  /** Null where there is no `=`. */
  value: string | null;
}

const SPACE = /[ \t\r\v\f]*/y;
const BLANK = /(?:[ \t\r\n\v\f]|[#;][^\n]*)*/y;
const SECTION = /\[[ \t]*([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)"[ \t]*)?\]/y;
const NAME = /[A-Za-z][A-Za-z0-9-]*/y;
const PLAIN = /[^"\\\n#;]+/y;

const ESCAPED: Readonly<Record<string, string>> = { n: "\n", t: "\t", b: "\b", "\\": "\\", '"': '"' };

/** The entries of a file in order, up to the first error. */
export function parseConfig(text: string): ConfigEntry[] {
  const entries: ConfigEntry[] = [];
  const at = { text, position: text.startsWith("\uFEFF") ? 1 : 0 };
  let [section, subsection]: [string, string | undefined] = ["", undefined];
  for (;;) {
    take(at, BLANK);
    if (at.position >= text.length) return entries;
    if (text[at.position] === "[") {
      const header = take(at, SECTION);
      if (!header) return entries;
      const [whole, ...rest] = header[1]!.toLowerCase().split(".");
      section = whole!;
      subsection = header[2]?.replace(/\\(.)/g, "$1") ?? (rest.length > 0 ? rest.join(".") : undefined);
      continue;
    }
    const name = take(at, NAME)?.[0].toLowerCase();
    if (name === undefined || section === "") return entries;
    take(at, SPACE);
    let value: string | null = null;
    if (text[at.position] === "=") {
      at.position++;
      const read = valueAt(at);
      if (read === undefined) return entries;
      value = read;
    } else if (at.position < text.length && !"\n#;".includes(text[at.position]!)) return entries;
    entries.push({ section, subsection, name, value });
  }
}

interface Cursor {
  text: string;
  position: number;
}

function take(at: Cursor, pattern: RegExp): RegExpExecArray | undefined {
  pattern.lastIndex = at.position;
  const match = pattern.exec(at.text);
  if (!match) return undefined;
  at.position = pattern.lastIndex;
  return match;
}

/** A value up to its line's end; undefined where it is malformed. */
function valueAt(at: Cursor): string | undefined {
  take(at, SPACE);
  const parts: string[] = [];
  let isQuoted = false;
  /** Parts up to here end in something else than a space to cut off. */
  let fixed = 0;
  for (;;) {
    const character = at.text[at.position];
    if (character === undefined || character === "\n") {
      if (isQuoted) return undefined;
      break;
    }
    if (!isQuoted && (character === "#" || character === ";")) {
      while (at.position < at.text.length && at.text[at.position] !== "\n") at.position++;
      break;
    }
    at.position++;
    if (character === '"') {
      isQuoted = !isQuoted;
      fixed = parts.length;
    } else if (character === "\\") {
      const next = at.text[at.position++];
      if (next === "\r" && at.text[at.position] === "\n") at.position++;
      else if (next !== "\n") {
        const meant = ESCAPED[next ?? ""];
        if (meant === undefined) return undefined;
        parts.push(meant);
        fixed = parts.length;
      }
    } else {
      at.position--;
      const run = isQuoted && "#;".includes(character) ? character : take(at, PLAIN)![0];
      if (isQuoted && "#;".includes(character)) at.position++;
      parts.push(run);
      if (isQuoted) fixed = parts.length;
    }
  }
  const tail = parts
    .slice(fixed)
    .join("")
    .replace(/[ \t\r\v\f]+$/, "");
  return parts.slice(0, fixed).join("") + tail;
}
