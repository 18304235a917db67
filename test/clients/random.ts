/** Random configuration files: the same ones for the same seed. */

/** Numbers of a seed (mulberry32). */
export class Random {
  constructor(private seed: number) {}
  /** 0 to below 1. */
  next(): number {
    this.seed = (this.seed + 0x6d2b79f5) | 0;
    let t = Math.imul(this.seed ^ (this.seed >>> 15), 1 | this.seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }
  below(end: number): number {
    return Math.floor(this.next() * end);
  }
  chance(p: number): boolean {
    return this.next() < p;
  }
  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }
}

const WORDS = ["a", "svc", "args", "größe", "空", "x y", "mcp-1", "k_2", "__proto__", "null", "true", "3"];
const STRINGS = [
  "",
  "plain",
  "a b",
  'q"uote',
  "it's",
  "// no",
  "# no",
  "{[",
  "]}",
  "a: b",
  "\\",
  "é\u0001",
  "😀",
  "- x",
];

/** JSON with comments, one of three ways to write it, or a mixture. `key` is the container's; `entry` one in it. */
export function randomJson(random: Random, key: string, entry?: string): string {
  const eol = random.chance(0.25) ? "\r\n" : "\n";
  const unit = random.pick(["  ", "    ", "\t", " "]);
  const style = random.pick(["pretty", "pretty", "compact", "spaced", "wild"]);
  const canComment = style === "wild" || random.chance(0.5);
  const comment = () => (random.chance(0.5) ? `/* ${random.pick(STRINGS).replaceAll("*/", "")} */` : "");
  const lineComment = () => `// ${random.pick(STRINGS)}${eol}`;
  const space = (depth: number): string => {
    if (style === "compact") return "";
    if (style === "spaced") return random.chance(0.8) ? "" : " ";
    if (style === "pretty") {
      const noise = canComment && random.chance(0.15) ? ` ${random.pick([`// c`, `/* c */`])}` : "";
      return noise + eol + unit.repeat(depth);
    }
    let text = "";
    while (random.chance(0.5)) text += random.pick([" ", eol, "\t", "  ", eol + unit, comment(), lineComment()]);
    return text;
  };
  const gap = () => (style === "wild" ? space(0) : style === "compact" ? "" : " ");
  const object = (pairs: [string, string][], depth: number): string => {
    if (pairs.length === 0) return random.chance(0.7) ? "{}" : `{${space(depth)}}`;
    let text = "{";
    pairs.forEach(([name, value], index) => {
      const before = style === "wild" ? space(0) : "";
      const colon = style === "wild" ? `${space(0)}:` : ":";
      const comma = index < pairs.length - 1 || (style !== "compact" && random.chance(0.2)) ? `${before},` : "";
      const separator = style === "spaced" && index > 0 ? " " : "";
      text += `${separator}${space(depth + 1)}${JSON.stringify(name)}${colon}${gap()}${value}${comma}`;
    });
    return `${text}${space(depth)}}`;
  };
  const value = (depth: number): string => {
    const kind = random.below(depth > 3 ? 4 : 7);
    if (kind === 0) return JSON.stringify(random.pick(STRINGS));
    if (kind === 1) return random.pick(["0", "-1.5e3", "12345678901234567890", "1e999"]);
    if (kind === 2) return random.pick(["true", "false", "null"]);
    if (kind < 5) return object(pairs(depth), depth);
    const items = Array.from({ length: random.below(3) }, () => value(depth + 1));
    return `[${items.map((item) => gap() + item).join(",")}]`;
  };
  const pairs = (depth: number): [string, string][] => {
    const names = new Set(Array.from({ length: random.below(4) }, () => random.pick(WORDS)));
    return [...names].map((name) => [name, value(depth + 1)]);
  };
  const root = pairs(0).filter(([name]) => name !== key);
  if (random.chance(0.75)) {
    const servers = pairs(1).filter(([name]) => name !== "svc");
    if (entry) servers.splice(random.below(servers.length + 1), 0, [entry, value(2)]);
    root.splice(random.below(root.length + 1), 0, [key, object(servers, 1)]);
  }
  const around = () => (random.chance(0.2) ? random.pick([eol, lineComment(), " ", comment() + eol]) : "");
  if (random.chance(0.03)) return around() + around();
  return around() + object(root, 0) + (random.chance(0.7) ? eol : "") + around();
}

