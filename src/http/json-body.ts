import type { Context as HonoContext, HonoRequest, MiddlewareHandler } from 'hono';
import type { z } from 'zod';
import { parseExactJson, parseJsonWithTextNumbers } from '../kernel/exact-json.ts';
import { Failure, type FieldProblem, invalidInput, MAX_PROBLEMS } from '../kernel/failure.ts';
import { isRecord } from '../kernel/fields.ts';
import { NestedTooDeepError } from '../kernel/json-walk.ts';
import { UNKNOWN_FIELD_MESSAGE } from '../kernel/members.ts';
import { findIllFormedTextPath, shorten } from '../kernel/text.ts';
import { readBodyWithUnreadList, type UnreadList } from '../kernel/unread-json.ts';
import type { Contract } from './endpoint.ts';
import { malformedJson, notJson, tooDeep, tooManyNames, tooManyValues } from './failures.ts';
import { makeIssueText, REPORT_INPUT_VALUES, selectFirstProblems } from './field-words.ts';
import { findExceededBound, type JsonBounds } from './json-bounds.ts';
import type { HttpEnv } from './mount.ts';

/**
 * Limits of a JSON body: a depth above any sensible value and far below that at which a parser or a database runs out of stack;
 * one value for eight bytes of the largest body; and more different names than any schema has or any sensible user-defined object
 * needs.
 */
export const JSON_BOUNDS: JsonBounds = { depth: 100, maxSigns: 131_072, maxNames: 10_000 };

/** Maximum number of characters of a problem's field, and of its message. */
const MAX_PROBLEM_CHARACTERS = 1000;

/** Functions that compare bodies with the record of the path. */
export interface RecordComparison {
  /** Returns the problems of a body's members that its schema does not define. */
  findUnknownProblems(c: HonoContext<HttpEnv>, body: unknown): Promise<FieldProblem[]>;
  /** Returns a body without the named members whose values equal the record's; null if there are none. */
  removeUnchanged(c: HonoContext<HttpEnv>, body: unknown, names: readonly string[]): Promise<unknown>;
}

/** Reads and validates JSON bodies as the context's `body`. A missing body is accepted if no field is required. */
export function readJson(
  { method, body: schema, exactNumbers, unread }: Contract,
  record: RecordComparison,
): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const value = unread
      ? await receiveUnreadJson(c.req, unread)
      : await receiveJson(c.req, chooseParser(exactNumbers));
    const unknownMembersProblems = await record.findUnknownProblems(c, value);
    const isUpdate = method === 'put' || method === 'patch';
    const parsedBody =
      schema && (await parseBody(schema, value, isUpdate ? (names) => record.removeUnchanged(c, value, names) : null));
    if (parsedBody?.error && value === undefined && isJson(c.req)) throw malformedJson();
    if (parsedBody?.error || unknownMembersProblems.length > 0)
      throw makeInvalidBody(parsedBody?.error, unknownMembersProblems);
    c.set('body', parsedBody?.data);
    await next();
  };
}

function chooseParser(exactNumbers: Contract['exactNumbers']): (text: string) => unknown {
  if (exactNumbers === 'text') return (text) => parseText(text, parseJsonWithTextNumbers);
  return exactNumbers ? parseExactJson : parseText;
}

/** Parses a body; for a change, members that equal the record's are removed first, since they need not be valid. */
async function parseBody(
  schema: z.ZodType,
  value: unknown,
  removeUnchanged: ((names: readonly string[]) => Promise<unknown>) | null,
) {
  const parsedResult = await schema.safeParseAsync(value === undefined ? {} : value, REPORT_INPUT_VALUES);
  const names = new Set(parsedResult.error?.issues.map(({ path: [name] }) => String(name)));
  if (!removeUnchanged || !isRecord(value) || names.size === 0) return parsedResult;
  const changedBody = await removeUnchanged([...names]);
  return changedBody === null ? parsedResult : schema.safeParseAsync(changedBody, REPORT_INPUT_VALUES);
}

/** Makes the failure of a body. Messages and paths are shortened, since both can contain names that were sent. */
export const makeInvalidBody = (
  validationError: Pick<z.ZodError, 'issues'> | undefined,
  unknownFieldProblems: FieldProblem[] = [],
): Failure =>
  invalidInput(
    selectFirstProblems(listProblems(validationError?.issues ?? [], unknownFieldProblems), MAX_PROBLEMS).map(
      ({ field, message }) => ({
        field: shorten(field, MAX_PROBLEM_CHARACTERS),
        message: shorten(message, MAX_PROBLEM_CHARACTERS),
      }),
    ),
  );

