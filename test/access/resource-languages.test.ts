import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareAccess, findResources } from '../../src/access/comparison.ts';
import { compileAccess, decideAccess } from '../../src/access/evaluation.ts';
import {
  findShortestDifference,
  includesResource,
  makeComparisonBudget,
  type ResourceLanguage,
} from '../../src/access/resource-languages.ts';
import { ALL_ACTIONS } from '../../src/permissions/actions.ts';
import { matchesPattern } from '../../src/permissions/wildcard.ts';
import { arbitrarySources, COMPANY_ID, makeDocument, SOME_ACTIONS, SOME_RESOURCES } from '../permissions/arbitrary.ts';

const ARN_PREFIX = 'arn:svc:';
const LETTERS = ['a', 'b', 'x'];

/** Lists all texts of the letters in `LETTERS` up to a length, the shortest first. */
function listTextsUpTo(length: number): string[] {
  let last = [''];
  const allTexts = [''];
  for (let at = 0; at < length; at += 1) {
    last = last.flatMap((text) => LETTERS.map((letter) => text + letter));
    allTexts.push(...last);
  }
  return allTexts;
}

const RESOURCES = ['*', ...listTextsUpTo(7).map((text) => ARN_PREFIX + text)];
const isInLanguage = ({ allowPatterns: allow, denyPatterns: deny }: ResourceLanguage, resource: string) =>
  allow.some((pattern) => matchesPattern(pattern, resource)) &&
  !deny.some((pattern) => matchesPattern(pattern, resource));

/** Finds the shortest resource that only the first language contains. `x` stands for all letters that no pattern has. */
const findByBruteForce = (firstLanguage: ResourceLanguage, other: ResourceLanguage) =>
  RESOURCES.find((resource) => isInLanguage(firstLanguage, resource) && !isInLanguage(other, resource)) ?? null;

const compareLanguages = (firstLanguage: ResourceLanguage, other: ResourceLanguage) =>
  findShortestDifference(firstLanguage, other, makeComparisonBudget());

/** All patterns of at most three characters of two letters and the wildcard. */
const SHORT_PATTERNS = (() => {
  const patternCharacters = ['a', 'b', '*'];
  let last = [''];
  const allPatterns = [''];
  for (let at = 0; at < 3; at += 1) {
    last = last.flatMap((text) => patternCharacters.map((sign) => text + sign));
    allPatterns.push(...last);
  }
  return allPatterns.map((text) => ARN_PREFIX + text);
})();

