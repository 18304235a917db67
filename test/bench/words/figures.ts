/** Figures, as the JSON has them. */
import type { Cost } from "../cost.ts";
import type { Memory } from "../processes.ts";
import type { QueryTimes } from "../text/ask.ts";

/** By kind of question. */
export type Kinds<T = QueryTimes> = Record<string, T>;

/** Milliseconds of a question over MCP. */
export interface Answered {
  /** By the clock, at the client. */
  p50: number;
  p95: number;
  /** CPU time of the server. */
  cpu: number;
}

/** The ways to ask over MCP; `tenth`: within one of ten partitions. */
export const TOOLS = ["fused", "lexical", "fusedTenth", "lexicalTenth"] as const;
export type Tool = (typeof TOOLS)[number];

/** The ways to ask in process. */
export const CALLS = ["dense", "lexical", "fused", "denseTenth", "fusedTenth"] as const;
export type Call = (typeof CALLS)[number];

export interface Peer {
  name: string;
  ingest: Cost;
  disk: number;
  asked: Kinds;
}

/** Memory of a server: before its first question, and after so many fused ones. */
export interface ServerMemory {
  questions: number;
  before: Memory;
  after: Memory;
}

export interface Figures {
  passages: number;
  /** How many of them are as their author wrote them. */
  real: number;
  /** Of the texts. */
  bytes: number;
  /** Bytes of the compacted collection, and of its index of words. */
  disk: { all: number; index: number };
  /** Bytes a second that one core reads. */
  bandwidth: number;
  ping: number;
  mcp: Record<Tool, Kinds<Answered>>;
  inProcess: Record<Call, Kinds>;
  memory: ServerMemory;
  peers: Peer[];
}
