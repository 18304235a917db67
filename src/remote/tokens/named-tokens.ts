/**
 * The named tokens of a memory as a server knows them: which text is which token, and when a token ends. The file is
 * looked at before each request of a named token, which costs one `stat`, so that a revoked token ends at once.
 */

import { timingSafeEqual } from "node:crypto";
import { statSync } from "node:fs";
import { errorMessage } from "../../errors.ts";
import { NamedToken, Tally } from "./named-token.ts";
import { readTokens, type TokenRecord, tokenFile } from "./token-file.ts";
import { isNamedTokenText, isWholeToken, tokenHash } from "./token-text.ts";
import { readUsage, writeUsage } from "./usage-file.ts";

/** What a server reports of the file of tokens while it runs. */
export interface TokenReports {
  /** The file was read again. */
  read(count: number): void;
  /** It cannot be read: no named token is valid until it can be. */
  unreadable(why: string): void;
  /** What was counted cannot be written; it is written later. */
  uncounted(why: string): void;
}

export class NamedTokens {
  private tokens: NamedToken[] = [];
  private fileState: string;
  /** The first time at which a token expires. */
  private nextEnd = Number.POSITIVE_INFINITY;
  /** The clock at the start: one that is set back while the server runs does not lengthen the life of a token. */
  private readonly started = Date.now() - performance.now();
  /** By id, also of tokens that are not valid any more. */
  private readonly tallies: Map<string, Tally>;
  /** What was counted could not be written the last time. */
  private isUncounted = false;

  /** @throws PermissionError, OSError where a file is damaged, of a newer version or reachable for others */
  constructor(
    private readonly dir: string,
    private readonly reports: TokenReports,
  ) {
    this.tallies = new Map([...readUsage(dir)].map(([id, usage]) => [id, new Tally(usage)]));
    this.fileState = stateOf(tokenFile(this.dir));
    this.replaceTokens(readTokens(dir));
  }

  /** Tokens that can be used now. */
  get valid(): readonly NamedToken[] {
    return this.tokens.filter(({ ended }) => ended === undefined);
  }

  /** Looks whether the file has changed, and which tokens have expired. @param mustRead reads it in any case */
  look(mustRead = false): void {
    const state = stateOf(tokenFile(this.dir));
    if (mustRead || state !== this.fileState) {
      this.fileState = state;
      this.read();
    }
    if (Number.isFinite(this.nextEnd) && this.nextEnd <= this.now()) this.expire();
  }

  /**
   * The token of a text. The time it takes shows neither how much of a guess was right nor which token it is.
   * @returns undefined where there is no valid one
   */
  find(text: string): NamedToken | undefined {
    const hash = tokenHash(text);
    let found: NamedToken | undefined;
    for (const token of this.tokens) if (timingSafeEqual(token.record.hash, hash)) found = token;
    return found?.ended === undefined ? found : undefined;
  }

  /** What is wrong with a text that is not a valid token, for the operator. */
  why(text: string): string {
    const hash = tokenHash(text);
    const known = this.tokens.find(({ record }) => record.hash.equals(hash));
    if (known?.ended !== undefined) return `token '${known.record.name}' ${known.ended}`;
    return isNamedTokenText(text) && !isWholeToken(text) ? "a mistyped token: its checksum is wrong" : "a wrong token";
  }

  /** Writes what was counted. Never fails: what cannot be written is kept for the next time. */
  write(): void {
    if (!this.tokens.some(({ tally }) => tally.isUnwritten)) return;
    try {
      writeUsage(this.dir, new Map(this.tokens.map(({ record, tally }) => [record.id, tally.usage])));
      for (const { tally } of this.tokens) tally.isUnwritten = false;
      this.isUncounted = false;
    } catch (error) {
      if (!this.isUncounted) this.reports.uncounted(errorMessage(error));
      this.isUncounted = true;
    }
  }

  private read(): void {
    let records: TokenRecord[];
    try {
      records = readTokens(this.dir);
    } catch (error) {
      for (const token of this.tokens) token.ended ??= "cannot be checked: the file of tokens cannot be read";
      this.reports.unreadable(errorMessage(error));
      return;
    }
    this.replaceTokens(records);
    this.reports.read(records.length);
  }

  private replaceTokens(records: readonly TokenRecord[]): void {
    const before = new Map(this.tokens.map((token) => [token.record.id, token]));
    this.tokens = records.map((record) => {
      const known = before.get(record.id);
      if (known?.ended === undefined && known?.isOf(record)) return known;
      return new NamedToken(record, this.tallyOf(record.id));
    });
    const kept = new Set(this.tokens);
    for (const token of before.values()) {
      if (!kept.has(token)) token.ended ??= records.some(({ id }) => id === token.record.id) ? CHANGED : REVOKED;
    }
    this.expire();
  }

  private tallyOf(id: string): Tally {
    const tally = this.tallies.get(id) ?? new Tally();
    this.tallies.set(id, tally);
    return tally;
  }

  private expire(): void {
    const now = this.now();
    this.nextEnd = Number.POSITIVE_INFINITY;
    for (const token of this.tokens) {
      const end = token.end;
      if (end <= now) token.expire();
      else this.nextEnd = Math.min(this.nextEnd, end);
    }
  }

  /**
   * The time, which does not go back while the server runs. The times in the file do not count: the clock may have been
   * ahead when one of its tokens was made, and would end all others for good.
   */
  private now(): number {
    return Math.max(Date.now(), this.started + performance.now());
  }
}

/** A text that differs after each change of a file. */
function stateOf(path: string): string {
  try {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code); // reading it says why
  }
}

const REVOKED = "was revoked";
const CHANGED = "has other rights now";
