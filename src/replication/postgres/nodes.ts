/** The nodes that have sessions: each names itself in the server's list of sessions, so nothing is stored about them. */
import type { Connection } from "./connection.ts";

/** Before the id of a node in `application_name`, which every role may read. */
const PREFIX = "svc ";

/** The name of a node's sessions. */
export function sessionName(node: string): string {
  return `${PREFIX}${node}`;
}

const CONNECTED = `select distinct substr(application_name, ${PREFIX.length + 1}) as node
  from pg_catalog.pg_stat_activity
  where datname = current_database() and application_name ~ '^${PREFIX}[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
  order by node`;

/** The ids of the nodes that are connected to this database now, in order. */
export async function connectedNodes(connection: Connection): Promise<string[]> {
  return (await connection.query(CONNECTED)).map(({ node }) => String(node));
}
