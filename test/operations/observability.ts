/** What the platform keeps of requests, in the words of wrangler: logs of our own, and nothing that holds an address. */
export const WITHOUT_ADDRESSES = {
  logs: { invocation_logs: false },
  traces: { enabled: false },
  issues: { enabled: false },
};
