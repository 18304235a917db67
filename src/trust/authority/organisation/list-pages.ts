/** Lists on pages: what is shown of rows that were read from a place on, in either direction. */

const ROWS_OF_PAGE = 50;

/** Where a page begins: after a row, or where it ends: in front of one. Neither is the first page. */
export interface Place {
  readonly after?: string | undefined;
  readonly before?: string | undefined;
}

/** The place that an address names, if it has the shape of one. */
export function placeOf(parameters: URLSearchParams, shape: RegExp): Place {
  const of = (name: string) => parameters.getAll(name).find((value) => shape.test(value));
  const before = of("before");
  return before === undefined ? { after: of("after") } : { before };
}

export interface ListPage<T> {
  readonly rows: readonly T[];
  /** The places of the pages around it; undefined where there is none. */
  readonly first: Place | undefined;
  readonly previous: Place | undefined;
  readonly next: Place | undefined;
}

/**
 * A page of at most fifty rows.
 * @param read rows in the order of the list, `limit` of them: those after `after`, or the last ones in front of
 * `before`
 * @param idOf the name of a row as a place
 */
export function listPage<T>(
  place: Place,
  read: (place: Place, limit: number) => readonly T[],
  idOf: (row: T) => string,
): ListPage<T> {
  const isBack = place.before !== undefined;
  const found = read(place, ROWS_OF_PAGE + 1);
  // Nothing lies in front of the first row: that is the first page.
  if (isBack && found.length === 0) return listPage({}, read, idOf);
  const rows = isBack ? found.slice(-ROWS_OF_PAGE) : found.slice(0, ROWS_OF_PAGE);
  const hasMore = found.length > ROWS_OF_PAGE;
  const hasPrevious = isBack ? hasMore : place.after !== undefined;
  const [head, tail] = [rows[0], rows.at(-1)];
  return {
    rows,
    first: hasPrevious ? {} : undefined,
    previous: hasPrevious && head !== undefined ? { before: idOf(head) } : undefined,
    next: (isBack || hasMore) && tail !== undefined ? { after: idOf(tail) } : undefined,
  };
}
