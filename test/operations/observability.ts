/**
 * The observability settings of wrangler under which the platform stores our own log lines, and nothing that contains
 * an address.
 */
export const OBSERVABILITY_WITHOUT_ADDRESSES = {
  logs: { invocation_logs: false },
  traces: { enabled: false },
  issues: { enabled: false },
};
