/** Words of a command line that a POSIX shell takes apart, and back. */

/** A word in single quotes where a shell would change it; sh, bash, zsh and fish read it alike. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The word again; what is not written by `shellWord` stays as it is. */
export function unquoted(word: string): string {
  return /^'(?:[^']|'\\'')*'$/.test(word) ? word.slice(1, -1).replaceAll(`'\\''`, "'") : word;
}
