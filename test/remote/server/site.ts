/** Servers with named tokens, for tests. */

import type { ServeOptions } from "../../../src/remote/server/server.ts";
import type { Rights } from "../../../src/remote/tokens/rights.ts";
import { addToken } from "../../../src/remote/tokens/token-file.ts";
import { scratchDir } from "../../fixture.ts";
import { type Answer, type Raw, TestServer } from "./raw.ts";

/** A server on TCP whose memory has named tokens. */
export class Site {
  private constructor(
    readonly server: TestServer,
    readonly dir: string,
  ) {}

  static async start(options: Partial<ServeOptions> & { dir?: string; tcp?: boolean } = {}): Promise<Site> {
    const { dir = scratchDir() } = options;
    return new Site(await TestServer.start({ tcp: true, ...options, dir }), dir);
  }

  /** Makes a token. */
  async token(name: string, rights: Partial<Rights> & { expires?: number } = {}): Promise<string> {
    return (await addToken(this.dir, { name, readOnly: false, ...rights })).token;
  }

  /** A connection with a token. */
  async with(token: string): Promise<Raw> {
    const raw = await this.server.bare();
    await raw.ok("auth", undefined, { token });
    return raw;
  }

  /** A connection with a new token. */
  async as(name: string, rights: Partial<Rights> & { expires?: number } = {}): Promise<Raw> {
    return this.with(await this.token(name, rights));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop();
  }
}

/** Calls a tool; the reply as it came. */
export const tool = (raw: Raw, name: string, args: object, further: object = {}): Promise<Answer> =>
  raw.ask("call_tool", undefined, { name: `svc_${name}`, arguments: args, ...further });

/** Calls a tool that has to succeed. */
export async function toolOk(raw: Raw, name: string, args: object): Promise<Answer> {
  const reply = await tool(raw, name, args);
  if (!reply?.ok) throw new Error(`svc_${name}: ${reply?.error}`);
  return reply.result;
}
