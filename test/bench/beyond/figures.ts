/** Figures of nodes that share one database. */

/** A load of writers, each of which adds one note and waits until it is saved. */
export interface Load {
  writers: number;
  /** Saves that were acknowledged. */
  saves: number;
  seconds: number;
  /** Milliseconds of a save with its add: the middle one, and the slowest of a hundred. */
  p50: number;
  p99: number;
  /** Saves that failed because another node had saved first. */
  lost: number;
  /** Acknowledged notes that the collection does not have in the end. */
  missing: number;
}

/** Bytes copied in a second of the clock, and CPU milliseconds of the database for a megabyte. */
export interface Rate {
  mb: number;
  perSecond: number;
  /** The same bytes by bare statements of the same client. */
  barePerSecond: number;
  serverCpu: number;
}

/** What single calls cost: CPU milliseconds, and bytes that leave the database. */
export interface Costs {
  /** A save: of the database, and of the process that makes it. */
  commit: { server: number; node: number; ms: number };
  /** A round of a node that follows one commit, from the hint to the state that it searches. */
  round: { server: number; node: number; ms: number; bytes: number };
  /** Of these bytes, those that each round has, however many commits it follows. */
  headBytes: number;
  /** A look whether there is something to follow. */
  poll: { server: number; ms: number };
  /** Private bytes of a session of the database. */
  session: number;
}

/** One local collection of notes. */
export interface Size {
  rows: number;
  /** Bytes of its files. */
  disk: number;
  /** CPU milliseconds of a search in a process that has searched before. */
  search: number;
  /** Bytes of the process in memory: all, and those that no file backs. */
  resident: number;
  anonymous: number;
}

/** Nodes that follow while one writer saves, all on one machine. */
export interface Crowd {
  nodes: number;
  /** Saves a second, and rounds a second of one node. */
  saves: number;
  rounds: number;
  /** Share of the machine's cores that the database used. */
  server: number;
}

/** All that a run measured; a part that did not run is missing. */
export interface Figures {
  /** `local` is one writer of a memory without a database. */
  commits?: { local: Load; one: Load; eight: Load; nodes: Load; wire: Load };
  standby?: { one: Load; eight: Load };
  /** Milliseconds from an acknowledged save to an answer of another process. */
  found?: { p50: number; p99: number; count: number };
  /** Milliseconds from the start of a process to an answer at the newest generation. */
  catchUp?: { plain: number; compacted: number; generations: number };
  move?: { to: Rate; from: Rate };
  /** CPU milliseconds of a search: the middle of pairs, and the middle of their ratios. */
  search?: { node: number; local: number; ratio: number; rows: number };
  sizes?: Size[];
  costs?: Costs;
  crowd?: Crowd;
  /** Bytes. */
  executable: number;
}
