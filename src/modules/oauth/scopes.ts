import { ALL_ACTIONS, actionEntry } from '../../permissions/actions.ts';
import { compile } from '../../permissions/wildcard.ts';
import { invalidScope } from './failures.ts';

/** The default scopes of a client that requests none: read-only. */
export const DEFAULT_SCOPES: readonly string[] = [
  '*:list',
  '*:get',
  '*:read',
  '*:data-read',
  'semantic:list',
  'dashboards:get',
];

const MAX_SCOPES = 100;
const MAX_SCOPE_CHARACTERS = 8192;

const findMatchingActions = (pattern: string) => ALL_ACTIONS.filter((action) => compile(pattern)(action));

/**
 * Parses the space-separated scopes of a parameter; the default scopes if it names none.
 * @throws invalidScope where a scope matches no action, or there are too many
 */
export function parseScopes(sent: string | undefined): string[] {
  if (sent !== undefined && sent.length > MAX_SCOPE_CHARACTERS) throw invalidScope();
  const named = [...new Set((sent ?? '').split(' ').filter(Boolean))];
  if (named.length === 0) return [...DEFAULT_SCOPES];
  if (named.length > MAX_SCOPES) throw invalidScope();
  const unknown = named.find(
    (scope) => scope.length > 100 || !/^[\w:*-]+$/.test(scope) || findMatchingActions(scope).length === 0,
  );
  if (unknown !== undefined) throw invalidScope();
  return named;
}

/**
 * Parses the scopes of a parameter; all granted ones if it names none.
 * @throws invalidScope if one of them goes beyond what was granted
 */
export function narrowScopes(granted: readonly string[], sent: string | undefined): string[] {
  if (sent === undefined || sent.trim() === '') return [...granted];
  const asked = parseScopes(sent);
  // A pattern that matches another pattern as text contains it (see wildcard.ts).
  if (!asked.every((scope) => granted.some((pattern) => compile(pattern)(scope)))) throw invalidScope();
  return asked;
}

/** Whether nothing can be changed with these scopes. */
export const areReadOnly = (scopes: readonly string[]): boolean =>
  scopes.every((scope) => findMatchingActions(scope).every((action) => actionEntry(action).legacy?.join() === 'read'));
