import type { FieldProblem } from '../kernel/failure.ts';
import { isRecord } from '../kernel/fields.ts';
import { truncateText } from '../kernel/text.ts';
import { ALL_ACTIONS, isAction } from './actions.ts';
import { matchesPattern } from './wildcard.ts';

/** The only version of the policy language. */
export const POLICY_VERSION = '2024-01-01';

export interface PolicyStatement {
  /** The name of the statement within its document. */
  sid?: string;
  effect: 'Allow' | 'Deny';
  /** Patterns of actions of the catalogue: `users:list`, `users:*`, `*`. */
  actions: string[];
  /** Patterns of resource ARNs, or `*`. */
  resources: string[];
}

export interface PolicyDocument {
  version: typeof POLICY_VERSION;
  statements: PolicyStatement[];
}

/** The limits of a document, wider than AWS's: each document is read on every request, so its whole length matters. */
export const POLICY_LIMITS = {
  /** The maximum number of bytes of the document as compact JSON. */
  bytes: 20 * 1024,
  /** The maximum number of policies attached to one group; a trigger enforces this. */
  attached: 50,
  /** The maximum number of bytes of the documents that apply to one principal; a trigger enforces this. */
  reaching: 256 * 1024,
  statements: 256,
  /** The maximum number of actions, and of resources, of one statement. */
  patterns: 256,
  /** The maximum number of characters of one action or resource pattern. */
  pattern: 512,
  /** The maximum number of reported problems. */
  problems: 100,
} as const;

const SID_PATTERN = /^[A-Za-z0-9](?:[A-Za-z0-9_. -]{0,126}[A-Za-z0-9])?$/;
const ARN_PREFIX = 'arn:svc:';
// Whatever names of policies may hold, spaces too: no control characters, and no white space at the end.
const RESOURCE_PATTERN = /^\P{C}*[^\s\p{C}]$/u;

/**
 * Lists the problems of a policy document, each with the path of its field (`document.statements.0.actions.1`). A document
 * without problems is a `PolicyDocument`. Unknown fields are problems, too (a misspelt or foreign `condition` would silently
 * widen access), and so are patterns that match no action of the catalogue.
 */
export function findDocumentProblems(document: unknown, path = 'document'): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const report = (field: string, message: string): void => {
    if (problems.length < POLICY_LIMITS.problems) problems.push({ field, message });
  };

  if (document === undefined) return [{ field: path, message: REQUIRED_MESSAGE }];
  if (!isRecord(document)) return [{ field: path, message: 'must be an object with version and statements' }];
  reportUnknownFields(document, ['version', 'statements'], path, report);
  const { version, statements } = document;
  if (version !== POLICY_VERSION)
    report(`${path}.version`, version === undefined ? REQUIRED_MESSAGE : `must be "${POLICY_VERSION}"`);
  if (!isList(statements, POLICY_LIMITS.statements, `${path}.statements`, report)) return problems;
  const sids = new Set<string>();
  for (const [index, statement] of statements.entries()) {
    checkStatement(statement, `${path}.statements.${index}`, sids, report);
  }
  return problems;
}

const REQUIRED_MESSAGE = 'is required';

type ReportProblem = (field: string, message: string) => void;

/** Tells whether a value is a list of 1 to `maxLength` entries; reports the problem if not. */
function isList(value: unknown, maxLength: number, path: string, report: ReportProblem): value is unknown[] {
  if (value === undefined) report(path, REQUIRED_MESSAGE);
  else if (!Array.isArray(value)) report(path, 'must be a list');
  else if (value.length === 0) report(path, 'must hold at least one entry');
  else if (value.length > maxLength) report(path, `must hold at most ${maxLength} entries`);
  else return true;
  return false;
}

function checkStatement(statement: unknown, path: string, sids: Set<string>, report: ReportProblem): void {
  if (!isRecord(statement)) {
    report(path, 'must be an object with effect, actions and resources');
    return;
  }
  reportUnknownFields(statement, ['sid', 'effect', 'actions', 'resources'], path, report);
  const { sid, effect, actions, resources } = statement;
  if (sid !== undefined) {
    if (typeof sid !== 'string' || !SID_PATTERN.test(sid)) {
      report(`${path}.sid`, 'must be 1 to 128 letters, digits, or "_", ".", "-", " " between them');
    } else if (sids.has(sid)) {
      report(`${path}.sid`, 'must be unique in the document');
    } else {
      sids.add(sid);
    }
  }
  if (effect !== 'Allow' && effect !== 'Deny')
    report(`${path}.effect`, effect === undefined ? REQUIRED_MESSAGE : 'must be "Allow" or "Deny"');
  checkPatterns(actions, `${path}.actions`, findActionProblem, report);
  checkPatterns(resources, `${path}.resources`, findResourceProblem, report);
}

function checkPatterns(
  patterns: unknown,
  path: string,
  findProblem: (pattern: string) => string | null,
  report: ReportProblem,
): void {
  if (!isList(patterns, POLICY_LIMITS.patterns, path, report)) return;
  for (const [index, pattern] of patterns.entries()) {
    const problem =
      typeof pattern !== 'string' || pattern.length > POLICY_LIMITS.pattern
        ? `must be a text of at most ${POLICY_LIMITS.pattern} characters`
        : findProblem(pattern);
    if (problem) report(`${path}.${index}`, problem);
  }
}

function findActionProblem(pattern: string): string | null {
  if (!pattern.includes('*')) return isAction(pattern) ? null : `unknown action "${pattern}"`;
  return ALL_ACTIONS.some((action) => matchesPattern(pattern, action)) ? null : `"${pattern}" fits no known action`;
}

function findResourceProblem(pattern: string): string | null {
  if (pattern === '') return 'must not be empty';
  const starIndex = pattern.indexOf('*');
  const literalStart = starIndex < 0 ? pattern : pattern.slice(0, starIndex);
  const reachesArns = literalStart.startsWith(ARN_PREFIX) || (starIndex >= 0 && ARN_PREFIX.startsWith(literalStart));
  return reachesArns && RESOURCE_PATTERN.test(pattern) ? null : 'must be "*" or a resource ARN pattern (arn:svc:…)';
}

function reportUnknownFields(
  value: Record<string, unknown>,
  knownFields: readonly string[],
  path: string,
  report: ReportProblem,
): void {
  for (const field of Object.keys(value)) {
    if (!knownFields.includes(field))
      report(`${path}.${truncateText(field, 64)}`, 'is not a field of the policy language');
  }
}

/** Tells whether a valid document is small enough to be read on every request. */
export const isSmallEnough = (document: PolicyDocument): boolean =>
  new TextEncoder().encode(JSON.stringify(document)).length <= POLICY_LIMITS.bytes;
