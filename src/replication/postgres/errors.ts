/** What a failure of Bun's PostgreSQL client means for a caller of the engine. */
import { SQL } from "bun";
import { certificateFault } from "../../trust/account/trusted/certificate-fault.ts";
import { EngineError, type EngineFault } from "../engine.ts";

/** An answer did not come before a deadline of ours. */
export class Overdue extends Error {
  constructor(readonly ms: number) {
    super(`no answer within ${ms} ms`);
  }
}

/** What was going on: an error while a connection is made says nothing about a change. */
export type Phase = "connect" | "statement";

const ENDED: [EngineFault, string] = ["again", "the server ended the session; nothing of the transaction was stored"];
const BUSY: [EngineFault, string] = ["again", "another node holds the lock of the collection; try again"];

/** What to do by SQLSTATE, https://www.postgresql.org/docs/current/errcodes-appendix.html. */
const BY_STATE: Record<string, [EngineFault, string]> = {
  "22021": ["refused", "the name has bytes that PostgreSQL cannot store"],
  "22P05": [
    "refused",
    "the name has characters that the database cannot store; create the database with ENCODING 'UTF8'",
  ],
  "23505": ["refused", "a file of that name is stored already, with other bytes; repeat the call"],
  "25006": [
    "away",
    "the server accepts only reads; name the host that accepts writes, or all hosts separated by commas",
  ],
  "25P03": ENDED,
  "25P04": ENDED,
  "28000": ["refused", "the server does not admit this user from this host; see its pg_hba.conf"],
  "28P01": ["refused", "the user name or the password is wrong; correct them in the address"],
  "3D000": ["refused", "create the database on the server with CREATE DATABASE"],
  "3F000": ["refused", "the schema svc is gone; restart svc to create it again"],
  "40001": ["again", "another transaction was first; try again"],
  "40P01": ["again", "the server ended a deadlock; try again"],
  "42501": [
    "refused",
    "grant this role USAGE on the schema svc and SELECT, INSERT, UPDATE, DELETE on its tables, and EXECUTE on its " +
      "functions; the first node also needs CREATE on the database, or on the schema where it exists",
  ],
  "42883": ["refused", "a function of the schema svc is gone; restart svc, or restore the whole schema"],
  "42P01": ["refused", "a table of the schema svc is gone; restore the database or drop the schema"],
  "53100": ["refused", "the server's disk is full; free space there, then repeat the call"],
  "53200": ["refused", "the server is out of memory"],
  "53300": ["away", "the server has no connection left; end some, or raise max_connections there"],
  "55P03": BUSY,
  "57014": ["again", "the server did not finish in time; try again when it is less busy"],
  "57P01": ENDED,
  "57P02": ENDED,
  "57P03": ["away", "the server is starting or shutting down; try again in a moment"],
};

/** The SQLSTATE that the server sent; undefined where it sent none. */
export function stateOf(error: unknown): string | undefined {
  const cause = error instanceof EngineError ? error.cause : error;
  return cause instanceof SQL.PostgresError ? cause.errno : undefined;
}

/** Whether the session cannot be used after the error: it was cut, ended by the server, or does not answer. */
export function isSessionLost(error: unknown): boolean {
  if (!(error instanceof SQL.PostgresError)) return true;
  return error.errno === undefined || error.severity === "FATAL" || error.severity === "PANIC";
}

/** Client errors without an SQLSTATE that are about the connection alone. */
const CUT = /^ERR_POSTGRES_(?:CONNECTION_|IDLE_TIMEOUT|LIFETIME_TIMEOUT)|^E[A-Z]+$/;

function meaningOf(error: unknown, phase: Phase): [EngineFault, string] {
  if (error instanceof Overdue) return ["away", `${error.message}; see whether the server and the network work`];
  if (!(error instanceof Error)) return ["away", "the connection failed"];
  const state = stateOf(error);
  const code = "code" in error ? String(error.code) : "";
  if (state !== undefined) {
    const [fault, advice] = BY_STATE[state] ?? ["refused", "see the log of the server"];
    const gone = phase === "connect" && fault === "again";
    return [gone ? "away" : fault, `${error.message} (SQLSTATE ${state}); ${advice}`];
  }
  if (code === "ERR_POSTGRES_TLS_NOT_AVAILABLE") {
    return ["refused", "the server has no TLS; set it up there, or add sslmode=disable where the network is trusted"];
  }
  const certificate = certificateFault(code, "name the authority's certificate with sslrootcert=FILE");
  if (certificate !== undefined) return ["refused", `its certificate ${certificate}`];
  const fault = phase === "connect" ? "away" : "again";
  if (CUT.test(code))
    return [
      fault,
      phase === "connect"
        ? "it cannot be reached; see whether the address is right, and the server and the network work"
        : "the connection was cut",
    ];
  return [phase === "connect" ? "refused" : "again", error.message];
}

/** @param where the host, as it begins the message */
export function engineError(error: unknown, where: string, phase: Phase): EngineError {
  if (error instanceof EngineError) return error;
  const [fault, text] = meaningOf(error, phase);
  return new EngineError(fault, `PostgreSQL at ${where}: ${text}`, { cause: error });
}
