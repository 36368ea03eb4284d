/** The observability settings of wrangler under which the platform stores our own logs, and nothing that holds an address. */
export const OBSERVABILITY_WITHOUT_ADDRESSES = {
  logs: { invocation_logs: false },
  traces: { enabled: false },
  issues: { enabled: false },
};
