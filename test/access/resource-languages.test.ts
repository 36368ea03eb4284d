import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareAccess, findResources } from '../../src/access/comparison.ts';
import { compileAccess, decide } from '../../src/access/evaluation.ts';
import {
  findShortestDifference,
  includesResource,
  makeComparisonBudget,
  type ResourceLanguage,
} from '../../src/access/resource-languages.ts';
import { ALL_ACTIONS } from '../../src/permissions/actions.ts';
import { matches } from '../../src/permissions/wildcard.ts';
import { COMPANY, documentOf, SOME_ACTIONS, SOME_RESOURCES, sources } from '../permissions/arbitrary.ts';

const PREFIX = 'arn:svc:';
const LETTERS = ['a', 'b', 'x'];

/** All texts of these letters up to a length, the shortest first. */
function listTextsUpTo(length: number): string[] {
  let last = [''];
  const all = [''];
  for (let at = 0; at < length; at += 1) {
    last = last.flatMap((text) => LETTERS.map((letter) => text + letter));
    all.push(...last);
  }
  return all;
}

const RESOURCES = ['*', ...listTextsUpTo(7).map((text) => PREFIX + text)];
const isIn = ({ allow, deny }: ResourceLanguage, resource: string) =>
  allow.some((pattern) => matches(pattern, resource)) && !deny.some((pattern) => matches(pattern, resource));

/** `x` stands for the letters that no pattern holds. */
const findByBruteForce = (some: ResourceLanguage, other: ResourceLanguage) =>
  RESOURCES.find((resource) => isIn(some, resource) && !isIn(other, resource)) ?? null;

const compareLanguages = (some: ResourceLanguage, other: ResourceLanguage) =>
  findShortestDifference(some, other, makeComparisonBudget());

/** All patterns of at most three characters of two letters and the wildcard. */
const SHORT_PATTERNS = (() => {
  const signs = ['a', 'b', '*'];
  let last = [''];
  const all = [''];
  for (let at = 0; at < 3; at += 1) {
    last = last.flatMap((text) => signs.map((sign) => text + sign));
    all.push(...last);
  }
  return all.map((text) => PREFIX + text);
})();

