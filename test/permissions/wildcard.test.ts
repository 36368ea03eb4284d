import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { matches, mayOverlap } from '../../src/permissions/wildcard.ts';

/** The definition, by trying every length of every run. */
function naive(pattern: string, text: string): boolean {
  if (pattern === '') return text === '';
  if (pattern[0] !== '*') return pattern[0] === text[0] && naive(pattern.slice(1), text.slice(1));
  return Array.from({ length: text.length + 1 }, (_, run) => naive(pattern.slice(1), text.slice(run))).includes(true);
}

const text = fc.string({ unit: fc.constantFrom('a', 'b', ':', '/'), maxLength: 10 });
const pattern = fc.string({ unit: fc.constantFrom('a', 'b', ':', '*', '*'), maxLength: 7 });

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
    expect(matches(pattern, text)).toBe(expected);
  });

  test('matches as a naive implementation does', () => {
    fc.assert(
      fc.property(pattern, text, (p, t) => matches(p, t) === naive(p, t)),
      { numRuns: 2000 },
    );
  });

  // Each way to place two hundred parts in the text, tried one after the other, would take for ever.
  test('matches without going back, however many wildcards fail late', () => {
    expect(matches(`${'*a'.repeat(200)}*b*`, 'a'.repeat(2000))).toBe(false);
  });

  test('matches also when it has left the cache', () => {
    for (let i = 0; i < 5000; i++) expect(matches(`p${i}*`, `p${i}-x`)).toBe(true);
    expect(matches('p0*', 'p0-x')).toBe(true);
    expect(matches('p0*', 'q0-x')).toBe(false);
  });
});

describe('a pattern that matches another as text', () => {
  test('matches everything that the other pattern matches', () => {
    fc.assert(
      fc.property(pattern, pattern, fc.array(text, { maxLength: 5 }), (outer, inner, runs) => {
        fc.pre(matches(outer, inner));
        let next = 0;
        const member = inner.replaceAll('*', () => runs[next++] ?? '');
        expect(matches(outer, member)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  test('is the only kind that matches everything that the other pattern matches', () => {
    fc.assert(
      fc.property(pattern, pattern, (outer, inner) => {
        fc.pre(!matches(outer, inner));
        expect(naive(outer, inner.replaceAll('*', 'z'))).toBe(false);
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
      fc.property(pattern, pattern, text, (a, b, t) => {
        fc.pre(matches(a, t) && matches(b, t));
        expect(mayOverlap(a, b)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});
