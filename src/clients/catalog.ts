/**
 * The clients: where each keeps its servers, what an entry looks like, and when it reads them. Each was taken from the
 * page of its own documentation that is named, and is compared with npm's `add-mcp` in the tests. Where versions of a
 * client differ, the place and shape are those that all current ones read.
 */
import {
  ANTIGRAVITY,
  CLAUDE_DESKTOP,
  CLINE,
  CURSOR,
  DEVIN,
  JUNIE,
  KILO,
  KIRO,
  VSCODE,
  WINDSURF,
  ZED,
} from "./catalog-editors.ts";
import { AMP, CLAUDE_CODE, CODEX, COPILOT_CLI, GEMINI_CLI, GOOSE, OPENCODE, QWEN_CODE } from "./catalog-terminals.ts";
import type { Client } from "./client.ts";

/** In the order in which they are offered. */
export const CLIENTS: readonly Client[] = [
  CLAUDE_CODE,
  CLAUDE_DESKTOP,
  CURSOR,
  VSCODE,
  WINDSURF,
  DEVIN,
  ZED,
  CODEX,
  GEMINI_CLI,
  ANTIGRAVITY,
  GOOSE,
  CLINE,
  COPILOT_CLI,
  OPENCODE,
  QWEN_CODE,
  KIRO,
  JUNIE,
  KILO,
  AMP,
];
