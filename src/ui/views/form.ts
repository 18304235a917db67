/** The fields of a form. */
import { ValueError } from "../../errors.ts";

/** The fields; a file, which none of these forms has, counts as not given. @throws ValueError for what is not a form */
export async function formOf(request: Request): Promise<Map<string, string>> {
  try {
    const fields = await request.formData();
    return new Map(
      [...fields.entries()].flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
    );
  } catch {
    throw new ValueError("the browser sent what is not a form: go back and try again");
  }
}
