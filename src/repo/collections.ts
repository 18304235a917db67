/** The names that tell a collection of repositories. In a file of its own: reading them loads no verb. */

/** The collection of `svc_repo_search`. */
export const REPO_COLLECTION = "repo_symbols";
/** The partition key: statistics of a query are those of one repository. No other collection has rows of repositories. */
export const REPO_KEY = "repo_id";
