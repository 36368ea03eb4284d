import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  compileAccess,
  decide,
  findNeededScopes,
  findRules,
  isAdministrator,
  isUnrestricted,
  limitToScopes,
  listAllowedActions,
} from '../../src/access/evaluation.ts';
import { findExcess } from '../../src/access/grant-ceiling.ts';
import { matches } from '../../src/permissions/wildcard.ts';
import { COMPANY, documentOf, SOME_ACTIONS, SOME_RESOURCES, sources } from '../permissions/arbitrary.ts';

const OWNER = { companyId: COMPANY, isOwner: true, groups: [] };
const ALLOW_ALL = { effect: 'Allow' as const, actions: ['*'], resources: ['*'] };
const makeHolder = (...actions: string[]) => ({
  companyId: COMPANY,
  groups: [
    {
      id: 'g',
      roles: [],
      permissions: [],
      policies: [{ id: 'p', document: documentOf({ effect: 'Allow', actions, resources: ['*'] }) }],
    },
  ],
});
const ADMINISTRATOR = { ...makeHolder(...ALLOW_ALL.actions), isOwner: false };

describe('an OAuth client with scopes', () => {
  const patterns = fc.array(fc.constantFrom('*', '*:list', 'users:*', 'users:list', 'groups:get', 'dash*'), {
    minLength: 1,
    maxLength: 3,
  });

  test('may do exactly what both its user and its scopes allow', () => {
    fc.assert(
      fc.property(sources, fc.boolean(), patterns, (own, isOwner, scopes) => {
        const person = compileAccess({ ...own, isOwner });
        const program = limitToScopes(person, scopes);
        for (const action of SOME_ACTIONS) {
          const inScope = scopes.some((pattern) => matches(pattern, action));
          for (const resource of SOME_RESOURCES) {
            const allowed = decide(person, action, resource).allowed && inScope;
            expect([action, resource, decide(program, action, resource).allowed]).toEqual([action, resource, allowed]);
            // What it lacks are scopes only where its user may do it.
            const needed = decide(person, action, resource).allowed && !inScope ? [...scopes, action] : null;
            expect(findNeededScopes(program, action, resource)).toEqual(needed);
          }
          // What is denied is hidden from the program, too.
          if (!isOwner) expect(findRules(program, action).deny).toEqual(findRules(person, action).deny);
        }
      }),
    );
  });

  test('is limited by its scopes when its user is the owner, too', () => {
    const program = limitToScopes(compileAccess(OWNER), ['groups:*']);
    expect(findRules(program, 'groups:get').allow).toHaveLength(1);
    expect(findRules(program, 'users:get').allow).toHaveLength(0);
    expect(listAllowedActions(program).every((action) => action.startsWith('groups:'))).toBe(true);
  });

  test.each([
    ['the owner', OWNER],
    ['an administrator', ADMINISTRATOR],
  ])('cannot grant more than its scopes, if its user is %s', (_who, of) => {
    const person = compileAccess(of);
    const program = limitToScopes(person, ['policies:*', 'groups:*']);
    expect([isUnrestricted(person), isUnrestricted(program), isAdministrator(program)]).toEqual([true, false, true]);
    expect(findExcess(person, makeHolder('*'))).toBe(null);
    expect(findExcess(program, makeHolder('*'))).not.toBe(null);
    expect(findExcess(program, makeHolder('groups:get'))).toBe(null);
  });
});
