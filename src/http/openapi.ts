import { z } from 'zod';
import {
  type CreateDocumentOptions,
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
} from 'zod-openapi';
import { invalidInput } from '../kernel/failure.ts';
import { getActionEntry } from '../permissions/actions.ts';
import { changeOfAccessView } from './dry-run.ts';
import { type Contract, type Endpoint, getAction, type RouteAccess } from './endpoint.ts';
import { EXAMPLES, type Example } from './examples.ts';
import { preconditionFailed, takesIdempotencyKey } from './failures.ts';
import { makeFailureResponses, makeRawContent, makeRawResponse } from './openapi-failures.ts';
import { listParameters } from './paths.ts';
import { getDeclaredQuery } from './query.ts';
import { isTokenAccess } from './request-checks.ts';
import { type Credential, getMediaType, type Surface } from './surface.ts';
import { findVersionedGet } from './versions.ts';
import { findReadingContracts, makeResponseSchema } from './written-records.ts';

/** Surface with the endpoints that are mounted on it. */
export interface SurfaceEndpoints {
  surface: Surface;
  endpoints: Endpoint[];
  /** Endpoints by concept, such as `Users`. */
  concepts: Readonly<Record<string, Endpoint[]>>;
}

export const makeSurfaceEndpoints = (
  surface: Surface,
  concepts: Readonly<Record<string, Endpoint[]>>,
): SurfaceEndpoints => ({
  surface,
  concepts,
  endpoints: Object.values(concepts).flat(),
});

const SECURITY_SCHEMES = {
  signature: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description:
      '`HMAC {access_key}:{signature}`, together with `x-date`, `x-nonce` and `x-content-sha256`. The signature is the hex HMAC-SHA256, under the secret key, of seven lines joined by newlines: `HMAC-SHA256`, the method, the path, the query without `?`, and the values of `x-date`, `x-nonce` and `x-content-sha256` (the hex SHA-256 of the body).',
  },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'Session token of a person, service token of a service account, or access token of a program that somebody let in.',
  },
  external: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'Access token of a person from outside the company, from `POST /api/v1/share-auth/verify`.',
  },
  directory: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key of a service account and its secret, `sa_…:SECRET`; or a service token.',
  },
  operator: { type: 'http', scheme: 'bearer', description: 'The platform operator’s token.' },
} as const;

const API_INTRODUCTION =
  'Every answer carries `x-correlation-id`, and `X-RateLimit-Limit`, `-Remaining` and `-Reset` (Unix time in seconds) of the ' +
  'limit with the fewest requests left. Errors are worded in English, Portuguese or Spanish, by `Accept-Language`; programs tell ' +
  'them apart by their codes, and what is wrong with a field by `reason` and `limits`. The examples are requests that were really made; secrets in them are not shown, and long lists are cut.';

const ETAG_SCHEMA = z
  .string()
  .meta({ description: 'The version of the resource. It changes whenever the resource does.' });
const IF_NONE_MATCH_SCHEMA = z.string().optional().meta({
  description: 'Versions that the client already has. If the resource still has one of them, the answer is 304.',
});
const IF_MATCH_SCHEMA = z.string().optional().meta({
  description:
    'The version that the change is based on, from the `ETag` of the GET. If the resource has changed since, the answer is 412.',
});
const NOT_MODIFIED_RESPONSE = {
  id: 'not-modified',
  description: 'The resource still has a version that `If-None-Match` names; there is no body.',
  headers: z.object({ ETag: ETAG_SCHEMA }),
};

/** Facts about the deployment that a description is for. */
interface Deployment {
  version: string;
  /** Address of the console, where users of the API find its operators. */
  consoleUrl: string;
}

/** Event that is sent to webhook endpoints of a company. */
export interface SentEvent {
  type: string;
  description: string;
  payload: z.ZodType;
  /** Example of the event's `data`. */
  example: object;
}

const EVENT_TAG = 'Webhook events';

