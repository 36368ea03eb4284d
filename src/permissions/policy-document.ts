import type { FieldProblem } from '../kernel/failure.ts';
import { isRecord } from '../kernel/fields.ts';
import { cut } from '../kernel/text.ts';
import { ALL_ACTIONS, isAction } from './actions.ts';
import { matches } from './wildcard.ts';

/** The only version of the policy language. */
export const POLICY_VERSION = '2024-01-01';

export interface PolicyStatement {
  /** Names the statement within its document. */
  sid?: string;
  effect: 'Allow' | 'Deny';
  /** Patterns over the action catalogue: `users:list`, `users:*`, `*`. */
  actions: string[];
  /** Patterns over resource ARNs, or `*`. */
  resources: string[];
}

export interface PolicyDocument {
  version: typeof POLICY_VERSION;
  statements: PolicyStatement[];
}

/** Bounds of a document, roomier than AWS's: each is read on every request, so its length as a whole counts. */
export const POLICY_LIMITS = {
  /** Bytes of the document as compact JSON. */
  bytes: 20 * 1024,
  /** Policies attached to one group, and bytes of the documents that reach one principal. Triggers hold them. */
  attached: 50,
  reaching: 256 * 1024,
  statements: 256,
  /** Actions, and resources, of one statement. */
  patterns: 256,
  /** Characters of one action or resource pattern. */
  pattern: 512,
  /** Problems reported at most. */
  problems: 100,
} as const;

const SID = /^[A-Za-z0-9](?:[A-Za-z0-9_. -]{0,126}[A-Za-z0-9])?$/;
const ARN_START = 'arn:svc:';
// Whatever names of policies may hold, spaces too: no control characters, and no white space at the end.
const RESOURCE = /^\P{C}*[^\s\p{C}]$/u;

/**
 * Lists the problems of a policy document, each with the path of its field (`document.statements.0.actions.1`). A document
 * without problems is a `PolicyDocument`. Unknown fields are problems too (a misspelt or foreign `condition` would silently
 * widen access), and so are patterns that match no action of the catalogue.
 */
export function validateDocument(document: unknown, path = 'document'): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const report = (field: string, message: string): void => {
    if (problems.length < POLICY_LIMITS.problems) problems.push({ field, message });
  };

  if (document === undefined) return [{ field: path, message: REQUIRED }];
  if (!isRecord(document)) return [{ field: path, message: 'must be an object with version and statements' }];
  reportUnknownFields(document, ['version', 'statements'], path, report);
  const { version, statements } = document;
  if (version !== POLICY_VERSION)
    report(`${path}.version`, version === undefined ? REQUIRED : `must be "${POLICY_VERSION}"`);
  if (!isList(statements, POLICY_LIMITS.statements, `${path}.statements`, report)) return problems;
  const sids = new Set<string>();
  for (const [index, statement] of statements.entries()) {
    checkStatement(statement, `${path}.statements.${index}`, sids, report);
  }
  return problems;
}

const REQUIRED = 'is required';

type Report = (field: string, message: string) => void;

/** Whether a value is a list of 1 to `most` entries; reports what it is not. */
function isList(value: unknown, most: number, path: string, report: Report): value is unknown[] {
  if (value === undefined) report(path, REQUIRED);
  else if (!Array.isArray(value)) report(path, 'must be a list');
  else if (value.length === 0) report(path, 'must hold at least one entry');
  else if (value.length > most) report(path, `must hold at most ${most} entries`);
  else return true;
  return false;
}

function checkStatement(statement: unknown, path: string, sids: Set<string>, report: Report): void {
  if (!isRecord(statement)) {
    report(path, 'must be an object with effect, actions and resources');
    return;
  }
  reportUnknownFields(statement, ['sid', 'effect', 'actions', 'resources'], path, report);
  const { sid, effect, actions, resources } = statement;
  if (sid !== undefined) {
    if (typeof sid !== 'string' || !SID.test(sid)) {
      report(`${path}.sid`, 'must be 1 to 128 letters, digits, or "_", ".", "-", " " between them');
    } else if (sids.has(sid)) {
      report(`${path}.sid`, 'must be unique in the document');
    } else {
      sids.add(sid);
    }
  }
  if (effect !== 'Allow' && effect !== 'Deny')
    report(`${path}.effect`, effect === undefined ? REQUIRED : 'must be "Allow" or "Deny"');
  checkPatterns(actions, `${path}.actions`, actionProblem, report);
  checkPatterns(resources, `${path}.resources`, resourceProblem, report);
}

function checkPatterns(
  patterns: unknown,
  path: string,
  problemOf: (pattern: string) => string | null,
  report: Report,
): void {
  if (!isList(patterns, POLICY_LIMITS.patterns, path, report)) return;
  for (const [index, pattern] of patterns.entries()) {
    const problem =
      typeof pattern !== 'string' || pattern.length > POLICY_LIMITS.pattern
        ? `must be a text of at most ${POLICY_LIMITS.pattern} characters`
        : problemOf(pattern);
    if (problem) report(`${path}.${index}`, problem);
  }
}

function actionProblem(pattern: string): string | null {
  if (!pattern.includes('*')) return isAction(pattern) ? null : `unknown action "${pattern}"`;
  return ALL_ACTIONS.some((action) => matches(pattern, action)) ? null : `"${pattern}" fits no known action`;
}

function resourceProblem(pattern: string): string | null {
  if (pattern === '') return 'must not be empty';
  const star = pattern.indexOf('*');
  const literalStart = star < 0 ? pattern : pattern.slice(0, star);
  const reachesArns = literalStart.startsWith(ARN_START) || (star >= 0 && ARN_START.startsWith(literalStart));
  return reachesArns && RESOURCE.test(pattern) ? null : 'must be "*" or a resource ARN pattern (arn:svc:…)';
}

function reportUnknownFields(
  value: Record<string, unknown>,
  known: readonly string[],
  path: string,
  report: Report,
): void {
  for (const field of Object.keys(value)) {
    if (!known.includes(field)) report(`${path}.${cut(field, 64)}`, 'is not a field of the policy language');
  }
}

/** Whether a valid document is small enough to be read on every request. */
export const isSmallEnough = (document: PolicyDocument): boolean =>
  new TextEncoder().encode(JSON.stringify(document)).length <= POLICY_LIMITS.bytes;
