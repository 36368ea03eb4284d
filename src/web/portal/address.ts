/** The dashboard that the portal shows, as the address says after `#`; undefined where the portal shows its list. */
export interface DashboardLocation {
  id: string;
  contextId: string;
  /** The filter values that the viewer chose. */
  query: URLSearchParams;
}

/** Formats a dashboard's address: `#/{dashboard id}/{context id}?{filters}`. */
export const formatAddress = ({ id, contextId, query }: DashboardLocation): string =>
  `#/${encodeURIComponent(id)}/${encodeURIComponent(contextId)}${query.size > 0 ? `?${query}` : ''}`;

/** Parses the dashboard in an address; undefined for any other address. */
export function parseAddress(hash: string): DashboardLocation | undefined {
  const [, id, contextId, query] = /^#\/([\w-]+)\/([\w-]+)(?:\?(.*))?$/.exec(hash) ?? [];
  return id && contextId ? { id, contextId, query: new URLSearchParams(query) } : undefined;
}
