/** Searches of several open collections of libty_runtime in one ranking. Arguments are taken as checked. */
import type { PackedStrings } from "./packing.ts";
import { NativeError, Status } from "./status.ts";
import { type FieldOf, type Struct, struct } from "./structs.ts";
import { ANSWER_BYTES, type NativeHandle, type Watch } from "./ty_handle.ts";
import {
  askArguments,
  type NativeAnswer,
  type NativeQuestion,
  type PassagePlace,
  PLACE_WORDS,
  passagesArguments,
  toAnswer,
  toPlaces,
} from "./ty_reader.ts";
import { newError, toError } from "./ty_symbols.ts";

/** An answer from several collections. */
export interface NativeManyAnswer extends NativeAnswer {
  /** Of each row the index of its collection. */
  places: number[];
  /** Of each collection `Trouble`, added up. */
  troubles: number[];
}

/** A condition: in each collection the index of the column, and the encoded value. */
export interface ManyFilter {
  columns: readonly number[];
  key: Uint8Array;
}

/** A call failed in one of its collections. */
export class FailedIn extends Error {
  /** @param index of the collection */
  constructor(
    readonly index: number,
    override readonly cause: Error,
  ) {
    super(cause.message);
  }
}

/** Collections of one environment, each once, at least one. */
export class NativeMany {
  private readonly columns: BigUint64Array;
  private readonly addresses: BigUint64Array;
  private readonly error = newError();

  constructor(
    private readonly collections: readonly NativeHandle[],
    private readonly filter: ManyFilter | undefined,
  ) {
    const count = collections.length;
    this.columns = new BigUint64Array(count).fill(0xffff_ffff_ffff_ffffn);
    if (filter) this.columns.set(filter.columns.map(BigInt));
    this.addresses = BigUint64Array.from(collections, ({ shared }) => BigInt(shared.handle));
  }

  /**
   * The best rows of all collections, in one ranking; see `ty_ask_many`. The filter of the question is not read.
   * @param inlineBytes a query that will read more bytes of codes runs on a worker
   * @throws FailedIn
   */
  async ask(
    question: Omit<NativeQuestion, "filter" | "under">,
    embedMost: number,
    inlineBytes: number,
    watch?: Watch,
  ): Promise<NativeManyAnswer> {
    const { c, workers } = this.collections[0]!.shared;
    const filter = this.filter && { column: 0, key: this.filter.key };
    const args = askArguments({ ...question, filter, under: undefined }, embedMost);
    const troubles = new BigUint64Array(this.collections.length);
    const many = this.arguments().pointer("trouble", troubles);
    const call = async (bytes: Uint8Array) => {
      args.bytes("out", "out_capacity", bytes);
      const code = c.ty_ask_many(many.u32, args.integer("most_bytes", inlineBytes).u32, null, this.error);
      if (code === Status.LARGE) return workers.submitMany(many, args.integer("most_bytes", 0), watch);
      if (code !== Status.OK) throw toError(code, this.error);
    };
    let out = new Uint8Array(new ArrayBuffer(ANSWER_BYTES));
    for (;;) {
      try {
        await call(out);
        const answer = toAnswer(args, question.what, out.subarray(0, args.number("out_bytes")), true);
        args.release();
        many.release();
        return { ...answer, troubles: Array.from(troubles, Number) };
      } catch (error) {
        if (!(error instanceof NativeError) || error.status !== Status.BUFFER) throw this.blamed(error, many);
        out = new Uint8Array(new ArrayBuffer(args.number("out_bytes")));
      }
    }
  }

  /** The passage of each text that the question is about. @throws FailedIn */
  passages(text: string, texts: PackedStrings): PassagePlace[] {
    const { c } = this.collections[0]!.shared;
    const places = new Float64Array(texts.ends.length * PLACE_WORDS);
    const args = passagesArguments(text, this.filter?.key, texts, places);
    const many = this.arguments();
    const code = c.ty_passages_many(many.u32, args.u32, this.error);
    args.release();
    many.release();
    if (code !== Status.OK) throw this.blamed(toError(code, this.error), many);
    return toPlaces(places);
  }

  private arguments(): Struct<FieldOf<"ty_many_args">> {
    const many = struct("ty_many_args").integer("n", this.collections.length);
    return many.pointer("collections", this.addresses).pointer("columns", this.columns);
  }

  private blamed(error: unknown, many: Struct<"failed">): unknown {
    const index = many.number("failed");
    const isOfOne = error instanceof NativeError && index < this.collections.length;
    return isOfOne ? new FailedIn(index, error) : error;
  }
}
