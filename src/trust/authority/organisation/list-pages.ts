/** Lists on pages: what is shown of rows that were read from a place on, in either direction. */
import { type Around, address } from "../../../pages/lists.ts";

const ROWS_OF_PAGE = 50;

/** Where a page begins: after a row, or where it ends: in front of one. Neither is the first page. */
export interface Place {
  readonly after?: string | undefined;
  readonly before?: string | undefined;
}

/** A list that is shown in pages. */
interface List<T> {
  /** The address of the list, and what is chosen of it. */
  readonly path: string;
  readonly chosen?: Readonly<Record<string, string>>;
  /** The parameters of the request, of which `after` or `before` name a place if they have this shape. */
  readonly parameters: URLSearchParams;
  readonly shape: RegExp;
  /** Rows in the order of the list, `limit` of them: those after `after`, or the last ones in front of `before`. */
  readonly read: (place: Place, limit: number) => readonly T[];
  /** The name of a row as a place. */
  readonly idOf: (row: T) => string;
}

/** A page of at most fifty rows, at the place that the request names. */
export function listPage<T>(list: List<T>): { readonly rows: readonly T[]; readonly around: Around } {
  const { path, chosen, parameters, shape, read, idOf } = list;
  const of = (name: string) => parameters.getAll(name).find((value) => shape.test(value));
  const before = of("before");
  const isBack = before !== undefined;
  const after = isBack ? undefined : of("after");
  const found = read(isBack ? { before } : { after }, ROWS_OF_PAGE + 1);
  // Nothing lies in front of the first row: that is the first page.
  if (isBack && found.length === 0) return listPage({ ...list, parameters: new URLSearchParams() });
  const rows = isBack ? found.slice(-ROWS_OF_PAGE) : found.slice(0, ROWS_OF_PAGE);
  const hasMore = found.length > ROWS_OF_PAGE;
  const hasPrevious = isBack ? hasMore : after !== undefined;
  const [head, tail] = [rows[0], rows.at(-1)];
  const at = (place: Place) => address(path, { ...chosen, ...place });
  const around = {
    first: hasPrevious ? at({}) : undefined,
    previous: hasPrevious && head !== undefined ? at({ before: idOf(head) }) : undefined,
    next: (isBack || hasMore) && tail !== undefined ? at({ after: idOf(tail) }) : undefined,
  };
  return { rows, around };
}