/** Describes every endpoint and event by OpenAPI 3.1, from the declarations that route, validate and authorize. */
export function describeApi(
  surfaces: SurfaceEndpoints[],
  events: readonly SentEvent[],
  { version, consoleUrl }: Deployment,
) {
  const paths: ZodOpenApiPathsObject = {};
  for (const { surface, endpoints, concepts } of surfaces) {
    for (const [concept, about] of Object.entries(concepts)) {
      for (const { contract } of about) {
        paths[contract.path] = {
          ...paths[contract.path],
          [contract.method]: describeOperation(surface, formatTag(surface, concept), contract, endpoints),
        };
      }
    }
  }
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'Data Console API',
        version,
        description: API_INTRODUCTION,
        contact: { name: 'Data Console', url: consoleUrl },
      },
      tags: [
        ...surfaces.flatMap(({ surface, concepts }) =>
          Object.keys(concepts).map((concept) => ({
            name: formatTag(surface, concept),
            description: `${concept}: ${surface.title}.`,
          })),
        ),
        { name: EVENT_TAG, description: 'What webhook endpoints are sent, as Standard Webhooks says.' },
      ],
      'x-tagGroups': [
        ...surfaces.map(({ surface, concepts }) => ({
          name: surface.title,
          description: surface.description,
          tags: Object.keys(concepts).map((concept) => formatTag(surface, concept)),
        })),
        { name: EVENT_TAG, description: 'What webhook endpoints are sent.', tags: [EVENT_TAG] },
      ],
      paths,
      webhooks: Object.fromEntries(events.map((event) => [event.type, { post: describeEventRequest(event) }])),
      components: { securitySchemes: SECURITY_SCHEMES },
    },
    { override: makeGeneratorOverride(), allowEmptySchema: { default: { input: true } } },
  );
  for (const { contract } of surfaces.flatMap(({ endpoints }) => endpoints)) {
    for (const parameter of document.paths?.[contract.path]?.[contract.method]?.parameters ?? []) {
      if ('name' in parameter) Object.assign(parameter, findExample(contract, parameter));
    }
  }
  return document;
}

const EVENT_HEADERS_SCHEMA = z.object({
  'webhook-id': z.string().meta({ description: 'The same at each try: what comes twice has it, too.' }),
  'webhook-timestamp': z.string().meta({ description: 'When this try was made, in seconds since the epoch.' }),
  'webhook-signature': z.string().meta({
    description:
      '`v1,` and the HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}` in Base64, once for each live secret, separated by spaces.',
  }),
});

/** Describes the request by which an event is sent. */
function describeEventRequest({ type, description, payload, example }: SentEvent): ZodOpenApiOperationObject {
  const name = type.replaceAll(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return {
    operationId: `receive${name}`,
    tags: [EVENT_TAG],
    summary: `Receive ${type}`,
    description,
    security: [],
    requestParams: { header: EVENT_HEADERS_SCHEMA },
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: payload,
          example: { type, timestamp: '2026-01-31T12:00:00.000Z', data: example },
        },
      },
    },
    responses: {
      '204': { description: 'Taken: any 2xx within 15 seconds.' },
      '410': { description: 'Nobody listens any more: the endpoint is disabled.' },
    },
  };
}

/** Formats the tag of a concept on a surface: two surfaces can have the same concept. */
const formatTag = ({ title }: Surface, concept: string): string => `${title}: ${concept}`;

type Override = NonNullable<Extract<CreateDocumentOptions['override'], (context: never) => void>>;

/** Makes an override that adapts zod's schemas for generators of clients. */
function makeGeneratorOverride(): Override {
  const defaults = new Map<string, string>();
  return (context) => {
    const { jsonSchema, io, path } = context;
    // The format says what a time is; zod's pattern for it is not read alike by all languages.
    if (jsonSchema.format === 'date-time' || jsonSchema.format === 'date') delete jsonSchema.pattern;
    // Other members are refused. What was read and is sent back is taken too, which a schema cannot say.
    if (io === 'input' && jsonSchema.properties) jsonSchema.additionalProperties ??= false;
    // Of a parameter, the path ends with its own name. Some clients must send each member of a body that has a default.
    if (io === 'input' && path.length > 2) describeDefault(jsonSchema, path.join('/'), defaults);
  };
}

