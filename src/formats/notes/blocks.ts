/**
 * The blocks of a Markdown text below one heading, as agents write down what they remember: each bullet of the outermost
 * list with all that is indented below it, and each paragraph, table and fenced code.
 */

/** A block. */
export interface Block {
  /** A bullet is without its mark, and what is below it is moved to the left by as much. */
  readonly text: string;
  /** The paragraph with a colon at its end that introduces the list of this bullet. */
  readonly lead?: string | undefined;
  /** Its first line, from 0. */
  readonly line: number;
}

interface Draft {
  readonly kind: "bullet" | "text" | "code";
  readonly lines: string[];
  readonly line: number;
  readonly lead: string | undefined;
  /** Columns before a bullet's mark, and before its text. */
  readonly mark: number;
  readonly inner: number;
}

/** UTF-16 units of a paragraph that is repeated in each bullet; a longer one is a block of its own. */
const LEAD_UNITS_MAX = 500;

const BULLET = /^( *)(?:[-*+]|\d{1,9}[.)])(?: +|$)/;
const FENCE = /^ *(`{3,}(?=[^`]*$)|~{3,})/;
const RULE = /^ {0,3}(?:(?:-[ ]*){3,}|(?:\*[ ]*){3,}|(?:_[ ]*){3,})$/;
const COMMENT = /^\s*<!--[\s\S]*?-->\s*$/;

/** The blocks of a text, without those that are empty, a ruled line or a comment. */
export function blocksOf(text: string): Block[] {
  const drafts: Draft[] = [];
  let open: Draft | undefined;
  let fence: string | undefined;
  let isAfterBlank = false;
  const begin = (kind: Draft["kind"], content: string, line: number, rest: Partial<Draft> = {}) => {
    open = { kind, lines: [content], line, lead: undefined, mark: 0, inner: 0, ...rest };
    drafts.push(open);
  };
  for (const [i, raw] of text.split("\n").entries()) {
    const line = detabbed(raw);
    const mark = FENCE.exec(line)?.[1];
    if (fence !== undefined) {
      open!.lines.push(shifted(line, open!.inner));
      if (mark?.[0] === fence[0] && mark!.length >= fence.length && line.trim() === mark) {
        fence = undefined;
        if (open!.kind !== "bullet") open = undefined;
      }
      continue;
    }
    if (line.trim() === "") {
      if (open?.kind === "text") open = undefined;
      else open?.lines.push("");
      isAfterBlank = true;
      continue;
    }
    const indent = line.length - line.trimStart().length;
    const isInside = open?.kind === "bullet" && indent > open.mark;
    const bullet = RULE.test(line) ? null : BULLET.exec(line);
    if (mark !== undefined) {
      fence = mark;
      const before = drafts.at(-1);
      // Code that a paragraph introduces is a part of it.
      if (isInside) open!.lines.push(shifted(line, open!.inner));
      else if (before?.kind === "text" && endsInColon(before)) {
        open = before;
        before.lines.push(line);
      } else begin("code", line, i);
    } else if (isInside) {
      open!.lines.push(shifted(line, open!.inner));
    } else if (bullet) {
      const before = drafts.at(-1);
      const isLead = before?.kind === "text" && endsInColon(before) && unitsOf(before) <= LEAD_UNITS_MAX;
      if (isLead) drafts.pop();
      const lead = isLead ? before.lines.join("\n").trim() : before?.kind === "bullet" ? before.lead : undefined;
      begin("bullet", line.slice(bullet[0].length), i, { lead, mark: bullet[1]!.length, inner: bullet[0].length });
    } else if (RULE.test(line)) {
      open = undefined;
      // No list continues over a ruled line.
      drafts.push({ kind: "text", lines: [], line: i, lead: undefined, mark: 0, inner: 0 });
    } else if (open && !(open.kind === "bullet" && isAfterBlank)) {
      open.lines.push(line);
    } else begin("text", line, i);
    isAfterBlank = false;
  }
  return drafts.flatMap(({ lines, lead, line }) => {
    const whole = lines.join("\n").replace(/^\n+|\s+$/g, "");
    return whole.trim() === "" || COMMENT.test(whole) ? [] : [{ text: whole, lead, line }];
  });
}

function unitsOf({ lines }: Draft): number {
  return lines.reduce((sum, line) => sum + line.length, 0);
}

function endsInColon({ lines }: Draft): boolean {
  return lines.at(-1)?.trimEnd().endsWith(":") === true;
}

/** Tabs at the beginning of a line as the columns that they stand for. */
function detabbed(line: string): string {
  const [blank] = /^[ \t]*/.exec(line)!;
  if (!blank.includes("\t")) return line;
  let columns = "";
  for (const one of blank) columns += one === "\t" ? " ".repeat(4 - (columns.length % 4)) : " ";
  return columns + line.slice(blank.length);
}

/** A line without the columns that it is indented by, at most so many. */
function shifted(line: string, columns: number): string {
  const indent = line.length - line.trimStart().length;
  return line.slice(Math.min(indent, columns));
}
