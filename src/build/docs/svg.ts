/** A film of a terminal as SVG: its frames move by CSS alone, and it is readable in light and dark. */
import type { Picture } from "./screen.ts";

/** Width and height of a cell, and the margin around all of them, in pixels. */
const CELL = { width: 8.4, height: 18 };
const MARGIN = 14;

/** A frame and how long it stays, in milliseconds. */
export interface Frame {
  readonly picture: Picture;
  readonly ms: number;
}

const STYLE = `
.t{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#24292f;white-space:pre}
.w{fill:#fff;stroke:#d0d7de}.b{font-weight:700}.d{fill:#6e7781}
.c1,.c9{fill:#cf222e}.c2,.c10{fill:#116329}.c3,.c11{fill:#7d4e00}.c4,.c12{fill:#0969da}.c5,.c13{fill:#8250df}.c6,.c14{fill:#1b7c83}.c8{fill:#6e7781}
@media (prefers-color-scheme:dark){.t{fill:#e6edf3}.w{fill:#0d1117;stroke:#30363d}.d,.c8{fill:#8b949e}
.c1,.c9{fill:#ff7b72}.c2,.c10{fill:#3fb950}.c3,.c11{fill:#d29922}.c4,.c12{fill:#58a6ff}.c5,.c13{fill:#bc8cff}.c6,.c14{fill:#39c5cf}}`;

/** A film that begins again after its last frame; where motion is not wanted it is that last frame. */
export function film(title: string, frames: readonly Frame[], columns: number, rows: number): string {
  const lines = new Lines();
  const step = Math.ceil(columns * CELL.width + 2 * MARGIN);
  const groups = frames.map(({ picture }, i) => `<g transform="translate(${i * step})">${lines.uses(picture)}</g>`);
  const whole = frames.reduce((sum, { ms }) => sum + ms, 0);
  let at = 0;
  const keys = frames.map(({ ms }, i) => {
    const percent = ((100 * at) / whole).toFixed(2);
    at += ms;
    return `${Number(percent)}%{transform:translateX(-${i * step}px)}`;
  });
  const end = (frames.length - 1) * step;
  const style =
    `@keyframes f{${keys.join("")}100%{transform:translateX(-${end}px)}}` +
    `.f{animation:f ${(whole / 1000).toFixed(1)}s step-end infinite}` +
    `@media (prefers-reduced-motion:reduce){.f{animation:none;transform:translateX(-${end}px)}}`;
  const height = rows * CELL.height + 2 * MARGIN;
  const clip = `<clipPath id="c"><rect width="${step}" height="${height}"/></clipPath>`;
  const strip = `<g clip-path="url(#c)"><g class="t f">${groups.join("\n")}</g></g>`;
  return document(title, columns, rows, style, `${clip}${lines.defs()}${strip}`);
}

/** Lines that occur more than once are drawn once. */
class Lines {
  readonly #ids = new Map<string, string>();

  uses(picture: Picture): string {
    return picture
      .map((line, y) => {
        if (line.length === 0) return "";
        const drawn = line.map(({ column, width, text, style }) => {
          const x = round(MARGIN + column * CELL.width);
          const length = round(width * CELL.width);
          const kind = style === "" ? "" : ` class="${style}"`;
          return `<text x="${x}" textLength="${length}"${kind}>${escaped(text)}</text>`;
        });
        const markup = drawn.join("");
        if (!this.#ids.has(markup)) this.#ids.set(markup, `l${this.#ids.size.toString(36)}`);
        return `<use href="#${this.#ids.get(markup)}" y="${round(MARGIN + (y + 0.75) * CELL.height)}"/>`;
      })
      .join("");
  }

  defs(): string {
    return `<defs>${[...this.#ids].map(([markup, id]) => `<g id="${id}">${markup}</g>`).join("\n")}</defs>`;
  }
}

function document(title: string, columns: number, rows: number, style: string, body: string): string {
  const width = Math.ceil(columns * CELL.width + 2 * MARGIN);
  const height = rows * CELL.height + 2 * MARGIN;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>${escaped(title)}</title>
<style>${STYLE}${style}</style>
<rect class="w" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>
${body}
</svg>
`;
}

const round = (value: number) => String(Number(value.toFixed(1)));

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
