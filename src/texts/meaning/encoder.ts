/** The sentence encoder of a process. Its model of 7 MB is read and verified on first need. */
import type { SentenceModel } from "../../../ffi/ame_kernel.ts";
import { NativeError } from "../../../ffi/status.ts";
import { RuntimeError } from "../../errors.ts";
import type { Native } from "../../trust/runtime/libraries.ts";

/** What an encoder needs of the opened libraries. */
type EncoderNative = Pick<Native, "kernel" | "env" | "model">;

/** The encoder, where this process has one. */
export class SentenceEncoder {
  private reading: Promise<boolean> | undefined;
  private bytes: Uint8Array | undefined;
  /** Why this process has no encoder; undefined before `load`, and if it has one. */
  private reason: string | undefined;
  /** Collections for which `noticeFor` has returned the reason. */
  private readonly noticed = new Set<string>();

  constructor(private readonly native: EncoderNative) {}

  /** Whether a person turned it off for this process: SVC_MEANING=off. */
  get isOff(): boolean {
    return this.native.model === undefined;
  }

  /** Whether the model is loaded. Only then can collections be ranked by meaning. */
  get isReady(): boolean {
    return this.bytes !== undefined;
  }

  /** A sentence that says why this process has no encoder; set once `load` has resolved to false. */
  get fault(): string | undefined {
    return this.reason;
  }

  /** Reads the model, once a process. @returns whether there is one */
  load(): Promise<boolean> {
    this.reading ??= this.read();
    return this.reading;
  }

  /** Returns `fault` once for each collection, so that not every answer repeats it. */
  noticeFor(collection: string): string | undefined {
    if (this.reason === undefined || this.noticed.has(collection)) return undefined;
    this.noticed.add(collection);
    return this.reason;
  }

  /** The model, for callers that encode texts themselves. @throws RuntimeError if this process has no encoder */
  async model(): Promise<SentenceModel> {
    if (!(await this.load())) throw new RuntimeError(this.reason!);
    return this.native.kernel.sentenceModel(this.bytes!)!;
  }

  private async read(): Promise<boolean> {
    const { env, model } = this.native;
    if (model === undefined) return this.fail("searches by meaning are off: SVC_MEANING is off");
    const loaded = await model();
    if (loaded === undefined) {
      return this.fail("searches by meaning are off: this build of svc has no sentence encoder");
    }
    if (loaded.fault) return this.fail(loaded.fault.message);
    try {
      env.useModel(loaded.bytes);
    } catch (error) {
      if (!(error instanceof NativeError)) throw error;
      return this.fail(
        `searches by meaning are off: ${error.message}; run 'svc runtime install' again, then restart the programs that use svc`,
      );
    }
    this.bytes = loaded.bytes;
    return true;
  }

  private fail(reason: string): false {
    this.reason = reason;
    return false;
  }
}
