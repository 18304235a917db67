/** How a file stands to a question by its role: sought, a role of code, a declaration, or not asked for. */
import type { PathIndex } from "./paths.ts";
import { type Role, rolesOf } from "./roles.ts";

/** What a role costs a file. */
export interface Standing {
  /** Multiplies the scores of its windows by words. */
  prior: number;
  /** Is taken from the fused scores of its windows, in deviations. */
  loss: number;
}

const SOUGHT: Standing = { prior: 1, loss: 0 };
/** A role of code: no word of a question has to name it. */
const CODE_ROLE: Standing = { prior: 0.75, loss: 0 };
/** What only declares: it has the words of what it declares, in its comments above all. */
const DECLARATION: Standing = { prior: 0.75, loss: 1 };
/** A role such as test or doc: a caller that wants such files names them in the question. */
const NOT_ASKED_FOR: Standing = { prior: 0.75, loss: 1.5 };

/** Whether a file works on what a question is about, or declares it. */
export const isOfSource = ({ loss }: Standing): boolean => loss < NOT_ASKED_FOR.loss;

/** Roles of code that writes source or is copied as such: a question may well be about it. */
const NEAR_SOURCE: ReadonlySet<Role> = new Set(["template", "generator"]);
/** Roles of code that defines names as source does. */
const DEFINES: ReadonlySet<Role> = new Set([...NEAR_SOURCE, "vendored", "example", "generated", "minified"]);

/** Roles of paths that were candidates: the same files are candidates of many questions. */
const roles = new Map<string, ReadonlySet<Role>>();
const ROLES_KEPT = 4096;

function rolesIn(path: string): ReadonlySet<Role> {
  let known = roles.get(path);
  if (known === undefined) {
    if (roles.size >= ROLES_KEPT) roles.clear();
    known = rolesOf(path);
    roles.set(path, known);
  }
  return known;
}

/** What a question asks for. */
export interface Sought {
  roles: ReadonlySet<Role>;
  /** Tests only. */
  isOfTests: boolean;
  /** Names and hardly anything else: a declaration may be what defines one. */
  isOfNames: boolean;
}

/** The standings of a repository's files to one question. */
export class Standings {
  private readonly known = new Map<string, Standing>();

  constructor(
    private readonly sought: Sought,
    private readonly index: Pick<PathIndex, "isDeclaration">,
  ) {}

  of(path: string): Standing {
    const known = this.known.get(path) ?? this.compute(path);
    this.known.set(path, known);
    return known;
  }

  private compute(path: string): Standing {
    const { roles: asked, isOfTests, isOfNames } = this.sought;
    const found = rolesIn(path);
    const rest = [...found].filter((role) => !asked.has(role));
    const near = isOfNames ? DEFINES : NEAR_SOURCE;
    if (rest.length > 0) return rest.every((role) => near.has(role)) && !isOfTests ? CODE_ROLE : NOT_ASKED_FOR;
    if (isOfTests && !found.has("test")) return NOT_ASKED_FOR;
    return !isOfNames && this.index.isDeclaration(path) ? DECLARATION : SOUGHT;
  }
}
