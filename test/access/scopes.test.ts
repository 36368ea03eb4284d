import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  compileAccess,
  decideAccess,
  findNeededScopes,
  findRules,
  isAdministrator,
  isUnrestricted,
  limitToScopes,
  listAllowedActions,
} from '../../src/access/evaluation.ts';
import { findExcessGrant } from '../../src/access/grants.ts';
import { matchesPattern } from '../../src/permissions/wildcard.ts';
import { arbitrarySources, COMPANY_ID, makeDocument, SOME_ACTIONS, SOME_RESOURCES } from '../permissions/arbitrary.ts';

const OWNER_SOURCES = { companyId: COMPANY_ID, isOwner: true, groups: [] };
const ALLOW_ALL = { effect: 'Allow' as const, actions: ['*'], resources: ['*'] };
const makeSources = (...actions: string[]) => ({
  companyId: COMPANY_ID,
  groups: [
    {
      id: 'g',
      roles: [],
      permissions: [],
      policies: [{ id: 'p', document: makeDocument({ effect: 'Allow', actions, resources: ['*'] }) }],
    },
  ],
});
const ADMINISTRATOR_SOURCES = { ...makeSources(...ALLOW_ALL.actions), isOwner: false };

describe('an OAuth client with scopes', () => {
  const patterns = fc.array(fc.constantFrom('*', '*:list', 'users:*', 'users:list', 'groups:get', 'dash*'), {
    minLength: 1,
    maxLength: 3,
  });

  test('may do exactly what both its user and its scopes allow', () => {
    fc.assert(
      fc.property(arbitrarySources, fc.boolean(), patterns, (userSources, isOwner, scopes) => {
        const userAccess = compileAccess({ ...userSources, isOwner });
        const clientAccess = limitToScopes(userAccess, scopes);
        for (const action of SOME_ACTIONS) {
          const isInScope = scopes.some((pattern) => matchesPattern(pattern, action));
          for (const resource of SOME_RESOURCES) {
            const isAllowed = decideAccess(userAccess, action, resource).allowed && isInScope;
            expect([action, resource, decideAccess(clientAccess, action, resource).allowed]).toEqual([
              action,
              resource,
              isAllowed,
            ]);
            // What it lacks are scopes only where its user may do it.
            const neededScopes =
              decideAccess(userAccess, action, resource).allowed && !isInScope ? [...scopes, action] : null;
            expect(findNeededScopes(clientAccess, action, resource)).toEqual(neededScopes);
          }
          // What is denied is hidden from the program, too.
          if (!isOwner)
            expect(findRules(clientAccess, action).denyRules).toEqual(findRules(userAccess, action).denyRules);
        }
      }),
    );
  });

  test('is limited by its scopes when its user is the owner, too', () => {
    const clientAccess = limitToScopes(compileAccess(OWNER_SOURCES), ['groups:*']);
    expect(findRules(clientAccess, 'groups:get').allowRules).toHaveLength(1);
    expect(findRules(clientAccess, 'users:get').allowRules).toHaveLength(0);
    expect(listAllowedActions(clientAccess).every((action) => action.startsWith('groups:'))).toBe(true);
  });

  test.each([
    ['the owner', OWNER_SOURCES],
    ['an administrator', ADMINISTRATOR_SOURCES],
  ])('cannot grant more than its scopes, if its user is %s', (_who, sources) => {
    const userAccess = compileAccess(sources);
    const clientAccess = limitToScopes(userAccess, ['policies:*', 'groups:*']);
    expect([isUnrestricted(userAccess), isUnrestricted(clientAccess), isAdministrator(clientAccess)]).toEqual([
      true,
      false,
      true,
    ]);
    expect(findExcessGrant(userAccess, makeSources('*'))).toBe(null);
    expect(findExcessGrant(clientAccess, makeSources('*'))).not.toBe(null);
    expect(findExcessGrant(clientAccess, makeSources('groups:get'))).toBe(null);
  });
});
