/** A result that is JSON already. */
export class RawJson {
  /** @param reply the whole reply to a request without an id, for results that never change */
  constructor(
    readonly json: string,
    readonly reply?: string,
  ) {}

  /** A result that is always the same: its reply is encoded once. */
  static constant(json: string): RawJson {
    return new RawJson(json, `{"ok":true,"result":${json}}`);
  }
}
