/** The default embedder: words, stems and character n-grams hashed by the kernel. No model file, no download. */
import { type Kernel, Model } from "../../ffi/ame_kernel.ts";
import { KernelEmbedder } from "./kernel.ts";

/** `MultigramEmbedder`, model id `multigram`. */
export class MultigramEmbedder extends KernelEmbedder {
  constructor(kernel: Kernel) {
    super(kernel, Model.MULTIGRAM, "multigram");
  }
}
