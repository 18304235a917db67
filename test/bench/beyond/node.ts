/** A process with one node, as the SDK opens it: told what to do by messages, one answer each. */
import { keepHeapSmall } from "../../../ffi/system/calls.ts";
import { LocalStore } from "../../../src/api/local-store.ts";
import { openNode, type ReplicaNode } from "../../../src/replication/node/node.ts";
import { openBuiltNative } from "../../native.ts";
import { secondsSince } from "../cost.ts";
import { sourceOf } from "../growth/rows.ts";
import { orders } from "../serve/processes.ts";

/** The collection of all processes. */
export const NAME = "bench";

/** How a process is started: `address` is missing for a memory without a database. */
export interface Site {
  dir: string;
  address?: string | undefined;
  /** Whether it compacts, as programs do. */
  compacts: boolean;
}

export type Order =
  | { do: "open" }
  /** Adds notes with one writer or several, for so long or so often, and saves each. */
  | { do: "write"; writers: number; seconds?: number; saves?: number; pauseMs?: number }
  /** Adds a note that has a word of its own. */
  | { do: "add"; word: string }
  /** Searches until the note with this word is found. */
  | { do: "find"; word: string }
  /** Searches, so many questions. */
  | { do: "ask"; from: number; count: number }
  /** Looks whether there is something to follow. */
  | { do: "poll"; times: number }
  | { do: "counts" };

/** Answers of the orders. */
export interface Answers {
  open: { ms: number };
  write: Written;
  add: { at: number };
  find: { at: number };
  ask: { cpu: number };
  poll: { ms: number };
  counts: Counts;
}

/** Saves that were acknowledged, the milliseconds that each took with its add, and the errors of the others. */
export interface Written {
  ms: number[];
  seconds: number;
  errors: string[];
}

/** What a node has done since it was opened. */
export interface Counts {
  fetchedBytes: number;
  /** Rounds that found something to follow, and the milliseconds that they took. */
  rounds: number;
  roundMs: number;
  rows: number;
  /** Bytes of the head: each round reads it. */
  headBytes: number;
}

/** Milliseconds that processes of one machine agree on. */
const now = () => performance.timeOrigin + performance.now();

const source = sourceOf("notes") as { texts(from: number, count: number): string[] };
const noteOf = (row: number) => source.texts(row, 1)[0]!;
const questionOf = (row: number) => noteOf(row).split(" ").slice(3, 9).join(" ");

class Node {
  private store!: LocalStore;
  private node: ReplicaNode | undefined;
  private written = 0;
  private rounds = 0;
  private roundMs = 0;

  constructor(private readonly site: Site) {}

  private get collection() {
    return this.store.collection(NAME);
  }

  async open(): Promise<Answers["open"]> {
    const native = await openBuiltNative();
    const { address, dir, compacts } = this.site;
    const start = performance.now();
    this.node = address === undefined ? undefined : await openNode({ address, path: dir, env: {} }, native.env);
    if (this.node) this.watch(this.node);
    const compaction = { background: compacts, atClose: false };
    this.store = new LocalStore(dir, native, "bench", undefined, compaction, {}, this.node);
    await this.collection.searchText(questionOf(0));
    return { ms: performance.now() - start };
  }

  /** Counts the rounds that follow another node. */
  private watch({ log }: ReplicaNode): void {
    const follow = log.follow.bind(log);
    const { engine } = log;
    const generations = engine.generations.bind(engine);
    let began = 0;
    engine.generations = () => {
      began = performance.now();
      return generations();
    };
    log.follow = async (...args) => {
      const isNew = await follow(...args);
      if (isNew) {
        this.rounds++;
        this.roundMs += performance.now() - began;
      }
      return isNew;
    };
  }

  async write({
    writers,
    seconds = Number.POSITIVE_INFINITY,
    saves = Number.POSITIVE_INFINITY,
    pauseMs = 0,
  }: Write): Promise<Written> {
    const { collection } = this;
    const [ms, errors]: [number[], string[]] = [[], []];
    const began = performance.now();
    const write = async () => {
      while (performance.now() - began < seconds * 1000 && ms.length < saves) {
        const id = `${process.pid}-${this.written++}`;
        const start = performance.now();
        try {
          await collection.addTexts([noteOf(1_000_000 + this.written)], { ids: [id] });
          await collection.save();
          ms.push(performance.now() - start);
        } catch (error) {
          errors.push((error as Error).message);
        }
        if (pauseMs > 0) await Bun.sleep(pauseMs);
      }
    };
    await Promise.all(Array.from({ length: writers }, write));
    return { ms, errors, seconds: (performance.now() - began) / 1000 };
  }

  async add({ word }: { word: string }): Promise<Answers["add"]> {
    await this.collection.addTexts([`${word} ${noteOf(0)}`], { ids: [word] });
    await this.collection.save();
    return { at: now() };
  }

  async find({ word }: { word: string }): Promise<Answers["find"]> {
    while (!(await this.collection.searchText(word, { topK: 3 })).ids.includes(word)) await Bun.sleep(1);
    return { at: now() };
  }

  async ask({ from, count }: { from: number; count: number }): Promise<Answers["ask"]> {
    const before = process.cpuUsage();
    for (let i = from; i < from + count; i++)
      await this.collection.searchText(questionOf(i * 37), { topK: 10, withMetadata: true });
    return { cpu: (secondsSince(before) * 1000) / count };
  }

  async poll({ times }: { times: number }): Promise<Answers["poll"]> {
    const start = performance.now();
    for (let i = 0; i < times; i++) await this.node!.log.engine.generations();
    return { ms: (performance.now() - start) / times };
  }

  async counts(): Promise<Counts> {
    const { rounds, roundMs } = this;
    const head = await this.node?.log.engine.head(NAME);
    const headBytes = head ? head.manifest.length + JSON.stringify(head.files).length : 0;
    const fetchedBytes = this.node?.log.counts.fetchedBytes ?? 0;
    return { fetchedBytes, rounds, roundMs, headBytes, rows: this.collection.size };
  }
}

type Write = Extract<Order, { do: "write" }>;

if (import.meta.main) {
  keepHeapSmall(); // as the product's processes do
  const node = new Node(JSON.parse(process.argv[2]!));
  const next = orders<Order>();
  for (;;) {
    const order = await next();
    process.send!(await node[order.do](order as never));
  }
}
