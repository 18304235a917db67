/** The nodes that have sessions: each names itself in the server's list of sessions, so nothing is stored about them. */
import type { Connection, Settings } from "./connection.ts";

/** Before the id of a node in `application_name`, which every role may read. */
const PREFIX = "svc ";

/** The name of a node's sessions. */
export function sessionName(node: string): string {
  return `${PREFIX}${node}`;
}

/** What a commit of a node notifies. */
export const hintOf = ({ applicationName }: Settings, collection: string) => `${applicationName}/${collection}`;

/**
 * The collection of a hint; undefined for a hint of the node itself, whose processes share the files that it is about. The
 * hint of a drop has the collection alone.
 */
export function collectionOfHint({ applicationName }: Settings, hint: string): string | undefined {
  const at = hint.indexOf("/");
  return hint.slice(0, at) === applicationName ? undefined : hint.slice(at + 1);
}

const CONNECTED = `select distinct substr(application_name, ${PREFIX.length + 1}) as node
  from pg_catalog.pg_stat_activity
  where datname = current_database() and application_name ~ '^${PREFIX}[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
  order by node`;

/** The ids of the nodes that are connected to this database now, in order. */
export async function connectedNodes(connection: Connection): Promise<string[]> {
  return (await connection.query(CONNECTED)).map(({ node }) => String(node));
}
