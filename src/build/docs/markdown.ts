/** Pieces of Markdown that the generated pages are made of. */

/** What every generated page begins with. */
export function heading(title: string): string {
  return `<!-- Made by 'bun src/build/docs/make.ts': change what it is made of. -->\n\n# ${title}`;
}

/** A table. Cells are Markdown of one line. */
export function table(names: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`.replaceAll(/ +\|/g, " |");
  return [line(names), `|${names.map(() => "---|").join("")}`, ...rows.map(line)].join("\n");
}

/** Plain text as a cell of a table: in one line, and nothing in it is markup. */
export function cell(text: string): string {
  const parts = text
    .replaceAll(/\s+/g, " ")
    .replaceAll("|", "\\|")
    .split(/(`[^`]*`)/);
  return parts.map((part) => (part.startsWith("`") ? part : part.replaceAll(/[<*]/g, "\\$&"))).join("");
}

/** A value as a block of JSON, short objects and lists in one line. */
export function json(value: unknown): string {
  return `\`\`\`json\n${layOut(value, "")}\n\`\`\``;
}

const WIDTH = 110;

function layOut(value: unknown, indent: string): string {
  const short = inline(value);
  if (indent.length + short.length <= WIDTH || typeof value !== "object" || value === null) return short;
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((each) => layOut(each, inner))
    : Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${layOut(each, inner)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${parts.map((part) => inner + part).join(",\n")}\n${indent}${close}`;
}

function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const parts = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${inline(each)}`);
  return parts.length === 0 ? "{}" : `{ ${parts.join(", ")} }`;
}