describe('the shortest resource in which two sets of patterns differ', () => {
  test('is the one that brute force finds, for every two short patterns', () => {
    for (const one of SHORT_PATTERNS) {
      for (const two of SHORT_PATTERNS) {
        const [some, other] = [
          { allow: [one], deny: [] },
          { allow: [two], deny: [] },
        ];
        const [found, expected] = [compareLanguages(some, other), findByBruteForce(some, other)];
        expect([one, two, found?.length]).toEqual([one, two, expected?.length]);
        if (found !== null) expect([one, two, isIn(some, found), isIn(other, found)]).toEqual([one, two, true, false]);
      }
    }
  });

  test('is the one that brute force finds, for random Allow and Deny patterns', () => {
    const pattern = fc.oneof(
      fc.constantFrom('*', '**', 'arn:*', 'a*', '*a', '*b', '*a*', '*rn:svc:a*b', ...SHORT_PATTERNS),
      fc.array(fc.constantFrom('a', 'b', '*'), { maxLength: 5 }).map((signs) => PREFIX + signs.join('')),
    );
    const patterns = fc.array(pattern, { maxLength: 3 });
    const language = fc.record({ allow: patterns, deny: patterns });
    fc.assert(
      fc.property(language, language, (some, other) => {
        const [found, expected] = [compareLanguages(some, other), findByBruteForce(some, other)];
        if (expected !== null) expect(found).toHaveLength(expected.length);
        // One that is longer than all that were tried.
        else if (found !== null) expect(found.length).toBeGreaterThan(PREFIX.length + 7);
        if (found !== null)
          expect([isIn(some, found), isIn(other, found), includesResource(some, found)]).toEqual([true, false, true]);
      }),
      { numRuns: 3000 },
    );
  });

  test.each([
    ['**', '*'],
    ['arn:*', 'arn:svc:*'],
    ['a*', 'arn:svc:**'],
    ['arn:svc:*a*', 'arn:svc:***a**'],
  ])('does not exist between two spellings of the same set: %s and %s', (one, two) => {
    expect(compareLanguages({ allow: [one], deny: [] }, { allow: [two], deny: [] })).toBeNull();
    expect(compareLanguages({ allow: [two], deny: [] }, { allow: [one], deny: [] })).toBeNull();
  });

  test('is * between all resources and all that have an ARN', () => {
    expect(compareLanguages({ allow: ['*'], deny: [] }, { allow: ['arn:*'], deny: [] })).toBe('*');
  });

  test('is found where only several patterns together equal another', () => {
    const halves = { allow: ['arn:svc:*a*', 'arn:svc:*'], deny: ['arn:svc:*a*'] };
    expect(compareLanguages(halves, { allow: ['arn:svc:*'], deny: [] })).toBeNull();
    expect(compareLanguages({ allow: ['arn:svc:*'], deny: [] }, halves)).toBe('arn:svc:a');
  });

  test('never has half of a surrogate pair', () => {
    const found = compareLanguages(
      { allow: ['arn:svc:*'], deny: ['arn:svc:', 'arn:svc:x', 'arn:svc:😀'] },
      { allow: [], deny: [] },
    );
    expect(found?.isWellFormed()).toBe(true);
    expect(found).toHaveLength(9);
    expect(compareLanguages({ allow: ['arn:svc:😀*'], deny: [] }, { allow: ['arn:svc:😁*'], deny: [] })).toBe(
      'arn:svc:😀',
    );
  });

  test('is found for patterns with 200 wildcards', () => {
    const many = `arn:svc:${'*a'.repeat(200)}`;
    expect(compareLanguages({ allow: ['arn:svc:*'], deny: [many] }, { allow: [], deny: [] })).toBe('arn:svc:');
    expect(compareLanguages({ allow: [many], deny: [] }, { allow: [`${many}*b`], deny: [] })).toBe(
      `arn:svc:${'a'.repeat(200)}`,
    );
    expect(compareLanguages({ allow: [many], deny: [] }, { allow: [many.replaceAll('*', '**')], deny: [] })).toBeNull();
  });

  test('is given up with an error for hostile patterns that would need years', () => {
    const letters = [...'abcdefghijklmnopqrstuvwxyz'];
    const ends = letters.map((letter) => `arn:svc:*${letter}*q`);
    const started = performance.now();
    // A place knows which letters came before, and there are 2^26 such sets.
    expect(() =>
      compareLanguages(
        { allow: ['arn:svc:*'], deny: ends },
        { allow: ['arn:svc:*'], deny: [`arn:svc:${'*z'.repeat(200)}`] },
      ),
    ).toThrow(expect.objectContaining({ reason: 'access.too_complex' }));
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});

describe('the set of resources on which an action is allowed', () => {
  test('has exactly the resources that the evaluator allows', () => {
    fc.assert(
      fc.property(sources, (of) => {
        const access = compileAccess(of);
        for (const action of SOME_ACTIONS) {
          const language = findResources(access, action);
          for (const resource of SOME_RESOURCES)
            expect(includesResource(language, resource)).toBe(decide(access, action, resource).allowed);
        }
      }),
    );
  });
});

describe('a comparison of access before and after a change', () => {
  test('lists exactly the actions that the evaluator decides differently', () => {
    fc.assert(
      fc.property(sources, sources, (one, two) => {
        const [before, after] = [compileAccess(one), compileAccess(two)];
        const { gains, losses } = compareAccess(before, after);
        for (const { action, resource } of gains)
          expect([decide(before, action, resource).allowed, decide(after, action, resource).allowed]).toEqual([
            false,
            true,
          ]);
        for (const { action, resource } of losses)
          expect([decide(before, action, resource).allowed, decide(after, action, resource).allowed]).toEqual([
            true,
            false,
          ]);
        for (const action of SOME_ACTIONS) {
          for (const resource of SOME_RESOURCES) {
            const [was, is] = [before, after].map((access) => decide(access, action, resource).allowed);
            if (!was && is) expect(gains.map((gain) => gain.action)).toContain(action);
            if (was && !is) expect(losses.map((loss) => loss.action)).toContain(action);
          }
        }
      }),
    );
  });

  test('takes mcp:connect, which needs no Allow, as allowed until a Deny covers it', () => {
    const access = (effect: 'Allow' | 'Deny') =>
      compileAccess({
        companyId: COMPANY,
        isOwner: false,
        groups: [
          {
            id: 'g',
            roles: [],
            permissions: [],
            policies: [{ id: 'p', document: documentOf({ effect, actions: ['mcp:connect'], resources: ['*'] }) }],
          },
        ],
      });
    const nobody = compileAccess({ companyId: COMPANY, isOwner: false, groups: [] });
    expect(compareAccess(nobody, access('Allow'))).toEqual({ gains: [], losses: [] });
    expect(compareAccess(nobody, access('Deny'))).toEqual({
      gains: [],
      losses: [{ action: 'mcp:connect', resource: '*' }],
    });
    const owner = compileAccess({ companyId: COMPANY, isOwner: true, groups: [] });
    expect(compareAccess(nobody, owner).gains).toHaveLength(ALL_ACTIONS.length - 1);
  });
});
