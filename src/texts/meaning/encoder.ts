/** The sentence encoder of a process. Its model, 7 MB, is read and verified when it is first needed. */
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
  /** Why there is no encoder; undefined before `load`, and where there is one. */
  private why: string | undefined;
  /** Collections for which `noticeFor` has returned it. */
  private readonly noticed = new Set<string>();

  constructor(private readonly native: EncoderNative) {}

  /** Whether a person turned it off for this process: SVC_MEANING=off. */
  get isOff(): boolean {
    return this.native.model === undefined;
  }

  /** Whether the model is loaded: collections can be ranked by meaning then. */
  get isReady(): boolean {
    return this.bytes !== undefined;
  }

  /** Why this process has no encoder, as a sentence, once `load` has resolved to false. */
  get fault(): string | undefined {
    return this.why;
  }

  /** Reads the model, once a process. @returns whether there is one */
  load(): Promise<boolean> {
    this.reading ??= this.read();
    return this.reading;
  }

  /** `fault`, the first time for each collection. */
  noticeFor(collection: string): string | undefined {
    if (this.why === undefined || this.noticed.has(collection)) return undefined;
    this.noticed.add(collection);
    return this.why;
  }

  /** The encoder for vectors of its own. @throws RuntimeError where there is none */
  async model(): Promise<SentenceModel> {
    if (!(await this.load())) throw new RuntimeError(this.why!);
    return this.native.kernel.sentenceModel(this.bytes!)!;
  }

  private async read(): Promise<boolean> {
    const { env, model } = this.native;
    if (model === undefined) return this.without("searches by meaning are off: SVC_MEANING is off");
    const loaded = await model();
    if (loaded === undefined) {
      return this.without("searches by meaning are off: this build of svc has no sentence encoder");
    }
    if (loaded.fault) return this.without(loaded.fault.message);
    try {
      env.useModel(loaded.bytes);
    } catch (error) {
      if (!(error instanceof NativeError)) throw error;
      return this.without(
        `searches by meaning are off: ${error.message}; run 'svc runtime install' again, then restart the programs that use svc`,
      );
    }
    this.bytes = loaded.bytes;
    return true;
  }

  private without(why: string): boolean {
    this.why = why;
    return false;
  }
}
