/** `/repositories`: which are indexed, and a search in one. */
import { ValueError } from "../../errors.ts";
import type { LocalParts, Site } from "../memory/site.ts";
import { call } from "../memory/verb.ts";
import { problemPage } from "../pages/problem.ts";
import { type RepositoryPage, repositoriesPage, repositoryPage } from "../pages/repositories.ts";
import { type Call, html, locally, type Routes } from "./call.ts";

/** Files of an answer. */
const FILES = 10;
/** Bytes of an answer as JSON: as HTML it is larger, and a page has to stay small. */
const ANSWER_BYTES = 16_000;

export const REPOSITORIES_ROUTES: Routes = {
  "GET /repositories": locally(async (site, _, local) => {
    const { repositories, removed = [] } = await local.repositories();
    return html(repositoriesPage(site, { repositories, removed }));
  }),
  "GET /repositories/search": locally(searched),
};

async function searched(site: Site, { url, request }: Call, local: LocalParts): Promise<Response> {
  const given = (name: string) => url.searchParams.get(name) ?? "";
  const { repositories } = await local.repositories();
  // Only what is indexed already: an address must not name a folder to index.
  const repository = repositories.find((one) => one.repo_id === given("repo") && one.collection === given("in"));
  if (repository?.root == null || !repository.exists)
    return html(problemPage(site, "No such repository is indexed, or its folder is missing."), 404);
  const page: RepositoryPage = { repository, query: given("q").trim(), hint: given("hint").trim() };
  if (page.query === "") return html(repositoryPage(site, page));
  try {
    const found = await call(
      site,
      "repo_search",
      {
        query: page.query,
        workspace: repository.root,
        collection: repository.collection,
        top_k: FILES,
        path_hint: page.hint || undefined,
        after: given("after") || undefined,
        max_bytes: ANSWER_BYTES,
      },
      { signal: request.signal },
    );
    return html(repositoryPage(site, { ...page, found }));
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    return html(repositoryPage(site, { ...page, problem: error.message }), 400);
  }
}
