import { dereference, type Schema, validate } from '@cfworker/json-schema';
import { SURFACES, WEBHOOK_EVENTS } from '../../src/app.ts';
import { describeApi } from '../../src/http/openapi.ts';
import { compareSpecificity, matchesPath } from '../../src/http/paths.ts';
import { isTranslated } from '../../src/texts/errors/translate.ts';

interface DescribedResponse {
  content?: Record<string, { schema: Schema }>;
}

interface Operation {
  responses: Record<string, DescribedResponse | { $ref: string }>;
}

/** An answer as `callApi` returns it. */
interface CheckedAnswer {
  status: number;
  headers: Headers;
  body: unknown;
}

let description: ReturnType<typeof describeApi> | undefined;

/**
 * The schemas to which a `$ref` can refer, by address: those of the description's components. `addressesBySchema` adds the
 * addresses within each schema in use.
 */
let componentAddresses: SchemaAddresses | undefined;
const addressesBySchema = new Map<Schema, SchemaAddresses>();

type SchemaAddresses = ReturnType<typeof dereference>;

/** Returns the description that `/openapi.json` answers, without the addresses of the deployment. */
export function readApiDescription(): ReturnType<typeof describeApi> {
  description ??= describeApi(SURFACES, WEBHOOK_EVENTS, { version: 'test', consoleUrl: 'https://console.test' });
  return description;
}

/**
 * Checks an answer against the description of its route in `/openapi.json`: a declared status, the declared media type, and a
 * body of exactly the declared shape. @throws Error that names the route and what is wrong
 */
export function expectConformity(method: string, path: string, answer: CheckedAnswer): void {
  if (method === 'OPTIONS' || method === 'HEAD') return;
  const route = findRoute(method, path);
  if (!route) return;
  const problem = findProblem(route.operation, answer);
  if (problem) throw new Error(`${method} ${route.path} answered ${answer.status}, not as it is described: ${problem}`);
}

interface DescribedRoute {
  path: string;
  operation: Operation;
}

let routesByKey: Map<string, DescribedRoute[]> | undefined;

/** Returns the key of routes that can match a path: the same method and number of segments. */
const makeRoutesKey = (method: string, path: string) => `${method.toLowerCase()} ${path.split('/').length}`;

/** Returns the route that takes a path: literal segments go before parameters, as in the router. */
function findRoute(method: string, path: string): DescribedRoute | undefined {
  routesByKey ??= Map.groupBy(listRoutes(), (route) => makeRoutesKey(route.method, route.path));
  const pathname = path.split(/[?#]/)[0] as string;
  return routesByKey.get(makeRoutesKey(method, pathname))?.find((route) => matchesPath(route.path, pathname));
}

const listRoutes = (): (DescribedRoute & { method: string })[] =>
  Object.entries(readApiDescription().paths ?? {})
    .toSorted(([a], [b]) => compareSpecificity(a, b))
    .flatMap(([path, item]) =>
      Object.entries(item as Record<string, Operation>).map(([method, operation]) => ({ method, path, operation })),
    );

function findProblem({ responses }: Operation, { status, headers, body }: CheckedAnswer): string | undefined {
  const describedResponse = responses[String(status)] ?? (status >= 400 ? responses.default : undefined);
  if (!describedResponse)
    return `list the failure in the contract's \`fails\`: its statuses are ${Object.keys(responses)}\n${makeExcerpt(body)}`;
  const response = resolveReference(describedResponse);
  if (!response.content) return body === '' ? undefined : `a body: ${makeExcerpt(body)}`;
  const mediaType = headers.get('content-type')?.split(';')[0] ?? 'none';
  const declaredMedia = response.content[mediaType];
  if (!declaredMedia) return `the media type is ${mediaType}`;
  const mismatches = declaredMedia.schema.format === 'binary' ? [] : findMismatches(body, declaredMedia.schema);
  if (mismatches.length === 0)
    return status >= 400 ? findUntranslated(body as ErrorBody, headers.get('content-language')) : undefined;
  const advice = status >= 400 ? "list the failure in the contract's `fails`: " : '';
  return `${advice}${mismatches.join('\n')}\n${makeExcerpt(body)}`;
}

interface ErrorBody {
  error?: string;
  error_code?: string;
  message?: string;
  /** The message of an error in SCIM, in place of `message`. */
  detail?: string;
  status?: string;
  details?: unknown;
}

/** Errors whose messages come from databases and are not translated. */
const UNTRANSLATED_CODES = ['DB_QUERY_ERROR', 'DbQueryError'];
/** Matches how every English sentence about a field begins, after the quoted name in it. */
const ENGLISH_PATTERN = /^("[^"]*" )?(must|is|has|have|cannot|needs?|takes|holds|send|does) /;

/** Returns the sentences of an error that are not in the language that the error says it is in. */
function findUntranslated(
  { error, error_code: code, status, detail, message = detail, details }: ErrorBody,
  language: string | null,
) {
  if (message === undefined || UNTRANSLATED_CODES.includes(code ?? error ?? '')) return undefined;
  const fieldMessages = Array.isArray(details) ? details.map((listedDetail) => String(listedDetail.message)) : [];
  // That of too many requests has two sentences, and that of a directory one for each field.
  const hasComposedMessage =
    error === 'RateLimitExceeded' || (detail !== undefined && (status === '429' || fieldMessages.length > 0));
  const sentences = hasComposedMessage ? fieldMessages : [...fieldMessages, message];
  const untranslated = sentences.filter((text) =>
    language === 'en' ? !isTranslated(text) : ENGLISH_PATTERN.test(text),
  );
  return untranslated.length > 0 ? `texts/errors has no other language for ${JSON.stringify(untranslated)}` : undefined;
}

/** Returns the mismatches between a value and a schema of the description. */
export function findMismatches(value: unknown, schema: Schema): string[] {
  const { errors } = validate(value, schema, '2020-12', readAddresses(schema), false);
  return errors.map(({ instanceLocation, error }) => `${instanceLocation} ${error}`);
}

function resolveReference(response: DescribedResponse | { $ref: string }): DescribedResponse {
  if (!('$ref' in response)) return response;
  const name = response.$ref.split('/').at(-1) as string;
  return readApiDescription().components?.responses?.[name] as DescribedResponse;
}

function readAddresses(schema: Schema): SchemaAddresses {
  componentAddresses ??= dereference({ components: readApiDescription().components } as Schema);
  const knownAddresses =
    addressesBySchema.get(schema) ?? Object.assign(Object.create(componentAddresses), dereference(schema));
  addressesBySchema.set(schema, knownAddresses);
  return knownAddresses;
}

const makeExcerpt = (body: unknown): string => JSON.stringify(body)?.slice(0, 2_000) ?? 'nothing';
