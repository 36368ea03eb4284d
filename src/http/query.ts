import { z } from 'zod';
import { type FieldProblem, invalidInput } from '../kernel/failure.ts';
import { shorten } from '../kernel/text.ts';
import { makeDeepObjectGatherer } from './deep-object.ts';
import type { Contract } from './endpoint.ts';
import { makeIssueText, selectFirstProblems } from './field-words.ts';
import { queryFlag } from './list-query.ts';

/** Makes the schema of a route's query. Undeclared parameters are refused, unless the contract says otherwise. */
export function getQuerySchema(contract: Contract): z.ZodType {
  const { openQuery } = contract;
  const declaredQuery = getDeclaredQuery(contract) ?? z.object({});
  return z.preprocess(
    makeDeepObjectGatherer(declaredQuery),
    openQuery ? declaredQuery : makeStrictQuery(declaredQuery),
  );
}

/** Returns the query that a route declares, and the parameters that its other declarations add to it. */
export const getDeclaredQuery = ({ query, dryRun }: Contract): z.ZodType | undefined =>
  dryRun ? ((query ?? z.object({})) as z.ZodObject).extend(DRY_RUN_PARAMETER) : query;

const DRY_RUN_PARAMETER = {
  dry_run: queryFlag.meta({
    description:
      '`true`: changes nothing, and answers 200 with who would gain and who would lose what. Refused as the change itself would be.',
  }),
};

/** Makes a query refuse undeclared parameters, unless its schema has a rule for them. */
const makeStrictQuery = (query: z.ZodType): z.ZodType =>
  query instanceof z.ZodObject && query.def.catchall === undefined ? query.strict() : query;

/** Throws unless a query is valid. @throws invalid naming each wrong parameter */
export function requireValid(result: { success: boolean; error?: { issues: readonly z.core.$ZodIssue[] } }): void {
  if (result.success) return;
  throw invalidInput(selectFirstProblems(result.error?.issues.flatMap(findProblems) ?? []));
}

/** Refuses parameters without a name, which the router ignores. */
export function refuseNamelessParameters(url: string): void {
  if (new URLSearchParams(readQueryText(url)).has(''))
    throw invalidInput([{ field: '', message: UNKNOWN_PARAMETER_TEXT }]);
}

function readQueryText(url: string): string {
  const queryStart = url.indexOf('?');
  return queryStart < 0 ? '' : url.slice(queryStart + 1);
}

/** Pattern of a run of percent-encoded bytes. */
const ENCODED_PATTERN = /(?:%[\da-f]{2})+/gi;

/** Refuses percent-encoding that is not UTF-8, such as `%ED%A0%80`: the router would take it literally. */
export function refuseBrokenText(url: string): void {
  const query = readQueryText(url);
  const brokenParameters = query.split('&').filter((parameter) => parameter.match(ENCODED_PATTERN)?.some(isBroken));
  if (brokenParameters.length === 0) return;
  const names = new Set(brokenParameters.flatMap((parameter) => [...new URLSearchParams(parameter).keys()]));
  throw invalidInput([...names].slice(0, MAX_REPORTED_UNKNOWN.names).map((name) => makeProblem(name, 'must be UTF-8')));
}

function isBroken(encodedText: string): boolean {
  try {
    decodeURIComponent(encodedText);
    return false;
  } catch {
    return true;
  }
}

/** Maximum number of unknown parameters that an answer names, and maximum number of characters of their names. */
const MAX_REPORTED_UNKNOWN = { names: 20, characters: 80 };

const makeProblem = (name: string, message: string): FieldProblem => ({
  field: shorten(name, MAX_REPORTED_UNKNOWN.characters),
  message,
});

const UNKNOWN_PARAMETER_TEXT = 'is not a parameter of this route';

const findProblems = (issue: z.core.$ZodIssue): FieldProblem[] =>
  issue.code === 'unrecognized_keys'
    ? issue.keys.slice(0, MAX_REPORTED_UNKNOWN.names).map((key) => makeProblem(key, UNKNOWN_PARAMETER_TEXT))
    : [{ field: issue.path.join('.'), message: makeParameterText(issue) }];

/** Makes the message of a parameter. That of an empty value states the limits, since most parameters are numbers. */
function makeParameterText(issue: z.core.$ZodIssue): string {
  if (isRepeated(issue)) return 'must be sent once';
  return issue.input === '' ? issue.message : makeIssueText(issue);
}

/** Returns true if a parameter was sent several times but accepts one value. */
const isRepeated = ({ code, input }: z.core.$ZodIssue): boolean =>
  Array.isArray(input) && (code === 'invalid_type' || code === 'invalid_value');
