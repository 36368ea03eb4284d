import { type Schema, Validator } from '@cfworker/json-schema';
import { SURFACES } from '../../src/app.ts';
import { describe } from '../../src/http/openapi.ts';
import { bySpecificity, matchesPath } from '../../src/http/paths.ts';

interface Response {
  content?: Record<string, { schema: Schema }>;
}

interface Operation {
  responses: Record<string, Response | { $ref: string }>;
}

/** An answer as `call` reads it. */
interface Answered {
  status: number;
  headers: Headers;
  body: unknown;
}

let description: ReturnType<typeof describe> | undefined;
const validators = new Map<Schema, Validator>();

/** What `/openapi.json` answers, but for the address it is served at. */
export function openApi(): ReturnType<typeof describe> {
  description ??= describe(SURFACES, 'test');
  return description;
}

/**
 * Holds an answer against what `/openapi.json` promises of its route: a status that is declared, the declared media type,
 * and a body of exactly the declared shape.
 * @throws Error that names the route and what is wrong
 */
export function mustConform(method: string, path: string, answer: Answered): void {
  if (method === 'OPTIONS' || method === 'HEAD') return;
  const route = routeOf(method, path);
  if (!route) return;
  const problem = problemOf(route.operation, answer);
  if (problem) throw new Error(`${method} ${route.path} answered ${answer.status}, not as it is described: ${problem}`);
}

/** The operation that takes a path: literal segments go before parameters, as in the router. */
function routeOf(method: string, path: string): { path: string; operation: Operation } | undefined {
  const pathname = path.split(/[?#]/)[0] as string;
  const [found] = Object.entries(openApi().paths ?? {})
    .filter(([template, item]) => method.toLowerCase() in item && matchesPath(template, pathname))
    .toSorted(([a], [b]) => bySpecificity(a, b));
  if (!found) return undefined;
  const [template, item] = found;
  return { path: template, operation: (item as Record<string, Operation>)[method.toLowerCase()] as Operation };
}

function problemOf({ responses }: Operation, { status, headers, body }: Answered): string | undefined {
  const named = responses[String(status)] ?? (status >= 400 ? responses.default : undefined);
  if (!named)
    return `list the failure in the contract's \`fails\`: its statuses are ${Object.keys(responses)}\n${excerpt(body)}`;
  const response = resolved(named);
  if (!response.content) return body === '' ? undefined : `a body: ${excerpt(body)}`;
  const mediaType = headers.get('content-type')?.split(';')[0] ?? 'none';
  const declared = response.content[mediaType];
  if (!declared) return `the media type is ${mediaType}`;
  const { valid, errors } = validatorOf(declared.schema).validate(body);
  if (valid) return undefined;
  const found = errors.map(({ instanceLocation, error }) => `${instanceLocation} ${error}`);
  const advice = status >= 400 ? "list the failure in the contract's `fails`: " : '';
  return `${advice}${found.join('\n')}\n${excerpt(body)}`;
}

function resolved(response: Response | { $ref: string }): Response {
  if (!('$ref' in response)) return response;
  const name = response.$ref.split('/').at(-1) as string;
  return openApi().components?.responses?.[name] as Response;
}

function validatorOf(schema: Schema): Validator {
  const known = validators.get(schema);
  if (known) return known;
  const validator = new Validator({ ...schema, components: openApi().components as Schema }, '2020-12', false);
  validators.set(schema, validator);
  return validator;
}

const excerpt = (body: unknown): string => JSON.stringify(body)?.slice(0, 2_000) ?? 'nothing';
