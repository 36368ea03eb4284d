import { signedRequest } from '../../examples/signing/sign.ts';
import { type BodyPath, listParts } from '../../test/contract/costly.ts';
import type { JsonSchema } from '../../test/contract/random/values.ts';
import type { System } from '../system.ts';

interface OpenApiDescription {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, JsonSchema> };
}

interface Operation {
  security: Record<string, unknown>[];
  requestBody?: { content: Record<string, { schema: JsonSchema }> };
}

/** A request's route and its credential: the first security scheme of the route's description, or `none`. */
export interface RequestTarget {
  method: string;
  path: string;
  credential: string;
}

export interface Route extends RequestTarget {
  name: string;
  /** Paths of all members of the body, by their dotted names. */
  bodyPaths: Map<string, BodyPath>;
}

/** Lists every route that takes a JSON body; path parameters are replaced by an id that no record has. */
export async function listRoutes({ baseUrl }: System): Promise<Route[]> {
  const { paths, components } = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as OpenApiDescription;
  const resolveReference = (partialSchema: JsonSchema): JsonSchema =>
    partialSchema.$ref
      ? (components.schemas[partialSchema.$ref.split('/').at(-1) as string] as JsonSchema)
      : partialSchema;
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { security, requestBody }]) => {
      const schema = requestBody?.content['application/json']?.schema;
      if (!schema) return [];
      const memberPaths = new Map(
        [...listParts(schema, resolveReference)].map(([bodyPath]) => [bodyPath.join('.'), bodyPath]),
      );
      const credential = Object.keys(security[0] ?? {})[0] ?? 'none';
      const pathWithId = path.replaceAll(/\{[^}]+\}/g, 'f'.repeat(24));
      return [
        {
          name: `${method.toUpperCase()} ${path}`,
          method: method.toUpperCase(),
          path: pathWithId,
          credential,
          bodyPaths: memberPaths,
        },
      ];
    }),
  );
}

/**
 * Makes a request to a route, with the credential that the route takes.
 * @param body JSON, which need not be valid for the route
 */
export async function makeRequest(system: System, route: RequestTarget, body: string, token: string) {
  const url = system.baseUrl + route.path;
  if (route.credential === 'signature')
    return signedRequest(system.serviceAccountKey, route.method, url, JSON.parse(body));
  const authorization = `Bearer ${route.credential === 'operator' ? system.operatorToken : token}`;
  return new Request(url, {
    method: route.method,
    headers: { 'content-type': 'application/json', ...(route.credential !== 'none' && { authorization }) },
    body,
  });
}
