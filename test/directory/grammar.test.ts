import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  COMPARISONS,
  FILTER_LIMITS,
  type Filter,
  FilterSyntaxError,
  parseFilter,
  parsePath,
  printAttribute,
  type TargetPath,
} from '../../src/modules/directory/grammar.ts';
import { matchesFilter } from '../../src/modules/directory/match-filter.ts';

/** Returns the text of a filter; parsing it gives the same filter. */
function printFilter(filter: Filter): string {
  switch (filter.op) {
    case 'and':
    case 'or':
      return filter.filters
        .map((operand) =>
          operand.op === 'or' || operand.op === filter.op ? `(${printFilter(operand)})` : printFilter(operand),
        )
        .join(` ${filter.op} `);
    case 'not':
      return `not (${printFilter(filter.filter)})`;
    case 'has':
      return `${printAttribute(filter.path)}[${printFilter(filter.filter)}]`;
    case 'pr':
      return `${printAttribute(filter.path)} pr`;
    default:
      return `${printAttribute(filter.path)} ${filter.op} ${JSON.stringify(filter.value)}`;
  }
}

/** Returns the text of a path; parsing it gives the same path. */
function printPath({ filter, sub, ...path }: TargetPath): string {
  if (filter === undefined) return printAttribute({ ...path, ...(sub !== undefined && { sub }) });
  return `${printAttribute(path)}[${printFilter(filter)}]${sub === undefined ? '' : `.${sub}`}`;
}

const WORD = fc.stringMatching(/^[A-Za-z$][\w$-]{0,8}$/);
const schema = fc.stringMatching(/^urn:[a-z]{1,5}:[a-z0-9.:-]{0,12}$/);
const ATTRIBUTE_PATH = fc.record({ name: WORD, sub: WORD, schema }, { requiredKeys: ['name'] });
const value = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }).map((text) => text.toWellFormed()),
  fc.constantFrom(true, false, null),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (Object.is(number, -0) ? 0 : number)),
);
const COMPARISON = fc.oneof(
  fc.record({ op: fc.constantFrom(...COMPARISONS), path: ATTRIBUTE_PATH, value }),
  fc.record({ op: fc.constant('pr' as const), path: ATTRIBUTE_PATH }),
);

/** Generates filters as the parser makes them: lists of at least two terms, and no value path within another. */
const filters = (depth: number, isOutsideValuePath: boolean): fc.Arbitrary<Filter> => {
  if (depth === 0) return COMPARISON;
  const innerFilter = filters(depth - 1, isOutsideValuePath);
  const filterList = fc.array(innerFilter, { minLength: 2, maxLength: 3 });
  // What is joined by `and` within `and` stands in parentheses; `and` within `or` needs none.
  const listFilter = fc.record({ op: fc.constantFrom('and' as const, 'or' as const), filters: filterList });
  const notFilter = fc.record({ op: fc.constant('not' as const), filter: innerFilter });
  const valueFilter = fc.record({
    op: fc.constant('has' as const),
    path: ATTRIBUTE_PATH,
    filter: filters(depth - 1, false),
  });
  return fc.oneof(COMPARISON, listFilter, notFilter, ...(isOutsideValuePath ? [valueFilter] : []));
};

const countComparisons = (filter: Filter): number => {
  if (filter.op === 'and' || filter.op === 'or')
    return filter.filters.reduce((sum, listedFilter) => sum + countComparisons(listedFilter), 0);
  return filter.op === 'not' || filter.op === 'has' ? countComparisons(filter.filter) : 1;
};
const fitsLimits = (filter: Filter): boolean =>
  countComparisons(filter) <= FILTER_LIMITS.comparisons && printFilter(filter).length <= FILTER_LIMITS.characters;

