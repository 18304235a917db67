/** The form for a new enrolment key. */
import { choice, field, hidden } from "../../../pages/forms.ts";
import { alert, escaped, status } from "../../../pages/text.ts";
import { administration, type Signed } from "./parts.ts";

/** How long a key may be valid, as the form offers it: the name of a choice, its text and its milliseconds. */
export const VALIDITIES: readonly (readonly [name: string, text: string, ms: number | null])[] = [
  ["1h", "1 hour", 3_600_000],
  ["1d", "1 day", 86_400_000],
  ["7d", "7 days", 7 * 86_400_000],
  ["30d", "30 days", 30 * 86_400_000],
  ["90d", "90 days", 90 * 86_400_000],
  ["365d", "1 year", 365 * 86_400_000],
  ["never", "Until it is revoked", null],
];

/** What the form for a new key has, as it was typed. */
export interface KeyEntered {
  readonly label: string;
  /** `limited` or `any`. */
  readonly kind: string;
  readonly uses: string;
  /** The name of one of `VALIDITIES`. */
  readonly expires: string;
  readonly tags: string;
  readonly account: string;
}

export interface NewKeyPage {
  readonly signed: Signed;
  readonly csrf: string;
  /** Names this form: sent twice, it makes one key. */
  readonly form: string;
  readonly entered: KeyEntered;
  readonly said?: string | undefined;
  readonly problem?: { readonly field: keyof KeyEntered; readonly text: string };
}

/** The form for a new key. */
export function newKeyPage({ signed, csrf, form, entered, said, problem }: NewKeyPage): string {
  const problemOf = (name: keyof KeyEntered) => (problem?.field === name ? problem.text : undefined);
  const checked = (kind: string) => (entered.kind === kind ? " checked" : "");
  const wrongUses = problemOf("uses") ? ' aria-invalid="true" aria-describedby="problem" autofocus' : "";
  const terms = VALIDITIES.map(([name, text]) => [name, text] as const);
  const text = (name: "label" | "tags" | "account", label: string, hint: string, length: number) =>
    field({ name, label, value: entered[name], hint, problem: problemOf(name), more: `maxlength="${length}"` });
  const content = `<h1>Make an enrolment key</h1>
    ${said === undefined ? "" : status(said)}
    <form method="post" action="${signed.base}/keys">
      ${hidden({ csrf, form })}
      ${text("label", "Label", "What it is for, as the list shows it.", 128)}
      <fieldset><legend>How many devices it lets in</legend>
        ${problem?.field === "uses" ? alert(problem.text) : ""}
        <div class="choice"><input type="radio" id="limited" name="kind" value="limited"${checked("limited")}>
          <label for="limited">At most</label>
          <input class="number" type="number" name="uses" min="1" max="1000000" value="${escaped(entered.uses)}"
            aria-label="Number of devices"${wrongUses}></div>
        <div class="choice"><input type="radio" id="any" name="kind" value="any"${checked("any")}>
          <label for="any">Any number</label></div>
      </fieldset>
      ${problem?.field === "expires" ? alert(problem.text) : ""}${choice("expires", "Valid for", terms, entered.expires)}
      ${text("tags", "Tags", "Words with spaces between them. The devices get them.", 1000)}
      ${text("account", "Account", "Whose devices they are: a team, or a person.", 256)}
      <p class="actions"><button class="primary">Make the key</button>
        <a class="button" href="${signed.base}/keys">Cancel</a></p>
    </form>`;
  const title = problem === undefined ? "Make an enrolment key" : "Error: no key was made";
  return administration(signed, "keys", { title, content });
}
