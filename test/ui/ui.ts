/** `svc ui` over a memory of a test's own: a site on loopback, and a visitor with its cookie. */
import type { BrowserContext } from "playwright-core";
import type { RowContent } from "../../src/memory/edit.ts";
import type { Memory } from "../../src/memory/memory.ts";
import type { Site } from "../../src/ui/memory/site.ts";
import { type RunningUi, startUi } from "../../src/ui/server/server.ts";
import { TestMemory } from "../fixture.ts";
import { closedAtEnd } from "../opened.ts";

/** What a page of the site is, in bytes. */
export const PAGE_BYTES_MAX = 60_000;

/** A site over a memory. */
export function siteOf(memory: Memory, options: Partial<Site> = {}): Site {
  const local: Site["local"] = {
    overview: () => memory.overview(),
    terminal: () => memory.terminal(),
    withStore: () => Promise.reject(new Error("these tests do not open whole stores")),
    health: async () => [],
    repositories: async () => (await memory.repositories()).overview.list(),
  };
  return { verbs: memory, local, memory: "/memory of a test", readOnly: false, now: Date.now, ...options };
}

export interface Answer {
  status: number;
  body: string;
  /** The path of a redirect. */
  location: string | null;
  headers: Headers;
}

/** A visitor who has opened the site. */
export class Visitor {
  private constructor(
    readonly memory: TestMemory,
    readonly ui: RunningUi,
    readonly origin: string,
    private readonly cookie: string,
  ) {}

  static async open(memory?: TestMemory, options: Partial<Site> = {}): Promise<Visitor> {
    const opened = memory ?? (await TestMemory.open());
    const ui = startUi(siteOf(opened.memory, options));
    closedAtEnd({ close: () => ui.stop() });
    const entered = await fetch(ui.address, { redirect: "manual" });
    const cookie = (entered.headers.get("set-cookie") ?? "").split(";")[0]!;
    return new Visitor(opened, ui, new URL(ui.address).origin, cookie);
  }

  /** Gives a browser the session. */
  async enter(context: BrowserContext): Promise<void> {
    const [name, value] = this.cookie.split("=") as [string, string];
    await context.addCookies([{ name, value, url: this.origin, sameSite: "Strict", httpOnly: true }]);
  }

  /** A page, which never has more than PAGE_BYTES_MAX. */
  async get(path: string): Promise<Answer> {
    return this.answer(await this.fetch(path));
  }

  /** Sends a form. @param values what its fields hold */
  async post(path: string, values: Record<string, string>): Promise<Answer> {
    const headers = { origin: this.origin, "content-type": "application/x-www-form-urlencoded" };
    return this.answer(await this.fetch(path, { method: "POST", headers, body: `${new URLSearchParams(values)}` }));
  }

  /** Sends a form and follows it to the page that it leads to. */
  async posts(path: string, values: Record<string, string>): Promise<Answer> {
    const { location, ...answer } = await this.post(path, values);
    return location === null ? { ...answer, location } : this.get(location);
  }

  /** The row as it is stored. */
  async row(collection: string, id: string): Promise<RowContent | undefined> {
    const { rows } = await this.memory.call("get", { collection, ids: [id], max_bytes: 0 });
    const { found, text, metadata } = rows[0];
    return found ? { text, ...(metadata && { metadata }) } : undefined;
  }

  private fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { ...(init.headers as Record<string, string>), cookie: this.cookie };
    return fetch(this.origin + path, { ...init, headers, redirect: "manual" });
  }

  private async answer(response: Response): Promise<Answer> {
    const body = await response.text();
    const bytes = Buffer.byteLength(body);
    if (bytes > PAGE_BYTES_MAX) throw new Error(`${response.url} has ${bytes} bytes`);
    const { status, headers } = response;
    return { status, body, location: headers.get("location"), headers };
  }
}

/** The value of a field of a form. */
export function fieldOf(body: string, name: string): string {
  const value = new RegExp(`name="${name}"[^>]*? value="([^"]*)"`).exec(body)?.[1];
  if (value === undefined) throw new Error(`the page has no field ${name}`);
  return unescaped(value);
}

/** HTML without its tags. */
export function textOf(html: string): string {
  const joined = html.replace(/<\/?(?:bdi|mark|ins|del|strong)>/g, "");
  return unescaped(joined.replace(/<style>[\s\S]*?<\/style>|<script>[\s\S]*?<\/script>|<[^>]*>/g, " ")).replace(
    /\s+/g,
    " ",
  );
}

function unescaped(html: string): string {
  const signs: Record<string, string> = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };
  return html.replace(/&(lt|gt|quot|#39|amp);/g, (_, name: string) => signs[name]!);
}
