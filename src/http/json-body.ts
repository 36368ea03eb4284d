import type { Context as HonoContext, HonoRequest, MiddlewareHandler } from 'hono';
import type { z } from 'zod';
import { parseExactJson } from '../kernel/exact-json.ts';
import { Failure, type FieldProblem, invalid, MAX_PROBLEMS } from '../kernel/failure.ts';
import { isRecord } from '../kernel/fields.ts';
import { NestedTooDeep } from '../kernel/json-walk.ts';
import { UNKNOWN_FIELD } from '../kernel/members.ts';
import { findIllFormedText, shorten } from '../kernel/text.ts';
import { readUnread, type UnreadList } from '../kernel/unread-json.ts';
import type { Contract } from './endpoint.ts';
import { malformedJson, notJson, tooDeep, tooManyNames, tooManyValues } from './failures.ts';
import { REPORT_INPUT_VALUES, sayIssue, selectFirstProblems } from './field-words.ts';
import { findExcess, type JsonBounds } from './json-bounds.ts';
import type { HttpEnv } from './mount.ts';

/**
 * The limits of a JSON body: a depth above any sensible value and far below that at which a parser or a database runs out of
 * stack; one value for eight bytes of the largest body; and more different names than any schema has or any sensible
 * user-defined object needs.
 */
export const JSON_BOUNDS: JsonBounds = { depth: 100, signs: 131_072, names: 10_000 };

/** The maximum number of characters of a problem's field, and of its message. */
const MAX_WORDS = 1000;

/** Compares bodies with the record of the path. */
export interface CompareRecord {
  /** Returns the problems of members of a body that its schema does not know. */
  unknownProblems(c: HonoContext<HttpEnv>, body: unknown): Promise<FieldProblem[]>;
  /** Returns a body without those of the named members whose values equal the record's; null where there are none. */
  withoutKept(c: HonoContext<HttpEnv>, body: unknown, names: readonly string[]): Promise<unknown>;
}

/** Reads and validates JSON bodies as the context's `body`. None is accepted wherever no field is required. */
export function readJson(
  { method, body: schema, exactNumbers, unread }: Contract,
  record: CompareRecord,
): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const value = unread
      ? await receiveUnread(c.req, unread)
      : await receiveJson(c.req, exactNumbers ? parseExactJson : parseText);
    const unknown = await record.unknownProblems(c, value);
    const changes = method === 'put' || method === 'patch';
    const parsed =
      schema && (await parseBody(schema, value, changes ? (names) => record.withoutKept(c, value, names) : null));
    if (parsed?.error && value === undefined && saysJson(c.req)) throw malformedJson();
    if (parsed?.error || unknown.length > 0) throw invalidBody(parsed?.error, unknown);
    c.set('body', parsed?.data);
    await next();
  };
}

/** Parses a body; of a change, without members that are as the record has them already, which need not fit. */
async function parseBody(
  schema: z.ZodType,
  value: unknown,
  withoutKept: ((names: readonly string[]) => Promise<unknown>) | null,
) {
  const parsed = await schema.safeParseAsync(value === undefined ? {} : value, REPORT_INPUT_VALUES);
  const names = new Set(parsed.error?.issues.map(({ path: [name] }) => String(name)));
  if (!withoutKept || !isRecord(value) || names.size === 0) return parsed;
  const rest = await withoutKept([...names]);
  return rest === null ? parsed : schema.safeParseAsync(rest, REPORT_INPUT_VALUES);
}

/** The failure of a body. A message can list names that were sent, and a path is made of them. */
export const invalidBody = (refused: Pick<z.ZodError, 'issues'> | undefined, unknown: FieldProblem[] = []): Failure =>
  invalid(
    selectFirstProblems(listProblems(refused?.issues ?? [], unknown), MAX_PROBLEMS).map(({ field, message }) => ({
      field: shorten(field, MAX_WORDS),
      message: shorten(message, MAX_WORDS),
    })),
  );

/** One by one: a body of a mebibyte may be wrong in some hundred thousand places. */
function* listProblems(issues: readonly z.core.$ZodIssue[], unknown: readonly FieldProblem[]): Generator<FieldProblem> {
  yield* unknown;
  for (const issue of issues) yield* findProblems(issue);
}

