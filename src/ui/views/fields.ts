/** What a person filled in. */
import { ValueError } from "../../errors.ts";

/** The fields of a form. */
export class Fields {
  constructor(private readonly data: FormData) {}

  /** What a field for text holds, to the byte; undefined where there is no such field. */
  get(name: string): string | undefined {
    const value = this.data.get(name);
    return typeof value === "string" ? value : undefined;
  }

  /** What a field for text holds, without the spaces around it; empty where there is no such field. */
  text(name: string): string {
    return this.get(name)?.trim() ?? "";
  }

  /** Whether a box is checked. */
  has(name: string): boolean {
    return this.data.has(name);
  }

  /** The file that was chosen; undefined for none. */
  file(name: string): File | undefined {
    const value = this.data.get(name);
    if (!(value instanceof Blob) || (!value.name && value.size === 0)) return undefined;
    // A browser that sends no name, or one that is not text.
    return value.name ? value : new File([value], "file");
  }
}

/** Reads the form of a request. @throws ValueError for what is not a form */
export async function fieldsOf(request: Request): Promise<Fields> {
  try {
    return new Fields((await request.formData()) as FormData);
  } catch {
    throw new ValueError("what the browser sent is not a whole form: go back, and send it again");
  }
}
