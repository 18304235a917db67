/** What was decided with which form, so that a form that is sent twice is answered twice, in the same way. */

export interface Decision {
  readonly approved: boolean;
  /** The machine's owner, where the approver named one. */
  readonly account: string | undefined;
}

/** The ledger forgets a code once its device has fetched the decision, often before a double click ends. */
export class Decisions {
  readonly #byForm = new Map<string, Decision>();

  constructor(readonly most = 1000) {}

  /** @param form the token of the form, which names a browser and a code */
  of(form: string): Decision | undefined {
    return this.#byForm.get(form);
  }

  /** Remembers a decision; beyond `most` the oldest is forgotten. */
  add(form: string, decision: Decision): void {
    this.#byForm.set(form, decision);
    const [oldest] = this.#byForm.keys();
    if (this.#byForm.size > this.most && oldest !== undefined) this.#byForm.delete(oldest);
  }
}
