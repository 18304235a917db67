/** The replies of one connection, in the order of its requests, and how long each took. */
import type { Outbox } from "./outbox.ts";
import { isSuccess } from "./reply.ts";

/** A reply's place in the order. */
export interface Place {
  /** The op it is counted under; for a large frame known once it is parsed. */
  op: string;
  /** When the request was read. */
  readonly since: number;
  /** Bytes of the request, held until it is answered. */
  readonly bytes: number;
  json: string | undefined;
}

/** The part of the server's counters that this uses. */
interface Answered {
  /** Counts requests of an op that were answered. @param ms the time that each took */
  answered(op: string, ms: number, isOk: boolean, times?: number): void;
}

export class Replies {
  /** Replies not sent yet, in order. */
  private places: Place[] = [];
  /**
   * Requests of one op answered at once since `turnAt`: reading the clock for each would cost as much as answering it.
   */
  private turn = { op: "", isOk: true, times: 0 };
  private turnAt = 0;
  /** UTF-16 units of replies that wait for one before them. */
  heldUnits = 0;
  /** Bytes of the requests that are not answered yet. */
  unansweredBytes = 0;

  constructor(
    private readonly outbox: Outbox,
    private readonly counters: Answered,
  ) {}

  /** Requests whose replies are not sent yet. */
  get waiting(): number {
    return this.places.length;
  }

  /** Keeps a place for a reply to come. */
  place(op: string, bytes = 0): Place {
    const place = { op, since: performance.now(), bytes, json: undefined };
    this.places.push(place);
    this.unansweredBytes += bytes;
    return place;
  }

  /** Answers a request that was read in this turn of the event loop, while none waits. */
  now(op: string, json: string): void {
    const isOk = isSuccess(json);
    const { turn } = this;
    if (turn.times > 0 && (turn.op !== op || turn.isOk !== isOk)) this.endTurn();
    if (turn.times === 0) {
      turn.op = op;
      turn.isOk = isOk;
    }
    turn.times++;
    this.outbox.add(json);
  }

  /** Fills a place. It is sent with the next `send`, when everything before it is filled. */
  fill(place: Place, json: string): void {
    if (!this.places.includes(place)) return; // removed by endWith or clear
    place.json = json;
    this.heldUnits += json.length;
    this.counters.answered(place.op, performance.now() - place.since, isSuccess(json));
  }

  /** Makes a place the last one: nothing after it is answered. */
  endWith(place: Place): void {
    this.places.length = this.places.indexOf(place) + 1;
    this.heldUnits = this.places.reduce((sum, { json }) => sum + (json?.length ?? 0), 0);
    this.unansweredBytes = this.places.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** A turn of the event loop begins. */
  beginTurn(): void {
    this.turnAt = performance.now();
  }

  /** Whether the first reply can be sent. */
  get isDue(): boolean {
    return this.places[0]?.json !== undefined;
  }

  /** Hands the replies that are due to the outbox, in order. */
  collect(): void {
    const { places } = this;
    let due = 0;
    for (; due < places.length && places[due]!.json !== undefined; due++) {
      this.heldUnits -= places[due]!.json!.length;
      this.unansweredBytes -= places[due]!.bytes;
      this.outbox.add(places[due]!.json!);
    }
    if (due > 0) places.splice(0, due);
  }

  /** Hands the replies that are due to the kernel. */
  send(): void {
    this.collect();
    this.outbox.flush();
    this.endTurn();
  }

  /** Discards all replies: the client is gone. */
  clear(): void {
    this.places = [];
    this.heldUnits = 0;
    this.unansweredBytes = 0;
  }

  private endTurn(): void {
    const { op, isOk, times } = this.turn;
    if (times > 0) this.counters.answered(op, performance.now() - this.turnAt, isOk, times);
    this.turn.times = 0;
  }
}