function* findProblems(issue: z.core.$ZodIssue): Generator<FieldProblem> {
  const meant = issue.code === 'invalid_union' ? findMeantForm(issue) : undefined;
  if (meant) {
    for (const inner of meant) yield* findProblems({ ...inner, path: [...issue.path, ...inner.path] });
    return;
  }
  const message = issue.code === 'unrecognized_keys' ? UNKNOWN_FIELD : sayIssue(issue);
  for (const path of listFields(issue)) yield { field: path.join('.'), message };
}

/** The issues of the one form of a union that is of the value's own type; undefined where several are, or none. */
function findMeantForm({ errors }: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue[] | undefined {
  const isOther = (issues: z.core.$ZodIssue[]) =>
    issues.some(({ code, path }) => path.length === 0 && (code === 'invalid_type' || code === 'invalid_value'));
  const [meant, ...others] = errors.filter((issues) => issues.length > 0 && !isOther(issues));
  return others.length === 0 ? meant : undefined;
}

/** The paths of the fields that an issue is about: one, or each of those that the schema does not know. */
const listFields = (issue: z.core.$ZodIssue): PropertyKey[][] =>
  issue.code === 'unrecognized_keys'
    ? issue.keys.slice(0, MAX_PROBLEMS).map((key) => [...issue.path, key])
    : [issue.path];

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/** The value that a body holds; undefined where there is none. */
async function receiveJson(request: HonoRequest, parse: (text: string) => unknown): Promise<unknown> {
  const bytes = await receiveBytes(request);
  if (bytes.byteLength === 0) return undefined;
  return parseRequestBody(request, () => {
    // Decoded leniently, different passwords would be one, and names would be stored as nobody sent them.
    const text = decoder.decode(bytes);
    requireBounded(text);
    return parse(text);
  });
}

const receiveBytes = async (request: HonoRequest): Promise<ArrayBuffer> =>
  request.raw.body === null ? new ArrayBuffer() : request.arrayBuffer();

function requireBounded(text: string): void {
  switch (findExcess(text, JSON_BOUNDS)) {
    case 'depth':
      throw new NestedTooDeep();
    case 'signs':
      throw tooManyValues(JSON_BOUNDS.signs);
    case 'names':
      throw tooManyNames(JSON_BOUNDS.names);
  }
}

/** Reads a body whose objects are left unread; undefined where there is none. */
async function receiveUnread(request: HonoRequest, unread: UnreadList): Promise<unknown> {
  const bytes = new Uint8Array(await receiveBytes(request));
  return bytes.length === 0 ? undefined : parseRequestBody(request, () => readUnread(bytes, unread, JSON_BOUNDS.depth));
}

function parseRequestBody(request: HonoRequest, parse: () => unknown): unknown {
  if (!saysJson(request)) throw notJson();
  try {
    return parse();
  } catch (error) {
    if (error instanceof NestedTooDeep) throw tooDeep(JSON_BOUNDS.depth);
    throw error instanceof Failure ? error : malformedJson();
  }
}

/** Parses JSON and refuses half surrogate pairs, which nothing can store. Table rows are checked elsewhere. */
function parseText(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const path = SURROGATE_ESCAPE_PATTERN.test(text) ? findIllFormedText(value) : null;
  if (path)
    throw invalid([{ field: shorten(path.join('.').toWellFormed(), MAX_WORDS), message: 'must be Unicode text' }]);
  return value;
}

/** The beginning of an escaped surrogate. Without one, no text can hold half a surrogate pair. */
const SURROGATE_ESCAPE_PATTERN = /\\u[dD][89a-fA-F]/;

/** Whether a request says that its body is a form. */
export const isForm = (request: HonoRequest): boolean =>
  /^multipart\/form-data\b/i.test(request.header('content-type') ?? '');

/** Whether a request says that its body is JSON. */
export const saysJson = (request: HonoRequest): boolean =>
  /^application\/([\w.+-]+\+)?json\b/i.test(request.header('content-type') ?? '');
