/** The addresses of pages. Ids stand in parameters: as parts of a path, browsers would resolve `.` and `..`. */
import { address } from "../../pages/lists.ts";

/** A page of a collection; without `page` its rows. */
export function pathOf(
  collection: string,
  page = "",
  parameters: Readonly<Record<string, string | undefined>> = {},
): string {
  return address(`/c/${encodeURIComponent(collection)}${page === "" ? "" : `/${page}`}`, parameters);
}

/** A row's page. */
export function rowPath(collection: string, id: string, page = "row"): string {
  return pathOf(collection, page, { id });
}