/** Yields the problems one by one: a body of a mebibyte may be wrong in some hundred thousand places. */
function* listProblems(
  issues: readonly z.core.$ZodIssue[],
  unknownFieldProblems: readonly FieldProblem[],
): Generator<FieldProblem> {
  yield* unknownFieldProblems;
  for (const issue of issues) yield* findProblems(issue);
}

function* findProblems(issue: z.core.$ZodIssue): Generator<FieldProblem> {
  const matchingForm = issue.code === 'invalid_union' ? findMatchingForm(issue) : undefined;
  if (matchingForm) {
    for (const innerIssue of matchingForm)
      yield* findProblems({ ...innerIssue, path: [...issue.path, ...innerIssue.path] });
    return;
  }
  const message = issue.code === 'unrecognized_keys' ? UNKNOWN_FIELD_MESSAGE : makeIssueText(issue);
  for (const path of listFields(issue)) yield { field: path.join('.'), message };
}

/** Finds the issues of the only form of a union with the value's own type; undefined if there are several or none. */
function findMatchingForm({ errors }: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue[] | undefined {
  const isOtherType = (issues: z.core.$ZodIssue[]) =>
    issues.some(({ code, path }) => path.length === 0 && (code === 'invalid_type' || code === 'invalid_value'));
  const [meant, ...others] = errors.filter((issues) => issues.length > 0 && !isOtherType(issues));
  return others.length === 0 ? meant : undefined;
}

/** Lists the paths of an issue's fields: one, or each field that the schema does not define. */
const listFields = (issue: z.core.$ZodIssue): PropertyKey[][] =>
  issue.code === 'unrecognized_keys'
    ? issue.keys.slice(0, MAX_PROBLEMS).map((key) => [...issue.path, key])
    : [issue.path];

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/** Reads the value of a JSON body; undefined if there is none. */
async function receiveJson(request: HonoRequest, parse: (text: string) => unknown): Promise<unknown> {
  const bytes = await receiveBytes(request);
  if (bytes.byteLength === 0) return undefined;
  return parseRequestBody(request, () => {
    // Decoded leniently, different passwords would be one, and names would be stored as nobody sent them.
    const text = decoder.decode(bytes);
    requireBoundedJson(text);
    return parse(text);
  });
}

const receiveBytes = async (request: HonoRequest): Promise<ArrayBuffer> =>
  request.raw.body === null ? new ArrayBuffer() : request.arrayBuffer();

function requireBoundedJson(text: string): void {
  switch (findExceededBound(text, JSON_BOUNDS)) {
    case 'depth':
      throw new NestedTooDeepError();
    case 'maxSigns':
      throw tooManyValues(JSON_BOUNDS.maxSigns);
    case 'maxNames':
      throw tooManyNames(JSON_BOUNDS.maxNames);
  }
}

/** Reads a body whose listed objects stay unparsed; undefined if there is none. */
async function receiveUnreadJson(request: HonoRequest, unreadList: UnreadList): Promise<unknown> {
  const bytes = new Uint8Array(await receiveBytes(request));
  return bytes.length === 0
    ? undefined
    : parseRequestBody(request, () => readBodyWithUnreadList(bytes, unreadList, JSON_BOUNDS.depth));
}

function parseRequestBody(request: HonoRequest, parse: () => unknown): unknown {
  if (!isJson(request)) throw notJson();
  try {
    return parse();
  } catch (error) {
    if (error instanceof NestedTooDeepError) throw tooDeep(JSON_BOUNDS.depth);
    throw error instanceof Failure ? error : malformedJson();
  }
}

/** Parses JSON and refuses half surrogate pairs, which cannot be stored. Table rows are checked elsewhere. */
function parseText(text: string, parse: (text: string) => unknown = JSON.parse): unknown {
  const value = parse(text);
  const path = SURROGATE_ESCAPE_PATTERN.test(text) ? findIllFormedTextPath(value) : null;
  if (path)
    throw invalidInput([
      { field: shorten(path.join('.').toWellFormed(), MAX_PROBLEM_CHARACTERS), message: 'must be Unicode text' },
    ]);
  return value;
}

/** Pattern of the beginning of an escaped surrogate. Without one, no text can hold half a surrogate pair. */
const SURROGATE_ESCAPE_PATTERN = /\\u[dD][89a-fA-F]/;

/** Returns true if the request's content type says that its body is a form. */
export const isForm = (request: HonoRequest): boolean =>
  /^multipart\/form-data\b/i.test(request.header('content-type') ?? '');

/** Returns true if the request's content type says that its body is JSON. */
export const isJson = (request: HonoRequest): boolean =>
  /^application\/([\w.+-]+\+)?json\b/i.test(request.header('content-type') ?? '');
