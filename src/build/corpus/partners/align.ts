/**
 * Which terms of two languages stand for each other, from pairs of lists that say the same: IBM's first model (Brown et
 * al., 1993) in both directions.
 */

/** Terms of one language, terms of the other. */
export type Pair = readonly [readonly string[], readonly string[]];

const ROUNDS = 8;
/** What a list has that the other one does not: a term that explains a term everywhere else has to earn it. */
const NOTHING = 0.02;

type Shares = Map<string, Map<string, number>>;

/** By term of the first language: terms of the other one with the geometric mean of both probabilities. */
export function align(pairs: readonly Pair[]): Shares {
  const there = translate(pairs);
  const back = translate(pairs.map(([a, b]) => [b, a]));
  const scores: Shares = new Map();
  for (const [a, terms] of there) {
    scores.set(a, new Map([...terms].map(([b, share]) => [b, Math.sqrt(share * (back.get(b)?.get(a) ?? 0))])));
  }
  return scores;
}

/** By term of the first language: how probably it is said by each term of the other one. */
function translate(pairs: readonly Pair[]): Shares {
  let shares: Shares = new Map();
  for (const [from, to] of pairs) for (const a of from) for (const b of to) row(shares, a).set(b, 1);
  normalise(shares);
  for (let round = 0; round < ROUNDS; round++) {
    const next: Shares = new Map();
    for (const [from, to] of pairs) {
      for (const b of to) {
        const total = from.reduce((sum, a) => sum + shares.get(a)!.get(b)!, NOTHING);
        for (const a of from) {
          const of = row(next, a);
          of.set(b, (of.get(b) ?? 0) + shares.get(a)!.get(b)! / total);
        }
      }
    }
    normalise(next);
    shares = next;
  }
  return shares;
}

function row(shares: Shares, term: string): Map<string, number> {
  const of = shares.get(term) ?? new Map<string, number>();
  shares.set(term, of);
  return of;
}

function normalise(shares: Shares): void {
  for (const of of shares.values()) {
    const total = [...of.values()].reduce((sum, n) => sum + n, 0);
    for (const [term, n] of of) of.set(term, n / total);
  }
}