/** TOML with tables of all kinds. */
export function randomToml(random: Random, key: string): string {
  const eol = random.chance(0.25) ? "\r\n" : "\n";
  let count = 0;
  const value = (depth = 0): string =>
    random.pick([
      () => JSON.stringify(random.pick(STRINGS)),
      () => `'${random.pick(STRINGS).replaceAll("'", "").replaceAll("\u0001", "")}'`,
      () => `"""${eol}[${key}.svc]${eol}x = "y" \\"""${eol}"""`,
      () => `'''[a]${eol}# b${eol}'''`,
      () => random.pick(["1", "-0x1F".slice(1), "1.5", "inf", "true", "1979-05-27", "1979-05-27 07:32:00Z"]),
      () => (depth > 2 ? "[]" : `[${eol}  ${value(depth + 1)}, # ]${eol}  ${value(depth + 1)},${eol}]`),
      () =>
        depth > 2
          ? "{}"
          : `{ a = ${value(depth + 1)
              .replaceAll(eol, " ")
              .replace(/#.*/, "1]")} }`,
    ])();
  const safe = (): string => {
    for (;;) {
      const text = value();
      try {
        Bun.TOML.parse(`a = ${text}`);
        return text;
      } catch {
        // Put together wrongly.
      }
    }
  };
  const name = () => random.pick([`k${count++}`, `"k ${count++}"`, `'k.${count++}'`, `k${count++}.b`]);
  const noise = () => {
    let text = "";
    while (random.chance(0.35))
      text += random.pick([eol, `# ${random.pick(STRINGS).replace("\u0001", "")}${eol}`, `  ${eol}`]);
    return text;
  };
  const pair = () =>
    `${random.chance(0.1) ? "  " : ""}${name()} = ${safe()}${random.chance(0.2) ? " # c [x]" : ""}${eol}`;
  const pairs = () => {
    let text = noise();
    while (random.chance(0.6)) text += pair() + noise();
    return text;
  };
  let text = pairs();
  const hasContainer = random.chance(0.3);
  if (hasContainer) {
    text += `[${key}]${eol}${noise()}`;
    if (random.chance(0.5)) text += `s${count++} = { command = "a", args = ["]"] }${eol}`;
  }
  for (let left = random.below(5); left > 0; left--) {
    const which = random.below(4);
    const id = `t${count++}`;
    if (which === 0) text += `[[${id}]]${eol}${pairs()}`;
    else if (which === 1)
      text += `[ ${key} . "${id}" ]${eol}${pairs()}${random.chance(0.4) ? `[${key}.${id}.env]${eol}A = "1"${eol}` : ""}`;
    else text += `${random.chance(0.2) ? "  " : ""}[${id}]${random.chance(0.2) ? " # c" : ""}${eol}${pairs()}`;
  }
  return random.chance(0.2) ? text.trimEnd() : text;
}

/** YAML of block mappings with all kinds of values. */
export function randomYaml(random: Random, key: string): string {
  const eol = random.chance(0.25) ? "\r\n" : "\n";
  const unit = random.pick([2, 2, 4, 3]);
  let count = 0;
  const noise = (indent: number) =>
    random.chance(0.15)
      ? random.pick([eol, `${" ".repeat(random.below(indent + 3))}# ${random.pick(["c", "svc: 1"])}${eol}`])
      : "";
  const value = (indent: number, depth: number): string => {
    const inner = " ".repeat(indent + unit);
    const kind = random.below(depth > 2 ? 6 : 9);
    if (kind === 0) return ` ${random.pick(["1", "true", "null", "~", "plain text", "2020-01-01", "a#b"])}${eol}`;
    if (kind === 1) return ` ${JSON.stringify(random.pick(STRINGS))}${random.chance(0.3) ? " # c" : ""}${eol}`;
    if (kind === 2) return ` '${random.pick(["it''s", "svc: 1", "# x", ""])}'${eol}`;
    if (kind === 3) {
      const mark = random.pick(["|", "|-", ">", ">-", "|+"]);
      return ` ${mark}${eol}${inner}${key}:${eol}${inner}  svc: 1${eol}${random.chance(0.4) ? eol : ""}${inner}end${eol}`;
    }
    if (kind === 4) return ` ${random.pick(["{}", "[]", "{a: 1, b: [x, y]}", '["a: b", {c: d}]'])}${eol}`;
    if (kind === 5) return ` "one${eol}${inner}two: 2"${eol}`;
    if (kind === 6) {
      const at = " ".repeat(random.chance(0.5) ? indent : indent + unit);
      return `${eol}${Array.from({ length: 1 + random.below(3) }, () => `${at}- ${random.pick(["x", "'y: z'", "a: 1"])}${eol}`).join("")}`;
    }
    return eol + mapping(indent + unit, depth + 1);
  };
  const mapping = (indent: number, depth: number): string => {
    let text = "";
    for (let left = 1 + random.below(3); left > 0; left--) {
      const name = random.pick([`k${count++}`, `"q ${count++}"`, `'s: ${count++}'`, `a-b.${count++}`]);
      text += `${noise(indent)}${" ".repeat(indent)}${name}:${value(indent, depth)}`;
    }
    return text;
  };
  const parts: string[] = [];
  if (random.chance(0.7)) {
    const head = random.pick([key, key, `"${key}"`, `'${key}'`, `${key} `]);
    const rest = random.pick(["", "", "", " # c"]);
    const body = random.chance(0.8)
      ? `${head}:${rest}${eol}${mapping(unit, 1)}`
      : `${head}:${random.pick(["", " {}", " null", " {} # c"])}${eol}`;
    parts.push(body);
  }
  for (let left = random.below(4); left > 0; left--) parts.splice(random.below(parts.length + 1), 0, mapping(0, 0));
  let text = parts.map((part) => noise(0) + part).join("");
  if (random.chance(0.15)) text = `---${eol}${text}`;
  if (random.chance(0.1)) text = `${text}...${eol}`;
  return random.chance(0.2) ? text.trimEnd() : text;
}

/** A text with a piece cut out, doubled, or put in. */
export function broken(random: Random, text: string): string {
  const at = random.below(text.length + 1);
  const end = Math.min(text.length, at + 1 + random.below(12));
  const piece = random.pick([
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    ",",
    ":",
    "\n",
    "#",
    "//",
    "/*",
    "=",
    "\\",
    "\u0000",
    "svc",
    "  ",
    "---\n",
    "&a",
    "*a",
    "|",
  ]);
  return random.pick([
    () => text.slice(0, at) + text.slice(end),
    () => text.slice(0, at),
    () => text.slice(0, at) + piece + text.slice(at),
    () => text.slice(0, end) + text.slice(at),
    () => text.slice(0, at) + piece + text.slice(end),
  ])();
}
