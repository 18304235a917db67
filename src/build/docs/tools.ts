/** `docs/tools.md`: every tool with its arguments and an answer, from the table that the server lists them by. */
import { instructionsFor } from "../../mcp/instructions.ts";
import { TOOLS, type ToolEntry, toolsOf } from "../../mcp/tools.ts";
import type { VerbName } from "../../memory/requests.ts";
import { inputSchema } from "../tool-schemas.ts";
import type { Example } from "./answers.ts";
import { type Field, fieldsOf } from "./fields.ts";
import { cell, heading, json, table } from "./markdown.ts";

const INTRODUCTION = `\
An agent has these ${TOOLS.length} tools, named as here. Every answer is one JSON object in one text block; a failure is a
sentence with its type, and changes nothing. [answers.md](answers.md) says how answers are bounded, [cli.md](cli.md) has the
same verbs on the terminal.

Answers below are of one small memory, in the order in which the calls were made on it. \`svc mcp --tools core\` and
\`--tools read\` offer those that are marked. With the instructions, all tools take fewer than 4,000 tokens of a session, and the
list of \`core\` fewer than 1,900.`;

/** What a client's model gets with the first answer of the server. */
const INSTRUCTIONS = `\
## Instructions

A client hands its model these with the tools:

${instructionsFor(TOOLS)
  .split("\n\n")
  .map((paragraph) => `> ${cell(paragraph)}`)
  .join("\n>\n")}`;

/** The page. @param examples in the order of their calls */
export function toolsPage(examples: readonly Example[]): string {
  const sections = TOOLS.map((entry) => {
    const made = examples.filter(({ verb }) => verb === entry.verb);
    return section(entry, made);
  });
  const [core, read] = [toolsOf("core"), toolsOf("read")];
  const index = table(
    ["Tool", "", "`core`", "`read`"],
    TOOLS.map((entry) => {
      const sets = [core, read].map((set) => (set.includes(entry) ? "✓" : ""));
      return [`[\`svc_${entry.verb}\`](#svc_${entry.verb})`, entry.title, ...sets];
    }),
  );
  return [heading("The tools"), INTRODUCTION, index, INSTRUCTIONS, ...sections].join("\n\n");
}

function section({ verb, title, description, annotations }: ToolEntry, examples: readonly Example[]): string {
  const calls = examples.map(({ args, answer }) => `${json(args)}\n\nanswers\n\n${json(answer)}`);
  const effect = annotations.readOnlyHint
    ? "Reads only."
    : annotations.destructiveHint
      ? "Replaces or deletes rows."
      : "Writes; loses nothing.";
  return [
    `## svc_${verb}`,
    `*${title}.* ${effect}`,
    prose(description),
    argumentTable(verb),
    ...calls,
    answerTable(
      verb,
      examples.map(({ answer }) => answer),
    ),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** A description in lines, with what looks like HTML kept as text. */
function prose(description: string): string {
  return cell(description).replaceAll("\\|", "|");
}

interface Schema {
  readonly type?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly items?: Schema;
}

function argumentTable(verb: VerbName): string {
  const schema = inputSchema(verb);
  const required = new Set(schema.required);
  const rows = Object.entries(schema.properties as Record<string, Schema>).map(([name, schema]) => {
    const preset = required.has(name) ? "required" : schema.default === undefined ? "" : code(schema.default);
    return [`\`${name}\``, typeOf(schema), preset, cell(schema.description ?? "")];
  });
  return table(["Argument", "Type", "Default", ""], rows);
}

const code = (value: unknown) => `\`${JSON.stringify(value)}\``;

function typeOf(schema: Schema): string {
  const { type = "any", items, minimum, maximum } = schema;
  if (schema.enum) return schema.enum.map(code).join(", ");
  if (type === "array") return `array of ${items?.type ?? "values"}s`;
  if (minimum === undefined && maximum === undefined) return type;
  const range = maximum === undefined ? `from ${minimum}` : `${minimum ?? ""} to ${maximum}`;
  return `${type}, ${range}`;
}

/** The fields of a tool's answer. @throws where no interface is known to have them */
function answerFields(verb: string): readonly Field[] {
  const name = verb.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
  const payload = { SearchLexical: "LexicalSearch" }[name] ?? name;
  const fields = fieldsOf(`${payload}Payload`);
  if (fields === undefined) throw new Error(`no interface ${payload}Payload`);
  return fields;
}

/** Fields of the answer that say something which their names do not. */
function answerTable(verb: string, answers: readonly unknown[]): string {
  const fields = answerFields(verb);
  const unknown = answers
    .flatMap((answer) => Object.keys(answer as object))
    .find((key) => !fields.some(({ name }) => name === key));
  if (unknown !== undefined)
    throw new Error(`svc_${verb} answers with '${unknown}', which its interface does not have`);
  const nested = fields.flatMap(({ type, name: field }) => {
    const inner = fieldsOf(type.replace(/\[\]$/, "")) ?? [];
    const parent = type.endsWith("[]") ? `${field}[]` : field;
    return inner.map((each) => ({ ...each, name: `${parent}.${each.name}` }));
  });
  const told = [...fields, ...nested].filter(({ text }) => text !== "");
  if (told.length === 0) return "";
  const rows = told.map(({ name: field, isOptional, text }) => {
    return [`\`${field}\``, isOptional ? "not always" : "", cell(text)];
  });
  return table(["In the answer", "", ""], rows);
}
