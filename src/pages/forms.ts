/** Fields of forms. */
import { alert, escaped } from "./text.ts";

/** Values that a form carries. */
export function hidden(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`)
    .join("");
}

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly value?: string;
  readonly hint?: string;
  /** What is wrong with it: said above it, and it gets the focus. A page has one. */
  readonly problem?: string | undefined;
  /** More attributes, as HTML. */
  readonly more?: string;
}

/** A field for text with its label and hint. The direction is that of what is typed. */
export function field({ name, label, value = "", hint, problem, more = "" }: Field): string {
  const about = [problem === undefined ? "" : "problem", hint === undefined ? "" : `${name}-hint`]
    .filter(Boolean)
    .join(" ");
  const wrong = problem === undefined ? "" : ' aria-invalid="true" autofocus';
  const described = about === "" ? "" : ` aria-describedby="${about}"`;
  return `${problem === undefined ? "" : alert(problem)}<label for="${name}">${label}</label>
      <input id="${name}" name="${name}" value="${escaped(value)}" dir="auto"
        autocomplete="off"${wrong}${described} ${more}>
      ${hint === undefined ? "" : `<p class="hint" id="${name}-hint">${hint}</p>`}`;
}

/** A choice of one value. */
export function choice(
  name: string,
  label: string,
  options: readonly (readonly [value: string, text: string])[],
  chosen: string,
): string {
  const all = options.map(([value, text]) => {
    return `<option value="${escaped(value)}"${value === chosen ? " selected" : ""}>${escaped(text)}</option>`;
  });
  return `<label for="${name}">${label}</label>
      <select id="${name}" name="${name}">${all.join("")}</select>`;
}
