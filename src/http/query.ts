import { z } from 'zod';
import { type FieldProblem, invalid } from '../kernel/failure.ts';
import { shorten } from '../kernel/text.ts';
import { gatherDeepObjects } from './deep-object.ts';
import type { Contract } from './endpoint.ts';
import { sayIssue, selectFirstProblems } from './field-words.ts';
import { queryFlag } from './list-query.ts';

/** The schema of a route's query. Parameters that the route does not know are refused, unless it says otherwise. */
export function getQuerySchema(contract: Contract): z.ZodType {
  const { openQuery } = contract;
  const known = getDeclaredQuery(contract) ?? z.object({});
  return z.preprocess(gatherDeepObjects(known), openQuery ? known : closeQuery(known));
}

/** The query that a route is declared with, and the parameters that its other declarations add to it. */
export const getDeclaredQuery = ({ query, dryRun }: Contract): z.ZodType | undefined =>
  dryRun ? ((query ?? z.object({})) as z.ZodObject).extend(DRY_RUN) : query;

const DRY_RUN = {
  dry_run: queryFlag.meta({
    description:
      '`true`: changes nothing, and answers 200 with who would gain and who would lose what. Refused as the change itself would be.',
  }),
};

/** A query that refuses parameters which it does not know, unless its schema has a rule for those. */
const closeQuery = (query: z.ZodType): z.ZodType =>
  query instanceof z.ZodObject && query.def.catchall === undefined ? query.strict() : query;

/** @throws invalid naming each wrong parameter */
export function requireValid(result: { success: boolean; error?: { issues: readonly z.core.$ZodIssue[] } }): void {
  if (result.success) return;
  throw invalid(selectFirstProblems(result.error?.issues.flatMap(findProblems) ?? []));
}

/** Refuses parameters without a name, which the router leaves out of what it reads. */
export function refuseNameless(url: string): void {
  if (new URLSearchParams(readQueryText(url)).has('')) throw invalid([{ field: '', message: NO_PARAMETER }]);
}

function readQueryText(url: string): string {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark + 1);
}

/** A run of percent-encoded bytes. */
const ENCODED_PATTERN = /(?:%[\da-f]{2})+/gi;

/** Refuses percent-encoding that is no UTF-8: it would be taken as the text it was sent in, `%ED%A0%80`. */
export function refuseBrokenText(url: string): void {
  const query = readQueryText(url);
  const broken = query.split('&').filter((parameter) => parameter.match(ENCODED_PATTERN)?.some(isBroken));
  if (broken.length === 0) return;
  const names = new Set(broken.flatMap((parameter) => [...new URLSearchParams(parameter).keys()]));
  throw invalid([...names].slice(0, MAX_REPORTED_UNKNOWN.names).map((name) => makeProblem(name, 'must be UTF-8')));
}

function isBroken(encoded: string): boolean {
  try {
    decodeURIComponent(encoded);
    return false;
  } catch {
    return true;
  }
}

/** The maximum number of parameters that an answer says are unknown, and the maximum number of characters of their names. */
const MAX_REPORTED_UNKNOWN = { names: 20, characters: 80 };

const makeProblem = (name: string, message: string): FieldProblem => ({
  field: shorten(name, MAX_REPORTED_UNKNOWN.characters),
  message,
});

const NO_PARAMETER = 'is not a parameter of this route';

const findProblems = (issue: z.core.$ZodIssue): FieldProblem[] =>
  issue.code === 'unrecognized_keys'
    ? issue.keys.slice(0, MAX_REPORTED_UNKNOWN.names).map((key) => makeProblem(key, NO_PARAMETER))
    : [{ field: issue.path.join('.'), message: sayParameter(issue) }];

/** A parameter's limits are told for an empty value, too: most are numbers. */
function sayParameter(issue: z.core.$ZodIssue): string {
  if (isRepeated(issue)) return 'must be sent once';
  return issue.input === '' ? issue.message : sayIssue(issue);
}

/** Whether a parameter was sent several times where one value is taken. */
const isRepeated = ({ code, input }: z.core.$ZodIssue): boolean =>
  Array.isArray(input) && (code === 'invalid_type' || code === 'invalid_value');
