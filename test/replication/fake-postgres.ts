/**
 * A server that speaks as much of PostgreSQL's protocol as the engine uses, has one collection, and fails on command.
 * What each statement does is guessed from its words: the real server is tried in `postgres.test.ts`.
 */
import type { Socket, TCPSocketListener } from "bun";
import { closedAtEnd } from "../opened.ts";
import { Fields, Messages, type Row } from "./protocol.ts";

/**
 * What a rule does with a statement: an SQLSTATE as its answer; the end of the connection, or nothing any more, before or
 * after it has its effect; an effect without an answer of its own.
 */
export type Fault =
  | { state: string; severity?: "ERROR" | "FATAL" }
  | { end: "cut" | "silence"; when: "before" | "after" }
  | { rows: Row[]; command?: string };

interface Rule {
  statement: RegExp;
  fault: Fault;
  times: number;
}

/** Statements that move the head: the first commit of a collection, and those after it. */
export const MOVE = /^with moved|svc\.svc_swap/;

/** The one collection. */
interface State {
  generation: string;
  manifest: Uint8Array;
  files: string;
  commit: string;
  log: string;
}

/** A connection: what its client sent, and what its transaction would change. */
class Session {
  readonly messages = new Messages();
  isSilent = false;
  /** The last statement has failed: those after it in one message are not run. */
  hasFailed = false;
  statement = "";
  values: Uint8Array[] = [];
  next: State | undefined;
}

export class FakePostgres {
  /** All statements, in the order in which they came. */
  readonly statements: string[] = [];
  /** How many connections were accepted. */
  accepted = 0;
  head: State | undefined;
  readonly commits = new Set<string>();
  isReadOnly = false;
  /** What a new connection gets instead of an answer. */
  refusal: "silence" | "cut" | string | undefined;
  private rules: Rule[] = [];
  private readonly sockets = new Set<Socket<Session>>();
  private readonly listener: TCPSocketListener<Session>;

  constructor(port = 0) {
    this.listener = Bun.listen<Session>({
      hostname: "127.0.0.1",
      port,
      socket: {
        open: (socket) => {
          this.accepted++;
          socket.data = new Session();
          this.sockets.add(socket);
        },
        data: (socket, bytes) => this.receive(socket, bytes),
        close: (socket) => void this.sockets.delete(socket),
      },
    });
    closedAtEnd(this);
  }

  get port(): number {
    return this.listener.port;
  }

  get url(): string {
    return `postgres://user:secret-word@127.0.0.1:${this.port}/database`;
  }

  /** The next statements that match get this fault. */
  fail(statement: RegExp, fault: Fault, times = 1): void {
    this.rules.push({ statement, fault, times });
  }

  /** Ends all connections; new ones are accepted. */
  cut(): void {
    for (const socket of this.sockets) socket.terminate();
  }

  async close(): Promise<void> {
    this.cut();
    this.listener.stop(true);
  }

  private receive(socket: Socket<Session>, bytes: Uint8Array): void {
    const session = socket.data;
    session.messages.push(bytes);
    const answer = new Fields();
    for (const { type, body } of session.messages.take()) {
      if (session.isSilent || this.refusal === "silence") continue;
      if (this.refusal === "cut") return void socket.terminate();
      if (!this.handle(socket, type, body, answer)) return void socket.terminate();
    }
    if (!session.isSilent) socket.write(answer.bytes());
  }

  /** @returns whether the connection goes on */
  private handle(socket: Socket<Session>, type: string, body: Buffer, answer: Fields): boolean {
    const session = socket.data;
    if (type === "ssl") answer.raw("N");
    else if (type === "startup") {
      if (this.refusal) {
        answer.error(this.refusal, "FATAL");
        socket.write(answer.bytes());
        return false;
      }
      answer.welcome();
    } else if (type === "Q") {
      session.values = [];
      session.hasFailed = false;
      for (const statement of body.toString("utf8", 0, body.length - 1).split(/;\s*/)) {
        session.statement = statement;
        if (!session.hasFailed && !this.run(socket, answer, false)) return false;
      }
      answer.ready();
    } else if (type === "P") {
      const [, statement] = body.toString("utf8").split("\0");
      session.statement = statement!;
      answer.message("1");
    } else if (type === "B") {
      session.values = Fields.valuesOf(body);
      answer.message("2");
    } else if (type === "D") {
      answer.parameters(session.statement, body[0] === 0x53);
      const fault = this.ruleOf(session.statement)?.fault;
      answer.columns(fault !== undefined && "rows" in fault ? fault.rows : this.rowsOf(session));
    } else if (type === "E") return this.run(socket, answer, true);
    else if (type === "S") answer.ready();
    return type !== "X";
  }

  private run(socket: Socket<Session>, answer: Fields, isExtended: boolean): boolean {
    const session = socket.data;
    const { statement } = session;
    this.statements.push(statement);
    const rule = this.ruleOf(statement);
    if (rule) rule.times--;
    const fault = rule?.fault;
    if (fault !== undefined && "state" in fault) {
      answer.error(fault.state, fault.severity ?? "ERROR");
      session.hasFailed = true;
      if (fault.severity !== "FATAL") return true;
      socket.write(answer.bytes());
      return false;
    }
    const end = fault !== undefined && "end" in fault ? fault : undefined;
    const rows = fault !== undefined && "rows" in fault ? fault.rows : this.rowsOf(session);
    if (end?.when !== "before") this.apply(session);
    if (end) {
      session.isSilent = true;
      return end.end === "silence";
    }
    if (!isExtended && rows.length > 0) answer.columns(rows);
    const command = fault !== undefined && "command" in fault ? fault.command : undefined;
    answer.rows(rows, command ?? /^\w+/.exec(statement.trim())![0].toUpperCase());
    return true;
  }

  private ruleOf(statement: string): Rule | undefined {
    return this.rules.find((known) => known.times > 0 && known.statement.test(statement));
  }

  private apply(session: Session): void {
    const { statement, values } = session;
    const text = (index: number) => Buffer.from(values[index]!).toString();
    if (MOVE.test(statement)) {
      // The client sends a small number as an `int4`.
      const generation = String(Buffer.from(values[1]!).readInt32BE());
      session.next = {
        generation,
        manifest: values[2]!,
        files: text(3),
        commit: text(4),
        log: this.head?.log ?? text(5),
      };
    }
    if (statement === "commit" && session.next) {
      this.head = session.next;
      this.commits.add(session.next.commit);
    }
    if (statement === "commit" || statement === "rollback") session.next = undefined;
  }

  private rowsOf({ statement, values }: Session): Row[] {
    if (/transaction_read_only/.test(statement)) {
      return [{ read_only: this.isReadOnly ? "on" : "off", encoding: "UTF8", version: "180000" }];
    }
    if (/max\(version\)/.test(statement)) return [{ version: "3" }];
    if (MOVE.test(statement) || /returning 1$/.test(statement)) return [{ moved: "1" }];
    if (/^update svc.svc_commit/.test(statement)) {
      return this.commits.has(Buffer.from(values[0] ?? []).toString()) ? [{ found: "1" }] : [];
    }
    if (/from svc.svc_head where collection = /.test(statement) && this.head) return [{ ...this.head }];
    return [];
  }
}
