/** A person whose client writes and searches without a pause, and what became of each call. */
import type { Answered, Maker, Member } from "./makers.ts";
import type { Entry } from "./office.ts";

/** A call that failed. */
interface Failure {
  /** What was going on when it began and when it ended. */
  readonly phases: string[];
  readonly tool: string;
  readonly text: string;
}

export class Worker {
  phase = "begun";
  /** Ids of rows whose write was acknowledged. */
  readonly stored: string[] = [];
  /** Ids of rows whose write may have been applied. */
  readonly unknown: string[] = [];
  readonly failures: Failure[] = [];
  /** Searches that found a row. */
  searches = 0;
  ended: Promise<void> = new Promise(() => {});
  private isOver = false;

  private constructor(
    readonly name: string,
    private readonly member: Member,
  ) {}

  static async open(name: string, maker: Maker, entry: Entry): Promise<Worker> {
    return new Worker(name, await maker.open(entry));
  }

  /** Writes the first row, which all searches find. */
  async first(): Promise<void> {
    const { text, isError } = await this.add("first");
    if (isError) throw new Error(text);
  }

  /** Works until it is stopped. */
  begin(): void {
    this.ended = this.work();
    this.ended.catch(() => {});
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await this.ended;
    await this.member.close();
  }

  private async work(): Promise<void> {
    for (let i = 0; !this.isOver; i++) {
      const id = `${this.name}-${i}`;
      const answer = await this.recorded("svc_add", () => this.add(id));
      if (!answer.isError) this.stored.push(id);
      else if (answer.text.includes("is not known")) this.unknown.push(id);
      const search = { collection: "team", query: "which kettle is broken", top_k: 1 };
      const found = await this.recorded("svc_search", () => this.member.call("svc_search", search));
      if (found.isError) continue;
      if (JSON.parse(found.text).hits.length !== 1) throw new Error(`${this.name} found ${found.text}`);
      this.searches++;
    }
  }

  private add(id: string): Promise<Answered> {
    return this.member.call("svc_add", { collection: "team", texts: [`The kettle ${id} is broken.`], ids: [id] });
  }

  private async recorded(tool: string, call: () => Promise<Answered>): Promise<Answered> {
    const began = this.phase;
    const answer = await call();
    if (answer.isError) this.failures.push({ phases: [began, this.phase], tool, text: answer.text });
    return answer;
  }
}
