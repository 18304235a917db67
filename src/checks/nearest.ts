/** Names for what was mistyped. */

/** `, did you mean 'search'?`, or nothing where no candidate is near enough. */
export function didYouMean(name: string, candidates: readonly string[]): string {
  const similar = nearest(name, candidates);
  return similar === undefined ? "" : `, did you mean '${similar}'?`;
}

/** The candidate nearest to a name, or undefined if none is near enough to be what was meant. */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  const wanted = letters(name);
  let best: string | undefined;
  // A third of the letters wrong is another word.
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const known = letters(candidate);
    const isBeginning = wanted.length >= 2 && known.startsWith(wanted);
    // The distance is at least the difference in length.
    if (!isBeginning && Math.abs(known.length - wanted.length) >= bestDistance) continue;
    const distance = isBeginning ? 1 : editDistance(wanted, known, bestDistance);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/**
 * Candidates by how near they are to a name: those that contain it, or that it contains, before those of which at least
 * half of the letters are the same; among equals the order stays. Others are left out.
 */
export function nearestOf(name: string, candidates: readonly string[]): string[] {
  const wanted = letters(name);
  const distanceOf = (candidate: string) => {
    const known = letters(candidate);
    if (wanted !== "" && known !== "" && (known.includes(wanted) || wanted.includes(known))) return 0;
    const most = Math.max(known.length, wanted.length) / 2;
    const least = Math.abs(known.length - wanted.length);
    return least > most ? Number.POSITIVE_INFINITY : editDistance(wanted, known, Math.floor(most) + 1) / most;
  };
  return candidates
    .map((candidate) => ({ candidate, distance: distanceOf(candidate) }))
    .filter(({ distance }) => distance <= 1)
    .sort((a, b) => a.distance - b.distance)
    .map(({ candidate }) => candidate);
}

/** Dashes, underscores and case are not what people get wrong: `--topK` and `build_ivf` are the right word. */
function letters(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, "");
}

/**
 * Insertions, deletions, replacements and swaps of neighbours that turn one word into the other (optimal string
 * alignment), or `most` where it is at least that.
 */
function editDistance(a: string, b: string, most: number): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    let least = i;
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, beforeLast[j - 2]! + 1);
      row.push(cost);
      if (cost < least) least = cost;
    }
    if (least >= most) return most;
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
