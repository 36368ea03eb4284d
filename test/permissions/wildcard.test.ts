import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { matchesPattern, mayOverlap } from '../../src/permissions/wildcard.ts';

/** Matches by the definition of wildcards: tries every length of every run. */
function matchNaively(pattern: string, text: string): boolean {
  if (pattern === '') return text === '';
  if (pattern[0] !== '*') return pattern[0] === text[0] && matchNaively(pattern.slice(1), text.slice(1));
  return Array.from({ length: text.length + 1 }, (_, run) => matchNaively(pattern.slice(1), text.slice(run))).includes(
    true,
  );
}

const text = fc.string({ unit: fc.constantFrom('a', 'b', ':', '/'), maxLength: 10 });
const arbitraryPattern = fc.string({ unit: fc.constantFrom('a', 'b', ':', '*', '*'), maxLength: 7 });

describe('a wildcard pattern', () => {
  test.each([
    ['users:list', 'users:list', true],
    ['users:list', 'users:list_integration_users', false],
    ['users:*', 'users:list', true],
    ['users:*', 'users:', true],
    ['users:*', 'groups:list', false],
    ['*:list', 'users:list', true],
    ['*:list', 'users:lists', false],
    ['*', '', true],
    ['**', 'anything', true],
    ['', '', true],
    ['', 'a', false],
    ['a*a', 'a', false],
    ['a*a', 'aa', true],
    ['ab*ba', 'aba', false],
    ['*ab*ab*', 'xabyabz', true],
    ['*ab*ab*', 'xabz', false],
    ['a*b*c', 'a-b-b-c', true],
    ['a*bc*c', 'abc', false],
    ['Users:*', 'users:list', false],
    ['a.c', 'abc', false],
    ['a?c', 'abc', false],
    ['[ab]', 'a', false],
    ['arn:svc:users::*:user/*', 'arn:svc:users::c1:user/*', true],
    ['arn:svc:users::*:user/u1', 'arn:svc:users::c1:user/*', false],
  ])('%j matches %j: %j', (pattern, text, expected) => {
    expect(matchesPattern(pattern, text)).toBe(expected);
  });

  test('matches as a naive implementation does', () => {
    fc.assert(
      fc.property(arbitraryPattern, text, (p, t) => matchesPattern(p, t) === matchNaively(p, t)),
      { numRuns: 2000 },
    );
  });

  // Each way to place two hundred parts in the text, tried one after the other, would take for ever.
  test('matches without backtracking, however late many wildcards fail', () => {
    expect(matchesPattern(`${'*a'.repeat(200)}*b*`, 'a'.repeat(2000))).toBe(false);
  });

  test('still matches after it has left the cache', () => {
    for (let i = 0; i < 5000; i++) expect(matchesPattern(`p${i}*`, `p${i}-x`)).toBe(true);
    expect(matchesPattern('p0*', 'p0-x')).toBe(true);
    expect(matchesPattern('p0*', 'q0-x')).toBe(false);
  });
});

describe('a pattern that matches another as text', () => {
  test('matches everything that the other pattern matches', () => {
    fc.assert(
      fc.property(
        arbitraryPattern,
        arbitraryPattern,
        fc.array(text, { maxLength: 5 }),
        (outerPattern, innerPattern, runs) => {
          fc.pre(matchesPattern(outerPattern, innerPattern));
          let next = 0;
          const member = innerPattern.replaceAll('*', () => runs[next++] ?? '');
          expect(matchesPattern(outerPattern, member)).toBe(true);
        },
      ),
      { numRuns: 2000 },
    );
  });

  test('is the only kind that matches everything that the other pattern matches', () => {
    fc.assert(
      fc.property(arbitraryPattern, arbitraryPattern, (outerPattern, innerPattern) => {
        fc.pre(!matchesPattern(outerPattern, innerPattern));
        expect(matchNaively(outerPattern, innerPattern.replaceAll('*', 'z'))).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('the overlap of two patterns', () => {
  test.each([
    ['a*', '*b', true],
    ['a*', 'b*', false],
    ['*a', '*b', false],
    ['a*', 'ab', true],
    ['ab', 'a*', true],
    ['ac', 'ab', false],
    ['arn:svc:users::c:user/*', 'arn:svc:groups::c:group/*', false],
    ['arn:svc:users::c:user/*', '*:user/u1', true],
  ])('is found for %j and %j: %j', (a, b, expected) => {
    expect(mayOverlap(a, b)).toBe(expected);
  });

  test('is found wherever a text matches both', () => {
    fc.assert(
      fc.property(arbitraryPattern, arbitraryPattern, text, (a, b, t) => {
        fc.pre(matchesPattern(a, t) && matchesPattern(b, t));
        expect(mayOverlap(a, b)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});
