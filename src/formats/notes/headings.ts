/** The headings of a Markdown text, and what stands below each. */

/** What stands below one heading, up to the next one of any level. */
export interface Section {
  /** 1 to 6; 0 for what stands before the first heading. */
  readonly level: number;
  readonly title: string;
  /** The titles of the headings that it stands below, its own last. */
  readonly path: readonly string[];
  /** The line of its heading, from 1. */
  readonly line: number;
  /** Without the heading. */
  readonly body: string;
}

const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/;
const ATX = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const SETEXT = /^ {0,3}(=+|-+)[ \t]*$/;
/** What a line may not begin with to be the text of an underlined heading: quotes, lists, tables, code, headings. */
const NO_PARAGRAPH = /^(?: {4}|\t| {0,3}(?:[>#|]|[-*+][ \t]|\d{1,9}[.)][ \t]|(?:[-*_][ \t]*){3,}$))/;

/**
 * The sections of a text, at least one. Headings begin with number signs or are underlined; what stands in fenced code
 * or in comments is not one.
 */
export function sectionsOf(text: string): Section[] {
  const lines = text.split(/\r\n|[\r\n]/);
  const sections: Section[] = [];
  let open: { level: number; title: string; path: string[]; line: number; body: string[] } = {
    level: 0,
    title: "",
    path: [],
    line: 1,
    body: [],
  };
  const above: { level: number; title: string }[] = [];
  const begin = (level: number, title: string, line: number) => {
    if (open.level > 0 || open.body.some((one) => one.trim() !== ""))
      sections.push({ ...open, body: open.body.join("\n") });
    while (above.length > 0 && above.at(-1)!.level >= level) above.pop();
    above.push({ level, title });
    open = { level, title, path: above.map((one) => one.title), line, body: [] };
  };
  let fence: string | undefined;
  let isComment = false;
  for (const [i, line] of lines.entries()) {
    const mark = FENCE.exec(line)?.[1];
    if (fence !== undefined) {
      if (mark?.[0] === fence[0] && mark!.length >= fence.length && line.trim() === mark) fence = undefined;
    } else if (isComment) {
      isComment = !line.includes("-->");
    } else if (mark !== undefined) {
      fence = mark;
    } else if (/^ {0,3}<!--/.test(line)) {
      isComment = !line.includes("-->");
    } else {
      const [, signs, title = ""] = ATX.exec(line) ?? [];
      if (signs !== undefined) {
        begin(signs.length, title.trim(), i + 1);
        continue;
      }
      const under = SETEXT.exec(line)?.[1];
      const before = open.body.at(-1);
      const single = open.body.length < 2 || open.body.at(-2)!.trim() === "";
      if (under !== undefined && before !== undefined && before.trim() !== "" && single && !NO_PARAGRAPH.test(before)) {
        open.body.pop();
        begin(under[0] === "=" ? 1 : 2, before.trim(), i);
        continue;
      }
    }
    open.body.push(line);
  }
  sections.push({ ...open, body: open.body.join("\n") });
  return sections;
}

/** A name for each section, as GitHub makes anchors of headings: two that are equal get different ones. */
export function anchors(sections: readonly Section[]): string[] {
  const taken = new Set<string>();
  // The number to go on with: thousands of equal headings would each try all names before theirs.
  const tried = new Map<string, number>();
  return sections.map(({ title }) => {
    const slug =
      title
        .toLowerCase()
        .trim()
        .replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, "")
        .replaceAll(" ", "-") || "section";
    let name = slug;
    let i = tried.get(slug) ?? 1;
    while (taken.has(name)) name = `${slug}-${i++}`;
    tried.set(slug, i);
    taken.add(name);
    return name;
  });
}
