/** Where in the portal a viewer is; undefined is the list. It stands behind the `#` of the page's address. */
export interface Place {
  id: string;
  contextId: string;
  /** What the viewer chose in the filters. */
  query: URLSearchParams;
}

/** `#/{dashboard id}/{context id}?{filters}` */
export function addressOf({ id, contextId, query }: Place): string {
  return `#/${encodeURIComponent(id)}/${encodeURIComponent(contextId)}${query.size > 0 ? `?${query}` : ''}`;
}

/** The place that an address tells, or undefined for any other address. */
export function placeOf(hash: string): Place | undefined {
  const [, id, contextId, query] = /^#\/([\w-]+)\/([\w-]+)(?:\?(.*))?$/.exec(hash) ?? [];
  return id && contextId ? { id, contextId, query: new URLSearchParams(query) } : undefined;
}
