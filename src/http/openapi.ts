import { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi';
import { type Access, actionOf, type Contract, type Endpoint } from './endpoint.ts';
import { isTokenAccess } from './guard.ts';
import type { Credential, Surface } from './surface.ts';

/** A surface with the endpoints that are mounted on it. */
export interface SurfaceEndpoints {
  surface: Surface;
  endpoints: Endpoint[];
}

const SECURITY_SCHEMES = {
  signature: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description:
      '`HMAC {access_key}:{signature}`, together with `x-date`, `x-nonce` and `x-content-sha256`. The README tells how to sign.',
  },
  bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'Session token of a person.' },
  external: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'Token of an outsider, from share-auth.',
  },
  operator: { type: 'http', scheme: 'bearer', description: 'PLATFORM_ADMIN_TOKEN.' },
} as const;

/** The OpenAPI 3.1 description of every endpoint, from the same declarations that route, validate and authorize. */
export function describe(surfaces: SurfaceEndpoints[], version: string, serverUrl: string) {
  const paths: ZodOpenApiPathsObject = {};
  for (const { surface, endpoints } of surfaces) {
    for (const { contract } of endpoints) {
      paths[contract.path] = { ...paths[contract.path], [contract.method]: operation(surface, contract) };
    }
  }
  return createDocument({
    openapi: '3.1.0',
    info: { title: 'Data Console API', version },
    servers: [{ url: serverUrl }],
    tags: surfaces.map(({ surface }) => ({ name: surface.title })),
    paths,
    components: { securitySchemes: SECURITY_SCHEMES },
  });
}

function operation(surface: Surface, contract: Contract): ZodOpenApiOperationObject {
  const parameters = [...contract.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name as string, z.string()] as const);
  return {
    operationId: operationId(contract),
    tags: [surface.title],
    summary: contract.summary,
    ...(contract.description && { description: contract.description }),
    ...permission(contract.access),
    security: security(contract.access, contract.credential ?? surface.credential),
    requestParams: {
      ...(parameters.length > 0 && { path: z.object(Object.fromEntries(parameters)) }),
      ...(contract.query && { query: contract.query as z.ZodObject }),
    },
    ...((contract.body ?? contract.form) && {
      requestBody: {
        required: true,
        content: {
          ...(contract.body && { 'application/json': { schema: contract.body } }),
          ...(contract.form && { 'multipart/form-data': { schema: contract.form } }),
        },
      },
    }),
    responses: {
      [String(contract.returns.status)]: success(contract),
      default: { description: 'A failure.', content: { 'application/json': { schema: surface.errorBody } } },
    },
  };
}

function success({ returns }: Contract) {
  const schema = 'body' in returns ? returns.body : 'json' in returns ? returns.json : undefined;
  if (schema) return { description: 'Success.', content: { 'application/json': { schema } } };
  return { description: 'raw' in returns ? returns.raw : 'Done; there is no body.' };
}

/** `GET /accounts/{id}` → `get_accounts_id`: stable, so that generated clients keep their names. */
const operationId = ({ method, path }: Contract): string =>
  `${method}_${path.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_|_$/g, '')}`;

function permission(access: Access): { 'x-permission'?: string } {
  if (typeof access === 'object' && 'decidedBy' in access) return { 'x-permission': access.decidedBy };
  if (access === 'administrator') return { 'x-permission': access };
  const action = actionOf(access);
  return action === null ? {} : { 'x-permission': action };
}

function security(access: Access, credential: Credential): Record<string, string[]>[] {
  if (access === 'public' || isTokenAccess(access)) return [];
  if (access === 'operator') return [{ operator: [] }];
  const ways: Record<string, string[]>[] =
    credential === 'external' ? [{ external: [] }, { bearer: [] }] : [{ [credential]: [] }];
  return access === 'optional' ? [...ways, {}] : ways;
}
