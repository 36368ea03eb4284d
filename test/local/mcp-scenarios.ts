/** A feature that the MCP server does not have, and the parts of the official suite that require it. */
export interface MissingFeature {
  title: string;
  reason: string;
  /** Names of scenarios that do not pass; `scenario: check` where only that check does not pass. */
  scenarios: readonly string[];
}

/** All parts of the official suite, `@modelcontextprotocol/conformance`, that do not pass; `docs/mcp.md` lists them, too. */
export const MISSING_FEATURES: readonly MissingFeature[] = [
  {
    title: 'prompts',
    reason: 'the server has none',
    scenarios: [
      'prompts-list',
      'prompts-get-simple',
      'prompts-get-with-args',
      'prompts-get-embedded-resource',
      'prompts-get-with-image',
      'input-required-result-non-tool-request',
      'caching: sep-2549-prompts-list-caching-hints',
    ],
  },
  {
    title: 'resources',
    reason: 'the server has none: tools read the data',
    scenarios: [
      'resources-list',
      'resources-read-text',
      'resources-read-binary',
      'resources-templates-read',
      'caching: sep-2549-resources-list-caching-hints',
      'caching: sep-2549-resources-templates-list-caching-hints',
    ],
  },
  {
    title: 'subscriptions',
    reason: 'there are no resources to subscribe to',
    scenarios: ['resources-subscribe', 'resources-unsubscribe'],
  },
  {
    title: 'completion',
    reason: 'it completes arguments of prompts and of templates of resources',
    scenarios: ['completion-complete'],
  },
  {
    title: 'logging',
    reason: 'tools log to the operator alone',
    scenarios: [
      'logging-set-level',
      'tools-call-with-logging',
      'server-stateless: sep-2575-server-no-log-without-loglevel',
    ],
  },
  {
    title: 'sampling',
    reason: 'no tool asks the client’s model',
    scenarios: ['tools-call-sampling', 'input-required-result-basic-sampling'],
  },
  {
    title: 'elicitation',
    reason: 'no tool asks the person, nor for more than its arguments',
    scenarios: [
      'tools-call-elicitation',
      'elicitation-sep1034-defaults',
      'elicitation-sep1330-enums',
      'input-required-result-basic-elicitation',
      'input-required-result-basic-list-roots',
      'input-required-result-request-state',
      'input-required-result-multiple-input-requests',
      'input-required-result-multi-round',
      'input-required-result-result-type',
      'input-required-result-tampered-state',
      'input-required-result-capability-check',
      'server-stateless: sep-2575-server-rejects-undeclared-capability',
      'server-stateless: sep-2575-missing-capability-http-400',
      'server-stateless: sep-2575-http-server-no-independent-requests-on-stream',
    ],
  },
  {
    title: 'tasks',
    reason: 'each call is answered at once',
    scenarios: [
      'tasks-lifecycle',
      'tasks-capability-negotiation',
      'tasks-wire-fields',
      'tasks-request-state-removal',
      'tasks-mrtr-input',
      'tasks-request-headers',
      'tasks-dispatch-and-envelope',
      'tasks-required-task-error',
      'tasks-mrtr-composition',
    ],
  },
  {
    title: 'example tools',
    reason: 'the suite’s own, by their names or by what they declare',
    scenarios: [
      'tools-call-simple-text',
      'tools-call-image',
      'tools-call-audio',
      'tools-call-embedded-resource',
      'tools-call-mixed-content',
      'tools-call-error',
      'tools-call-with-progress',
      'json-schema-2020-12',
      'http-custom-header-server-validation',
    ],
  },
];

/** All scenarios of the official suite for an authorization server. */
export const AUTHORIZATION_SCENARIOS: readonly string[] = [
  'authorization-server-metadata-endpoint',
  'authorization-code-grant',
];
