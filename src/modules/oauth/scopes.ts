import { ALL_ACTIONS, getActionEntry } from '../../permissions/actions.ts';
import { compilePattern } from '../../permissions/wildcard.ts';
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

const findMatchingActions = (pattern: string) => ALL_ACTIONS.filter((action) => compilePattern(pattern)(action));

/**
 * Parses the space-separated scopes of a parameter; the default scopes if it names none.
 * @throws invalidScope where a scope matches no action, or there are too many
 */
export function parseScopes(scopeText: string | undefined): string[] {
  if (scopeText !== undefined && scopeText.length > MAX_SCOPE_CHARACTERS) throw invalidScope();
  const namedScopes = [...new Set((scopeText ?? '').split(' ').filter(Boolean))];
  if (namedScopes.length === 0) return [...DEFAULT_SCOPES];
  if (namedScopes.length > MAX_SCOPES) throw invalidScope();
  const unknownScope = namedScopes.find(
    (scope) => scope.length > 100 || !/^[\w:*-]+$/.test(scope) || findMatchingActions(scope).length === 0,
  );
  if (unknownScope !== undefined) throw invalidScope();
  return namedScopes;
}

/** Parses the scopes of a parameter; all granted ones if it names none. @throws invalidScope if one goes beyond them */
export function narrowScopes(grantedScopes: readonly string[], scopeText: string | undefined): string[] {
  if (scopeText === undefined || scopeText.trim() === '') return [...grantedScopes];
  const requestedScopes = parseScopes(scopeText);
  // A pattern that matches another pattern as text contains it (see wildcard.ts).
  if (!requestedScopes.every((scope) => grantedScopes.some((pattern) => compilePattern(pattern)(scope))))
    throw invalidScope();
  return requestedScopes;
}

/** Tells whether these scopes allow no changes. */
export const areScopesReadOnly = (scopes: readonly string[]): boolean =>
  scopes.every((scope) =>
    findMatchingActions(scope).every((action) => getActionEntry(action).legacyVerbs?.join() === 'read'),
  );
