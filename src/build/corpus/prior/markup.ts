/** Files to paragraphs: each format as far as it takes to leave the words that a person wrote, and no further. */
import { inflateRawSync } from "node:zlib";
import type { Format } from "./source.ts";

const squeeze = (text: string) => text.replace(/\s+/g, " ").trim();
const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

function withoutEntities(text: string): string {
  return text
    .replace(/&#(x?)([0-9a-f]{1,6});/gi, (all, hex, digits) => {
      const code = Number.parseInt(digits, hex ? 16 : 10);
      return code > 0 && code < 0x110000 ? String.fromCodePoint(code) : all;
    })
    .replace(/&(\w{2,5});/g, (all, name) => ENTITIES[name] ?? all);
}

/** Links keep their words and lose their addresses; templates, tags and emphasis go. */
function inline(text: string): string {
  const plain = text
    .replace(/!\[[^\]]*\]\([^)]*\)/g, " ")
    .replace(/\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])/g, "$1")
    .replace(/<https?:[^>]*>|https?:\/\/\S+|www\.\S+/g, " ")
    .replace(/\{\{.*?\}\}|\{%.*?%\}|\{[#:/].*?\}/g, " ")
    .replace(/<\/?[A-Za-z][^<>]{0,400}>/g, " ")
    .replace(/\*\*|__|~~|(?<![\p{L}\p{N}])[*_](?=[\p{L}\p{N}])|(?<=[\p{L}\p{N}])[*_](?![\p{L}\p{N}])/gu, "");
  return squeeze(withoutEntities(plain).replaceAll("`", ""));
}

function markdown(text: string): string[] {
  const body = text
    .replace(/^---\n[\s\S]*?\n---\n|^\+\+\+\n[\s\S]*?\n\+\+\+\n/, "")
    .replace(/<(script|style|svg|Sandpack)\b[\s\S]*?<\/\1\w*>|<!--[\s\S]*?-->/g, " ")
    .replace(/^[ \t>]*(```+|~~~+)[\s\S]*?^[ \t>]*\1[ \t]*$/gm, "\n")
    .replace(/^\s*\[[^\]]+\]:\s.*$|^\s*(import|export) .*$|^[|:\-\s=]+$/gm, "\n");
  return body.split(/\n\s*\n/).map((block) => {
    const lines = block
      .split("\n")
      .map((line) => line.replace(/^\s*(#+|>+|[-*+]|\d+[.)])\s+/, "").replace(/\[!\w+\]|\|/g, " "));
    return inline(lines.join(" "));
  });
}

function rst(text: string): string[] {
  const body = text
    .slice(text.indexOf("\n\n") + 2)
    .replace(/^\.\. .*\n(?:[ \t].*\n|\n(?=[ \t]))*/gm, "\n")
    .replace(/^[=\-~^"#*+`]{3,}\s*$/gm, "")
    .replace(/(?::\w+:)?`([^`<]*)(?:<[^`>]*>)?`(?:__?)?/g, "$1");
  return body
    .split(/\n\s*\n/)
    .filter((block) => !/^( {4}|\s+>>>)/.test(block))
    .map(inline);
}

const paragraphs = (xml: string) =>
  [...xml.matchAll(/<p\b[^>]*>([\s\S]*?)<\/p>/g)].map(([, inner]) =>
    squeeze(withoutEntities(inner!.replace(/<[^>]+>/g, " "))),
  );

function tei(text: string): string[] {
  const body = /<body\b[\s\S]*<\/body>/.exec(text)?.[0] ?? "";
  return paragraphs(body.replace(/<(note|ref)\b[\s\S]*?<\/\1>/g, ""));
}

function jats(text: string): string[] {
  const aside =
    /<(table-wrap|fig|disp-formula|inline-formula|xref|contrib-group|aff|author-notes|permissions|code|preformat)\b[\s\S]*?<\/\1>/g;
  return paragraphs(text.split(/<back\b/)[0]!.replace(aside, ""));
}

/** A page of commands is one paragraph: what each does, and the command. */
function pages(text: string): string[] {
  const lines = text.split("\n").map((line) => line.replace(/^[#>-]\s*/, "").replace(/\{\{(.*?)\}\}/g, "$1"));
  return [squeeze(lines.join(" ").replace(/https?:\/\/\S+|[`<>]/g, " "))];
}

function turns(yaml: string): string[] {
  const lines = yaml.split("\n").filter((line) => line.includes("- "));
  return lines.map((line) => line.replace(/^[\s-]+|["']/g, "")).filter((line) => !line.slice(0, 14).includes(":"));
}

function utterances(json: string): string[] {
  const dialogues = JSON.parse(json) as { utterances?: { text?: string }[] }[];
  return dialogues.map(({ utterances }) => squeeze((utterances ?? []).map(({ text }) => text ?? "").join("\n")));
}

/**
 * Requests sorted by what they want, twenty of different kinds to a paragraph: a card is dealt from each pile in turn.
 */
function intents(json: string): string[] {
  const data = JSON.parse(json) as Record<string, [request: string, intent: string][]>;
  const piles = new Map<string, string[]>();
  for (const [request, intent] of [...data.train!, ...data.val!, ...data.oos_train!]) {
    piles.set(intent, [...(piles.get(intent) ?? []), request]);
  }
  const rows: string[] = [];
  for (let i = 0; [...piles.values()].some((pile) => i < pile.length); i++) {
    for (const pile of piles.values()) if (i < pile.length) rows.push(pile[i]!);
  }
  return Array.from({ length: Math.ceil(rows.length / 20) }, (_, i) => rows.slice(i * 20, i * 20 + 20).join("\n"));
}

function factbook(json: string): string[] {
  const found: string[] = [];
  const walk = (value: unknown) => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key === "text" && typeof inner === "string") found.push(inline(inner));
      else walk(inner);
    }
  };
  walk(JSON.parse(json));
  return found.filter((text) => text.split(" ").length >= 8);
}

/** Text files of a zip archive, from its central directory. */
function unzip(bytes: Buffer): string[] {
  const texts: string[] = [];
  let at = bytes.readUInt32LE(bytes.lastIndexOf(Buffer.from("PK\x05\x06")) + 16);
  while (bytes.readUInt32LE(at) === 0x02014b50) {
    const [method, size] = [bytes.readUInt16LE(at + 10), bytes.readUInt32LE(at + 20)];
    const [nameSize, extraSize, noteSize] = [28, 30, 32].map((offset) => bytes.readUInt16LE(at + offset));
    const name = bytes.toString("latin1", at + 46, at + 46 + nameSize!);
    const local = bytes.readUInt32LE(at + 42);
    const data = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const packed = bytes.subarray(data, data + size);
    if (/\.txt$/.test(name)) texts.push((method === 8 ? inflateRawSync(packed) : packed).toString());
    at += 46 + nameSize! + extraSize! + noteSize!;
  }
  return texts;
}

const speeches = (bytes: Buffer) =>
  unzip(bytes).flatMap((text) =>
    text
      .replaceAll("\r", "")
      .split(/\n\s*\n/)
      .map(squeeze),
  );

const READERS: Record<Exclude<Format, "code" | "log" | "speeches">, (text: string) => string[]> = {
  markdown,
  rst,
  tei,
  jats,
  pages,
  turns,
  utterances,
  intents,
  factbook,
};

/** Paragraphs of a file, without empty ones. */
export function read(format: Exclude<Format, "code" | "log">, bytes: Buffer): string[] {
  const found = format === "speeches" ? speeches(bytes) : READERS[format](toText(bytes));
  return found.filter(Boolean);
}

export const toText = (bytes: Buffer) => bytes.toString().replaceAll("\r\n", "\n").replaceAll("\ufeff", "");
