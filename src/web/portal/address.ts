/** A dashboard in the portal; undefined stands for the list. It is the part of the page's address after `#`. */
export interface Place {
  id: string;
  contextId: string;
  /** The values that the viewer chose in the filters. */
  query: URLSearchParams;
}

/** `#/{dashboard id}/{context id}?{filters}` */
export const formatAddress = ({ id, contextId, query }: Place): string =>
  `#/${encodeURIComponent(id)}/${encodeURIComponent(contextId)}${query.size > 0 ? `?${query}` : ''}`;

/** Parses the place in an address; undefined for any other address. */
export function parsePlace(hash: string): Place | undefined {
  const [, id, contextId, query] = /^#\/([\w-]+)\/([\w-]+)(?:\?(.*))?$/.exec(hash) ?? [];
  return id && contextId ? { id, contextId, query: new URLSearchParams(query) } : undefined;
}
