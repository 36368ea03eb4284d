import { dereference, type Schema, validate } from '@cfworker/json-schema';
import { EVENTS, SURFACES } from '../../src/app.ts';
import { describeApi } from '../../src/http/openapi.ts';
import { compareSpecificity, matchesPath } from '../../src/http/paths.ts';
import { isTranslated } from '../../src/texts/errors/say.ts';

interface Response {
  content?: Record<string, { schema: Schema }>;
}

interface Operation {
  responses: Record<string, Response | { $ref: string }>;
}

/** An answer as `call` reads it. */
interface AnswerRead {
  status: number;
  headers: Headers;
  body: unknown;
}

let description: ReturnType<typeof describeApi> | undefined;

/** What `$ref`s point to: of the whole description, and of each schema used, itself included. */
let components: Addresses | undefined;
const addressesBySchema = new Map<Schema, Addresses>();

type Addresses = ReturnType<typeof dereference>;

/** What `/openapi.json` answers, but for the addresses of the deployment. */
export function readApiDescription(): ReturnType<typeof describeApi> {
  description ??= describeApi(SURFACES, EVENTS, { version: 'test', consoleUrl: 'https://console.test' });
  return description;
}

/**
 * Holds an answer against what `/openapi.json` promises of its route: a status that is declared, the declared media type,
 * and a body of exactly the declared shape.
 * @throws Error that names the route and what is wrong
 */
export function requireConformity(method: string, path: string, answer: AnswerRead): void {
  if (method === 'OPTIONS' || method === 'HEAD') return;
  const route = findRoute(method, path);
  if (!route) return;
  const problem = findProblem(route.operation, answer);
  if (problem) throw new Error(`${method} ${route.path} answered ${answer.status}, not as it is described: ${problem}`);
}

interface Route {
  path: string;
  operation: Operation;
}

let routes: Map<string, Route[]> | undefined;

/** Only templates of as many segments can match. */
const makeRoutesKey = (method: string, path: string) => `${method.toLowerCase()} ${path.split('/').length}`;

/** The operation that takes a path: literal segments go before parameters, as in the router. */
function findRoute(method: string, path: string): Route | undefined {
  routes ??= Map.groupBy(listRoutes(), (route) => makeRoutesKey(route.method, route.path));
  const pathname = path.split(/[?#]/)[0] as string;
  return routes.get(makeRoutesKey(method, pathname))?.find((route) => matchesPath(route.path, pathname));
}

const listRoutes = (): (Route & { method: string })[] =>
  Object.entries(readApiDescription().paths ?? {})
    .toSorted(([a], [b]) => compareSpecificity(a, b))
    .flatMap(([path, item]) =>
      Object.entries(item as Record<string, Operation>).map(([method, operation]) => ({ method, path, operation })),
    );

function findProblem({ responses }: Operation, { status, headers, body }: AnswerRead): string | undefined {
  const named = responses[String(status)] ?? (status >= 400 ? responses.default : undefined);
  if (!named)
    return `list the failure in the contract's \`fails\`: its statuses are ${Object.keys(responses)}\n${excerpt(body)}`;
  const response = resolveReference(named);
  if (!response.content) return body === '' ? undefined : `a body: ${excerpt(body)}`;
  const mediaType = headers.get('content-type')?.split(';')[0] ?? 'none';
  const declared = response.content[mediaType];
  if (!declared) return `the media type is ${mediaType}`;
  const found = declared.schema.format === 'binary' ? [] : findMismatches(body, declared.schema);
  if (found.length === 0)
    return status >= 400 ? findUntranslated(body as ErrorBody, headers.get('content-language')) : undefined;
  const advice = status >= 400 ? "list the failure in the contract's `fails`: " : '';
  return `${advice}${found.join('\n')}\n${excerpt(body)}`;
}

interface ErrorBody {
  error?: string;
  error_code?: string;
  message?: string;
  /** In the place of a message, where directories ask. */
  detail?: string;
  status?: string;
  details?: unknown;
}

/** The words of databases stay as they are. */
const UNTRANSLATED_CODES = ['DB_QUERY_ERROR', 'DbQueryError'];
/** How every sentence about a field begins in English, the name of the thing in it aside. */
const ENGLISH = /^("[^"]*" )?(must|is|has|have|cannot|needs?|takes|holds|send|does) /;

/** What of an error is said in one language alone, by the language that it says it is in. */
function findUntranslated(
  { error, error_code: code, status, detail, message = detail, details }: ErrorBody,
  language: string | null,
) {
  if (message === undefined || UNTRANSLATED_CODES.includes(code ?? error ?? '')) return undefined;
  const ofFields = Array.isArray(details) ? details.map((each) => String(each.message)) : [];
  // That of too many requests has two sentences, and that of a directory one for each field.
  const hasMore = error === 'RateLimitExceeded' || (detail !== undefined && (status === '429' || ofFields.length > 0));
  const said = hasMore ? ofFields : [...ofFields, message];
  const bad = said.filter((text) => (language === 'en' ? !isTranslated(text) : ENGLISH.test(text)));
  return bad.length > 0 ? `texts/errors has no other language for ${JSON.stringify(bad)}` : undefined;
}

/** Where a value is not as a schema of the description says. */
export function findMismatches(value: unknown, schema: Schema): string[] {
  const { errors } = validate(value, schema, '2020-12', readAddresses(schema), false);
  return errors.map(({ instanceLocation, error }) => `${instanceLocation} ${error}`);
}

function resolveReference(response: Response | { $ref: string }): Response {
  if (!('$ref' in response)) return response;
  const name = response.$ref.split('/').at(-1) as string;
  return readApiDescription().components?.responses?.[name] as Response;
}

function readAddresses(schema: Schema): Addresses {
  components ??= dereference({ components: readApiDescription().components } as Schema);
  const known = addressesBySchema.get(schema) ?? Object.assign(Object.create(components), dereference(schema));
  addressesBySchema.set(schema, known);
  return known;
}

const excerpt = (body: unknown): string => JSON.stringify(body)?.slice(0, 2_000) ?? 'nothing';
