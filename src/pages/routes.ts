/** Which handler a request is for, by its method and path. */

/** Handlers by method and path, as `GET /things/:id`, in which `:id` stands for one component of the path. */
export type RouteTable<Handler> = Readonly<Record<string, Handler>>;

export interface Route<Handler> {
  readonly method: string;
  readonly pattern: string;
  /** The paths that fit, with a group for each `:name`. */
  readonly path: RegExp;
  readonly handler: Handler;
}

export interface Found<Handler> {
  readonly route: Route<Handler> | undefined;
  /** What stands in the path for each `:name`, not decoded. */
  readonly params: Readonly<Record<string, string>>;
}

export function compiled<Handler>(tables: readonly RouteTable<Handler>[]): readonly Route<Handler>[] {
  return tables.flatMap((table) =>
    Object.entries(table).map(([key, handler]) => {
      const [method = "", pattern = ""] = key.split(" ");
      const path = pattern
        .split(/:(\w+)/)
        .map((part, at) => (at % 2 === 0 ? RegExp.escape(part) : `(?<${part}>[^/]+)`));
      return { method, pattern, path: new RegExp(`^${path.join("")}$`), handler };
    }),
  );
}

/**
 * The route of a method and path; without one for a path that has other methods only; undefined for an unknown path.
 */
export function routed<Handler>(
  routes: readonly Route<Handler>[],
  method: string,
  path: string,
): Found<Handler> | undefined {
  let isKnown = false;
  for (const route of routes) {
    const found = route.path.exec(path);
    if (found === null) continue;
    if (route.method === method) return { route, params: found.groups ?? {} };
    isKnown = true;
  }
  return isKnown ? { route: undefined, params: {} } : undefined;
}
