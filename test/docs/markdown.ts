/**
 * What of a page of Markdown can be tested: its blocks of code with what the page says about them, its code spans, its
 * links and its headings. [README.md](README.md) has the conventions.
 */

/** A fenced block. */
export interface Block {
  /** Where it begins in the page, from 1. */
  readonly line: number;
  /** The word after the fence; "" where there is none. */
  readonly language: string;
  readonly code: string;
  /** Whether only empty lines part it from the block before it. */
  readonly isNext: boolean;
  /** What the comment right before it says, without `<!--` and `-->`. */
  readonly remark: string | undefined;
}

/** A piece of text and where it stands. */
export interface Span {
  readonly line: number;
  readonly text: string;
}

export interface Page {
  readonly blocks: readonly Block[];
  /** Inline code, outside of blocks, with line breaks as spaces. */
  readonly spans: readonly Span[];
  /** The targets of links and pictures, outside of blocks. */
  readonly links: readonly Span[];
  /** The anchors of its headings, as GitHub makes them. */
  readonly anchors: ReadonlySet<string>;
  /** Comments that stand for themselves, before no block. */
  readonly remarks: readonly string[];
  /** Commands of a comment `<!-- first:`, which make what the page takes for granted. */
  readonly first: string;
}

/** Reads a page. @throws for a fence that is not closed */
export function readPage(text: string): Page {
  const lines = text.split("\n");
  const blocks: Block[] = [];
  const remarks: string[] = [];
  let first = "";
  // Prose with blocks blanked out, so that what is found in it is on its line.
  const prose = [...lines];
  let remark: string | undefined;
  let isNext = false;
  for (let i = 0; i < lines.length; i++) {
    const fence = /^(`{3,}|~{3,})\s*([\w-]*)/.exec(lines[i]!);
    if (lines[i] === "<!-- first:") {
      const end = lines.indexOf("-->", i);
      if (end < 0) throw new Error(`line ${i + 1}: the comment is not closed`);
      first += `${lines.slice(i + 1, end).join("\n")}\n`;
      prose.fill("", i, end + 1);
      i = end;
      continue;
    }
    const comment = /^<!--\s*(.*?)\s*-->$/.exec(lines[i]!);
    if (fence) {
      const end = lines.findIndex((line, at) => at > i && line.trim() === fence[1]);
      if (end < 0) throw new Error(`line ${i + 1}: the block is not closed`);
      const code = lines.slice(i + 1, end).join("\n");
      blocks.push({ line: i + 1, language: fence[2]!, code, isNext, remark });
      isNext = true;
      prose.fill("", i, end + 1);
      i = end;
      remark = undefined;
    } else if (comment) {
      if (remark !== undefined) remarks.push(remark);
      remark = comment[1]!;
      prose[i] = "";
    } else if (lines[i]!.trim() !== "") {
      if (remark !== undefined) remarks.push(remark);
      remark = undefined;
      isNext = false;
    }
  }
  if (remark !== undefined) remarks.push(remark);
  const plain = prose.join("\n");
  const lineAt = (index: number) => plain.slice(0, index).split("\n").length;
  const spans = [...plain.matchAll(/(?<!`)(`+)(?!`)((?:[^\n]|\n(?!\s*\n))+?)(?<!`)\1(?!`)/g)].map((match) => {
    return { line: lineAt(match.index), text: match[2]!.replace(/\s*\n\s*/g, " ").trim() };
  });
  const withoutCode = plain.replace(/`[^`\n]*`/g, (code) => " ".repeat(code.length));
  const links = [
    ...withoutCode.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)|<(?:img|source)\b[^>]*?\bsrc(?:set)?="([^"]+)"/g),
  ];
  return {
    blocks,
    remarks,
    first,
    spans,
    links: links.map((match) => ({ line: lineAt(match.index), text: (match[1] ?? match[2])! })),
    anchors: anchorsOf(prose),
  };
}

function anchorsOf(prose: readonly string[]): Set<string> {
  const anchors = new Set<string>();
  for (const line of prose) {
    const heading = /^#{1,6}\s+(.*?)\s*#*$/.exec(line)?.[1];
    if (heading === undefined) continue;
    const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const anchor = words.replace(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(/\s/g, "-");
    let unique = anchor;
    for (let n = 1; anchors.has(unique); n++) unique = `${anchor}-${n}`;
    anchors.add(unique);
  }
  return anchors;
}