describe('the shortest resource in which two sets of patterns differ', () => {
  test('is the resource that brute force finds, for every two short patterns', () => {
    for (const firstPattern of SHORT_PATTERNS) {
      for (const secondPattern of SHORT_PATTERNS) {
        const [some, other] = [
          { allowPatterns: [firstPattern], denyPatterns: [] },
          { allowPatterns: [secondPattern], denyPatterns: [] },
        ];
        const [found, expected] = [compareLanguages(some, other), findByBruteForce(some, other)];
        expect([firstPattern, secondPattern, found?.length]).toEqual([firstPattern, secondPattern, expected?.length]);
        if (found !== null)
          expect([firstPattern, secondPattern, isInLanguage(some, found), isInLanguage(other, found)]).toEqual([
            firstPattern,
            secondPattern,
            true,
            false,
          ]);
      }
    }
  });

  test('is the resource that brute force finds, for random Allow and Deny patterns', () => {
    const pattern = fc.oneof(
      fc.constantFrom('*', '**', 'arn:*', 'a*', '*a', '*b', '*a*', '*rn:svc:a*b', ...SHORT_PATTERNS),
      fc.array(fc.constantFrom('a', 'b', '*'), { maxLength: 5 }).map((signs) => ARN_PREFIX + signs.join('')),
    );
    const patterns = fc.array(pattern, { maxLength: 3 });
    const language = fc.record({ allowPatterns: patterns, denyPatterns: patterns });
    fc.assert(
      fc.property(language, language, (firstLanguage, other) => {
        const [found, expected] = [compareLanguages(firstLanguage, other), findByBruteForce(firstLanguage, other)];
        if (expected !== null) expect(found).toHaveLength(expected.length);
        // One that is longer than all that were tried.
        else if (found !== null) expect(found.length).toBeGreaterThan(ARN_PREFIX.length + 7);
        if (found !== null)
          expect([
            isInLanguage(firstLanguage, found),
            isInLanguage(other, found),
            includesResource(firstLanguage, found),
          ]).toEqual([true, false, true]);
      }),
      { numRuns: 3000 },
    );
  });

  test.each([
    ['**', '*'],
    ['arn:*', 'arn:svc:*'],
    ['a*', 'arn:svc:**'],
    ['arn:svc:*a*', 'arn:svc:***a**'],
  ])('does not exist between two spellings of the same set: %s and %s', (firstSpelling, secondSpelling) => {
    expect(
      compareLanguages(
        { allowPatterns: [firstSpelling], denyPatterns: [] },
        { allowPatterns: [secondSpelling], denyPatterns: [] },
      ),
    ).toBeNull();
    expect(
      compareLanguages(
        { allowPatterns: [secondSpelling], denyPatterns: [] },
        { allowPatterns: [firstSpelling], denyPatterns: [] },
      ),
    ).toBeNull();
  });

  test('is * between the set of all resources and the set of all resources with an ARN', () => {
    expect(
      compareLanguages({ allowPatterns: ['*'], denyPatterns: [] }, { allowPatterns: ['arn:*'], denyPatterns: [] }),
    ).toBe('*');
  });

  test('is found where only the union of several patterns equals another pattern', () => {
    const halves = { allowPatterns: ['arn:svc:*a*', 'arn:svc:*'], denyPatterns: ['arn:svc:*a*'] };
    expect(compareLanguages(halves, { allowPatterns: ['arn:svc:*'], denyPatterns: [] })).toBeNull();
    expect(compareLanguages({ allowPatterns: ['arn:svc:*'], denyPatterns: [] }, halves)).toBe('arn:svc:a');
  });

  test('never has half of a surrogate pair', () => {
    const difference = compareLanguages(
      { allowPatterns: ['arn:svc:*'], denyPatterns: ['arn:svc:', 'arn:svc:x', 'arn:svc:😀'] },
      { allowPatterns: [], denyPatterns: [] },
    );
    expect(difference?.isWellFormed()).toBe(true);
    expect(difference).toHaveLength(9);
    expect(
      compareLanguages(
        { allowPatterns: ['arn:svc:😀*'], denyPatterns: [] },
        { allowPatterns: ['arn:svc:😁*'], denyPatterns: [] },
      ),
    ).toBe('arn:svc:😀');
  });

  test('is found for patterns with 200 wildcards', () => {
    const longPattern = `arn:svc:${'*a'.repeat(200)}`;
    expect(
      compareLanguages(
        { allowPatterns: ['arn:svc:*'], denyPatterns: [longPattern] },
        { allowPatterns: [], denyPatterns: [] },
      ),
    ).toBe('arn:svc:');
    expect(
      compareLanguages(
        { allowPatterns: [longPattern], denyPatterns: [] },
        { allowPatterns: [`${longPattern}*b`], denyPatterns: [] },
      ),
    ).toBe(`arn:svc:${'a'.repeat(200)}`);
    expect(
      compareLanguages(
        { allowPatterns: [longPattern], denyPatterns: [] },
        { allowPatterns: [longPattern.replaceAll('*', '**')], denyPatterns: [] },
      ),
    ).toBeNull();
  });

  test('fails with an error for hostile patterns whose comparison would take years', () => {
    const letters = [...'abcdefghijklmnopqrstuvwxyz'];
    const suffixPatterns = letters.map((letter) => `arn:svc:*${letter}*q`);
    const startedAt = performance.now();
    // A place knows which letters came before, and there are 2^26 such sets.
    expect(() =>
      compareLanguages(
        { allowPatterns: ['arn:svc:*'], denyPatterns: suffixPatterns },
        { allowPatterns: ['arn:svc:*'], denyPatterns: [`arn:svc:${'*z'.repeat(200)}`] },
      ),
    ).toThrow(expect.objectContaining({ reason: 'access.too_complex' }));
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});

test('the set of resources on which an action is allowed has exactly the resources that the evaluator allows', () => {
  fc.assert(
    fc.property(arbitrarySources, (sources) => {
      const access = compileAccess(sources);
      for (const action of SOME_ACTIONS) {
        const language = findResources(access, action);
        for (const resource of SOME_RESOURCES)
          expect(includesResource(language, resource)).toBe(decideAccess(access, action, resource).allowed);
      }
    }),
  );
});

describe('a comparison of access before and after a change', () => {
  test('lists exactly the actions that the evaluator decides differently', () => {
    fc.assert(
      fc.property(arbitrarySources, arbitrarySources, (firstSources, secondSources) => {
        const [before, after] = [compileAccess(firstSources), compileAccess(secondSources)];
        const { gains, losses } = compareAccess(before, after);
        for (const { action, resource } of gains)
          expect([
            decideAccess(before, action, resource).allowed,
            decideAccess(after, action, resource).allowed,
          ]).toEqual([false, true]);
        for (const { action, resource } of losses)
          expect([
            decideAccess(before, action, resource).allowed,
            decideAccess(after, action, resource).allowed,
          ]).toEqual([true, false]);
        for (const action of SOME_ACTIONS) {
          for (const resource of SOME_RESOURCES) {
            const [was, is] = [before, after].map((access) => decideAccess(access, action, resource).allowed);
            if (!was && is) expect(gains.map((gain) => gain.action)).toContain(action);
            if (was && !is) expect(losses.map((loss) => loss.action)).toContain(action);
          }
        }
      }),
    );
  });

  test('treats mcp:connect, which needs no Allow, as allowed until a Deny covers it', () => {
    const compileStatement = (effect: 'Allow' | 'Deny') =>
      compileAccess({
        companyId: COMPANY_ID,
        isOwner: false,
        groups: [
          {
            id: 'g',
            roles: [],
            permissions: [],
            policies: [{ id: 'p', document: makeDocument({ effect, actions: ['mcp:connect'], resources: ['*'] }) }],
          },
        ],
      });
    const emptyAccess = compileAccess({ companyId: COMPANY_ID, isOwner: false, groups: [] });
    expect(compareAccess(emptyAccess, compileStatement('Allow'))).toEqual({ gains: [], losses: [] });
    expect(compareAccess(emptyAccess, compileStatement('Deny'))).toEqual({
      gains: [],
      losses: [{ action: 'mcp:connect', resource: '*' }],
    });
    const owner = compileAccess({ companyId: COMPANY_ID, isOwner: true, groups: [] });
    expect(compareAccess(emptyAccess, owner).gains).toHaveLength(ALL_ACTIONS.length - 1);
  });
});
