/**
 * The scenarios of the official conformance suite for servers. Most of them need a tool, a prompt or a resource that a
 * server for tests has and svc does not: they fail, with the reason beside each check. Nothing is added to svc, and
 * nothing is answered in its place, to make them pass.
 */
import type { Revision } from "./official.ts";

export interface Scenario {
  /** The checks that fail or warn, each with the reason. A scenario without them passes. */
  fails?: Record<string, string>;
  /** Why passing proves nothing about svc. */
  vacuous?: string;
}

const APPLIES: Scenario = {};
const HTTP: Scenario = { vacuous: "tests HTTP, which is the bridge's" };

/** A scenario with one check, which has the scenario's name unless it says otherwise. */
const fails = (check: string, reason: string): Scenario => ({ fails: { [check]: reason } });
const tool = (name: string) => `needs the fixture tool ${name}`;
const completion = "svc completes no arguments";
const prompts = "svc has no prompts";
const resources = "svc has no resources";
const subscriptions = "svc has no resources to subscribe to";
const annotated = "needs a fixture tool whose schema has x-mcp-header";
const anyErrorPasses = "the fixture tool is missing, and any error for it passes";

const BOTH: Record<string, Scenario> = {
  "completion-complete": fails("completion-complete", completion),
  "dns-rebinding-protection": HTTP,
  "json-schema-2020-12": fails("json-schema-2020-12-tool-found", tool("json_schema_2020_12_tool")),
  "prompts-get-embedded-resource": fails("prompts-get-embedded-resource", prompts),
  "prompts-get-simple": fails("prompts-get-simple", prompts),
  "prompts-get-with-args": fails("prompts-get-with-args", prompts),
  "prompts-get-with-image": fails("prompts-get-with-image", prompts),
  "prompts-list": fails("prompts-list", prompts),
  "resources-list": fails("resources-list", resources),
  "resources-read-binary": fails("resources-read-binary", resources),
  "resources-read-text": fails("resources-read-text", resources),
  "resources-templates-read": fails("resources-templates-read", resources),
  "server-sse-multiple-streams": APPLIES,
  "tools-call-audio": fails("tools-call-audio", tool("test_audio_content")),
  "tools-call-embedded-resource": fails("tools-call-embedded-resource", tool("test_embedded_resource")),
  "tools-call-image": fails("tools-call-image", tool("test_image_content")),
  "tools-call-mixed-content": fails("tools-call-mixed-content", tool("test_multiple_content_types")),
  "tools-call-with-progress": fails("tools-call-with-progress", tool("test_tool_with_progress")),
  "tools-list": APPLIES,
};

const UNTIL_2025_11_25: Record<string, Scenario> = {
  "elicitation-sep1034-defaults": fails("elicitation-sep1034-general", tool("test_elicitation_sep1034_defaults")),
  "elicitation-sep1330-enums": fails("elicitation-sep1330-general", tool("test_elicitation_sep1330_enums")),
  "logging-set-level": fails("logging-set-level", "svc sends no log messages"),
  ping: APPLIES,
  "resources-subscribe": fails("resources-subscribe", subscriptions),
  "resources-unsubscribe": fails("resources-unsubscribe", subscriptions),
  "server-initialize": APPLIES,
  "server-session-lifecycle": HTTP,
  "server-sse-polling": HTTP,
  "tools-call-elicitation": fails("tools-call-elicitation", tool("test_elicitation")),
  "tools-call-error": { vacuous: anyErrorPasses },
  "tools-call-sampling": fails("tools-call-sampling", tool("test_sampling")),
  "tools-call-simple-text": { vacuous: "the fixture tool is missing, and its error is a text" },
  "tools-call-with-logging": fails("tools-call-with-logging", "svc sends no log messages"),
};

const SINCE_2026_07_28: Record<string, Scenario> = {
  caching: {
    fails: {
      "sep-2549-prompts-list-caching-hints": prompts,
      "sep-2549-resources-list-caching-hints": resources,
      "sep-2549-resources-templates-list-caching-hints": resources,
    },
  },
  "http-custom-header-server-validation": {
    fails: {
      "sep-2243-server-no-xmcp-tool": annotated,
      "sep-2243-server-decode-base64": annotated,
      "sep-2243-server-validate-param-match": annotated,
      "sep-2243-server-reject-invalid-param-chars": annotated,
      "sep-2243-server-reject-param-mismatch": annotated,
    },
  },
  "http-header-validation": HTTP,
  "input-required-result-basic-elicitation": fails(
    "sep-2322-elicitation-incomplete",
    tool("test_input_required_result_elicitation"),
  ),
  "input-required-result-basic-list-roots": fails(
    "sep-2322-list-roots-incomplete",
    tool("test_input_required_result_list_roots"),
  ),
  "input-required-result-basic-sampling": fails(
    "sep-2322-sampling-incomplete",
    tool("test_input_required_result_sampling"),
  ),
  "input-required-result-capability-check": fails(
    "sep-2322-respect-client-capabilities",
    tool("test_input_required_result_capabilities"),
  ),
  "input-required-result-ignore-extra-params": fails(
    "sep-2322-ignore-unexpected-params",
    tool("test_input_required_result_elicitation"),
  ),
  "input-required-result-missing-input-response": fails(
    "sep-2322-missing-response-rerequests",
    tool("test_input_required_result_elicitation"),
  ),
  "input-required-result-multi-round": fails("sep-2322-multi-round-r1", tool("test_input_required_result_multi_round")),
  "input-required-result-multiple-input-requests": fails(
    "sep-2322-multiple-inputs-incomplete",
    tool("test_input_required_result_multiple_inputs"),
  ),
  "input-required-result-non-tool-request": fails("sep-2322-non-tool-incomplete", prompts),
  "input-required-result-request-state": fails(
    "sep-2322-request-state-incomplete",
    tool("test_input_required_result_request_state"),
  ),
  "input-required-result-result-type": fails(
    "sep-2322-result-type-included",
    tool("test_input_required_result_elicitation"),
  ),
  "input-required-result-tampered-state": fails(
    "sep-2322-reject-tampered-state",
    tool("test_input_required_result_tampered_state"),
  ),
  "input-required-result-unsupported-methods": APPLIES,
  "input-required-result-validate-input": { vacuous: anyErrorPasses },
  "sep-2164-resource-not-found": {
    fails: { "sep-2164-error-code": resources, "sep-2164-data-uri": resources },
  },
  "server-stateless": {
    fails: {
      "sep-2575-server-rejects-undeclared-capability": tool("test_missing_capability"),
      "sep-2575-missing-capability-http-400": tool("test_missing_capability"),
      "sep-2575-http-server-no-independent-requests-on-stream": tool("test_streaming_elicitation"),
      "sep-2575-server-no-log-without-loglevel": tool("test_logging_tool"),
    },
  },
  "tools-call-error": fails("tools-call-error", tool("test_error_handling")),
  "tools-call-simple-text": fails("tools-call-simple-text", tool("test_simple_text")),
};

/** What is expected of each scenario that applies to a revision. */
export const SCENARIOS: Record<Revision, Record<string, Scenario>> = {
  "2025-11-25": { ...BOTH, ...UNTIL_2025_11_25 },
  "2026-07-28": { ...BOTH, ...SINCE_2026_07_28 },
};

/** Scenarios of extensions, by the beginning of their names. They are not run: a server need not have an extension. */
export const EXTENSIONS: Record<string, string> = {
  "sep-2640-skills-": "svc does not have the extension for skills",
  "tasks-": "svc does not have the extension for tasks",
};
