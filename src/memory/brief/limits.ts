/** Tokens of a brief. */

export const BRIEF_TOKENS = 800;
export const BRIEF_TOKENS_MIN = 100;
export const BRIEF_TOKENS_MAX = 20_000;
