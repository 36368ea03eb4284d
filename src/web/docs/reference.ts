/** The parts of an OpenAPI document that are read here. */
export interface ApiDocument {
  openapi: string;
  info: { title: string; version: string };
  servers: unknown[];
  'x-tagGroups': { name: string; description: string; tags: string[] }[];
  paths: Record<string, Record<string, OperationObject>>;
  webhooks: Record<string, Record<string, OperationObject>>;
  components: Record<string, Record<string, unknown>>;
}

export interface OperationObject {
  operationId: string;
  summary: string;
  description?: string;
  tags: [string];
  security?: Record<string, unknown>[];
  parameters?: { name: string; in: string; required?: boolean; description?: string; example?: unknown }[];
  responses: Record<string, { content?: Record<string, { example?: unknown }> }>;
  requestBody?: { content: Record<string, { example?: unknown }> };
  'x-permission'?: string;
}

export interface Operation {
  id: string;
  /** The HTTP method in capitals. */
  method: string;
  /** The request's path; for a webhook event, its type. */
  path: string;
  /** True for a webhook event: a request that the API sends to endpoints, not one that it receives. */
  isEvent: boolean;
  summary: string;
  tag: string;
  /** All words by which the operation can be found, in lower case. */
  searchText: string;
  object: OperationObject;
}

export const listOperations = ({ paths, webhooks }: ApiDocument): Operation[] => [
  ...readOperations(paths, false),
  ...readOperations(webhooks, true),
];

const readOperations = (items: ApiDocument['paths'], isEvent: boolean): Operation[] =>
  Object.entries(items).flatMap(([path, item]) =>
    Object.entries(item).map(([method, object]) => {
      const { operationId: id, summary, description = '', tags } = object;
      const searchText = [method, path, summary, description, id, ...tags, object['x-permission'] ?? '']
        .join(' ')
        .toLowerCase();
      return { id, method: method.toUpperCase(), path, isEvent, summary, tag: tags[0], searchText, object };
    }),
  );

/** Extracts a document with only one operation, and the components that it refers to. */
export function extractOperation(document: ApiDocument, { method, path, object }: Operation): object {
  const { openapi, info, servers, components } = document;
  const keptComponents: Record<string, Record<string, unknown>> = { securitySchemes: components.securitySchemes ?? {} };
  const seenComponents = new Set<string>();
  const pendingParts: unknown[] = [object];
  for (let pendingPart = pendingParts.pop(); pendingPart !== undefined; pendingPart = pendingParts.pop()) {
    for (const [, kind = '', name = ''] of JSON.stringify(pendingPart).matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)) {
      if (seenComponents.has(`${kind}/${name}`)) continue;
      seenComponents.add(`${kind}/${name}`);
      const component = components[kind]?.[name];
      keptComponents[kind] = { ...keptComponents[kind], [name]: component };
      pendingParts.push(component);
    }
  }
  return { openapi, info, servers, paths: { [path]: { [method.toLowerCase()]: object } }, components: keptComponents };
}