describe('a SCIM filter', () => {
  it('is unchanged after printing and parsing', () => {
    fc.assert(
      fc.property(filters(3, true).filter(fitsLimits), (filter) => {
        expect(parseFilter(printFilter(filter))).toEqual(filter);
      }),
      { numRuns: 2000 },
    );
  });

  it('parsed from random text is unchanged after printing and parsing', () => {
    const RANDOM_WORDS = fc.array(
      fc.constantFrom(
        'a',
        'A.b',
        'eq',
        'PR',
        'not',
        'and',
        'OR',
        '(',
        ')',
        '[',
        ']',
        '"x"',
        '1',
        'true',
        '.v',
        'not (',
        'a eq 1',
      ),
      { maxLength: 14 },
    );
    let parsedCount = 0;
    fc.assert(
      fc.property(RANDOM_WORDS, (words) => {
        try {
          const filter = parseFilter(words.join(' '));
          parsedCount += 1;
          expect(parseFilter(printFilter(filter))).toEqual(filter);
        } catch (error) {
          if (!(error instanceof FilterSyntaxError)) throw error;
        }
      }),
      { numRuns: 20_000 },
    );
    expect(parsedCount).toBeGreaterThan(100);
  });

  it('may have operators in any case, and “and” binds more tightly than “or”', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((name) => ({ op: 'pr' as const, path: { name } }));
    expect(parseFilter('a PR Or b pR AND c pr')).toEqual({ op: 'or', filters: [a, { op: 'and', filters: [b, c] }] });
    expect(parseFilter('(a pr or b pr) and c pr')).toEqual({ op: 'and', filters: [{ op: 'or', filters: [a, b] }, c] });
    expect(parseFilter('NOT (a pr)and b pr')).toEqual({ op: 'and', filters: [{ op: 'not', filter: a }, b] });
    expect(parseFilter('not pr')).toEqual({ op: 'pr', path: { name: 'not' } });
  });

  it('matches texts in any case, with both small sigmas', () => {
    for (const text of ['ΝΊΚΟΣ', 'νίκος', 'νίκοσ'])
      expect([text, matchesFilter(parseFilter(`display sw "${text}"`), { display: 'Νίκοστρατος' })]).toEqual([
        text,
        true,
      ]);
  });

  it.each([1_000_000, 10_000, FILTER_LIMITS.depth + 1])('nested %i levels deep is refused', (depth) => {
    for (const [open, close] of [
      ['(', ')'],
      ['not (', ')'],
      ['a[', ']'],
    ] as const) {
      expect(() => parseFilter(`${open.repeat(depth)}a pr${close.repeat(depth)}`)).toThrow(FilterSyntaxError);
      expect(() => parsePath(`a[${open.repeat(depth)}a pr${close.repeat(depth)}]`)).toThrow(FilterSyntaxError);
    }
  });

  it.each([
    'a eq 1e999',
    'a eq 01',
    'a eq "\\ud800"',
    'a eq "\u0001"',
    'a eq nul',
    'a eq (1)',
    'a eq',
    'a',
    '',
    ' ',
    '"a" eq 1',
  ])('is refused: %s', (text) => {
    expect(() => parseFilter(text)).toThrow(FilterSyntaxError);
  });
});

describe('a SCIM attribute path', () => {
  const TARGET_PATH: fc.Arbitrary<TargetPath> = fc.oneof(
    ATTRIBUTE_PATH,
    fc.record(
      { name: WORD, sub: WORD, schema, filter: filters(2, false).filter(fitsLimits) },
      { requiredKeys: ['name', 'filter'] },
    ),
  );

  it('is unchanged after printing and parsing', () => {
    fc.assert(
      fc.property(TARGET_PATH, (path) => {
        expect(parsePath(printPath(path))).toEqual(path);
      }),
      { numRuns: 1000 },
    );
  });

  it.each(['', 'a[', 'a[]', 'a[b]', 'a[b pr].c.d', 'a b', '[b pr]', '.a', 'a.b.c'])('cannot be %s', (text) => {
    expect(() => parsePath(text)).toThrow(FilterSyntaxError);
  });
});