/**
 * Adds the default of a member to its description. A schema that wraps another one is visited later, and has a
 * description of its own.
 * @param defaults the sentences so far, by path
 */
function describeDefault(
  schema: Parameters<Override>[0]['jsonSchema'],
  memberPath: string,
  defaults: Map<string, string>,
): void {
  if (schema.default !== undefined) {
    if (!isEmptyDefault(schema.default)) defaults.set(memberPath, `\`${toText(schema.default)}\` when not sent.`);
    delete schema.default;
  }
  const earlierSentence = defaults.get(memberPath);
  if (earlierSentence === undefined || schema.description?.endsWith(earlierSentence)) return;
  schema.description = [schema.description, earlierSentence].filter(Boolean).join(' ');
}

const toText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Returns true if the default means the same as leaving the member out. */
const isEmptyDefault = (value: unknown): boolean => ['null', 'false', '""', '[]', '{}'].includes(JSON.stringify(value));

interface Parameter {
  name: string;
  in: string;
  schema?: object;
}

/** Finds the value of a parameter in a recorded request. An address has texts only, for numbers too. */
function findExample(contract: Contract, { name, in: location, schema }: Parameter): { example?: unknown } {
  const { params, query } = findRecordedExample(contract) ?? {};
  const recordedValue = location === 'path' ? params?.[name] : query?.[name];
  if (recordedValue === undefined) return {};
  return { example: schema && 'type' in schema && schema.type === 'integer' ? Number(recordedValue) : recordedValue };
}

const findRecordedExample = ({ method, path }: Contract): Example | undefined =>
  EXAMPLES[`${method.toUpperCase()} ${path}`];

/** Describes an operation. @param endpoints all endpoints of the surface */
function describeOperation(
  surface: Surface,
  tag: string,
  contract: Contract,
  endpoints: readonly Endpoint[],
): ZodOpenApiOperationObject {
  const takesVersion = findVersionedGet(contract, endpoints) !== undefined;
  const { body: sentBody, answer } = findRecordedExample(contract) ?? {};
  const query = getDeclaredQuery(contract);
  const parameters = listParameters(contract.path).map((name) => [name, z.string()] as const);
  return {
    operationId: contract.operationId,
    tags: [tag],
    summary: contract.summary,
    description: contract.description,
    ...describePermission(contract.access),
    ...(contract.only && { 'x-only': contract.only }),
    security: describeSecurity(contract.access, contract.credential ?? surface.credential),
    requestParams: {
      ...(parameters.length > 0 && { path: z.object(Object.fromEntries(parameters)) }),
      ...(query && { query: addOpenParameters(query as z.ZodObject) }),
      ...describeHeaders({
        ...(takesIdempotencyKey(contract) && IDEMPOTENCY_KEY_SCHEMA.shape),
        ...(contract.versionDeclaration && { 'If-None-Match': IF_NONE_MATCH_SCHEMA }),
        ...(takesVersion && { 'If-Match': IF_MATCH_SCHEMA }),
        ...describeHeaderSchemas(contract.protocol?.requestHeaders),
      }),
    },
    ...((contract.body ?? contract.form ?? contract.raw) && {
      requestBody: {
        // A body of optional fields alone is optional itself.
        required: !contract.body?.safeParse({}).success,
        content: {
          ...(contract.body && {
            [getMediaType(surface)]: { schema: contract.body, ...(sentBody !== undefined && { example: sentBody }) },
          }),
          ...(contract.form && { 'multipart/form-data': { schema: contract.form } }),
          ...Object.fromEntries(Object.entries(contract.raw ?? {}).map(([type, schema]) => [type, { schema }])),
        },
      },
    }),
    responses: {
      ...(contract.dryRun && { '200': DRY_RUN_PARAMETER }),
      [String(contract.returns.status)]: {
        ...describeSuccess(getMediaType(surface), contract, findReadingContracts(contract, endpoints), answer),
        ...(contract.versionDeclaration && { headers: z.object({ ETag: ETAG_SCHEMA }) }),
        ...(contract.protocol && { headers: z.object(describeHeaderSchemas(contract.protocol.successHeaders)) }),
      },
      ...(contract.acknowledgedRequests && { '202': { description: contract.acknowledgedRequests } }),
      ...(contract.versionDeclaration && { '304': NOT_MODIFIED_RESPONSE }),
      ...makeFailureResponses(surface, contract, takesVersion ? [preconditionFailed, invalidInput] : []),
    },
  };
}

const describeHeaders = (headers: Record<string, z.ZodType>) =>
  Object.keys(headers).length > 0 ? { header: z.object(headers) } : {};

const describeHeaderSchemas = (headers: Readonly<Record<string, string>> = {}): Record<string, z.ZodType> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, z.string().optional().meta({ description })]),
  );

/** Adds parameters whose names depend on the data: OpenAPI describes them as the fields of an object. */
function addOpenParameters(query: z.ZodObject): z.ZodObject {
  const catchall = query.def.catchall as z.ZodType | undefined;
  if (catchall === undefined || catchall instanceof z.ZodNever) return query;
  const { description } = catchall.meta() ?? {};
  const fields = z.record(z.string(), catchall).optional();
  return query.extend({ parameters: fields.meta({ description, param: { style: 'form', explode: true } }) });
}

const IDEMPOTENCY_KEY_SCHEMA = z.object({
  'Idempotency-Key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/)
    .optional()
    .meta({
      id: 'idempotencyKey',
      description:
        'Makes the request safe to repeat: for 24 hours, a request with the same key, path, query and body gets the first answer again, with ' +
        '`Idempotency-Replayed: true`, and does nothing else; 409 once what the caller may do has changed. Cannot be used with a form.',
    }),
});

const DRY_RUN_PARAMETER = {
  description: 'What it would change, where `dry_run=true` asks for that.',
  content: { 'application/json': { schema: changeOfAccessView } },
};

function describeSuccess(
  mediaType: string,
  contract: Contract,
  readingContracts: readonly Contract[],
  example: unknown,
) {
  const { returns } = contract;
  const wholeSchema = 'body' in returns ? returns.body : 'json' in returns ? returns.json : undefined;
  if (wholeSchema) {
    const ownSchema = makeResponseSchema(wholeSchema, contract, readingContracts);
    const schema = contract.dryRun && returns.status === 200 ? z.union([ownSchema, changeOfAccessView]) : ownSchema;
    const otherMediaTypes = 'json' in returns ? returns.mediaTypes : [];
    const content = {
      [mediaType]: { schema, ...(example !== undefined && { example }) },
      ...makeRawContent(otherMediaTypes),
    };
    return { description: 'Success.', content };
  }
  return 'raw' in returns ? makeRawResponse(returns) : { description: 'Done; there is no body.' };
}

/** Describes the permission that a caller needs, and the legacy permission that also allows the action. */
function describePermission(access: RouteAccess): { 'x-permission'?: string; 'x-legacy-permission'?: string } {
  if (typeof access === 'object' && 'decidedBy' in access) return { 'x-permission': access.decidedBy };
  if (access === 'administrator') return { 'x-permission': access };
  const action = getAction(access);
  if (action === null) return {};
  const { legacyVerbs: legacy, types } = getActionEntry(action);
  const alias = legacy?.map((verb) => `${types[0]}:${verb}`).join(' + ');
  return { 'x-permission': action, ...(alias && { 'x-legacy-permission': alias }) };
}

/** Security schemes by which each kind of credential may be sent. */
const SCHEMES_BY_CREDENTIAL: Record<Credential, (keyof typeof SECURITY_SCHEMES)[]> = {
  signature: ['signature'],
  bearer: ['bearer'],
  external: ['external', 'bearer'],
  machine: ['signature', 'bearer'],
  agent: ['bearer'],
  directory: ['directory'],
};

function describeSecurity(access: RouteAccess, credential: Credential): Record<string, string[]>[] {
  if (access === 'public' || isTokenAccess(access)) return [];
  if (access === 'operator') return [{ operator: [] }];
  const schemeRequirements = SCHEMES_BY_CREDENTIAL[credential].map((schemeName) => ({ [schemeName]: [] }));
  return access === 'optional' || access === 'pending' ? [...schemeRequirements, {}] : schemeRequirements;
}
