import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileTemplate } from '../../src/sql-templates/compiled.ts';
import { listSqlTokens } from '../../src/sql-templates/lexer.ts';
import { type BoundValue, coerceParameter, type ParameterKind } from '../../src/sql-templates/parameters.ts';
import { acceptsList, findMisuse, parseTemplate, TemplateError } from '../../src/sql-templates/template.ts';

const PARAMETER_KINDS = new Map<string, ParameterKind>([
  ['r', 'select'],
  ['m', 'multi_select'],
  ['q', 'text'],
  ['n', 'number'],
  ['d', 'date'],
  ['p', 'date_range'],
]);
const ALL_VALUES: Record<string, unknown> = {
  r: 'R1',
  m: ['M1', 'M2'],
  q: 'Q1',
  n: 42,
  d: '2024-01-31',
  p: { from: '2024-01-01', to: '2024-02-01' },
};

const coerceValues = (sentValues: Record<string, unknown>) =>
  new Map(
    Object.entries(sentValues).map(([slug, input]): [string, BoundValue] => {
      const coercedValue = coerceParameter(PARAMETER_KINDS.get(slug) as ParameterKind, input);
      if ('problem' in coercedValue) throw new Error(coercedValue.problem);
      return [slug, coercedValue.value];
    }),
  );
const compileSql = (sql: string, sentValues: Record<string, unknown> = ALL_VALUES) =>
  compileTemplate(parseTemplate(sql), PARAMETER_KINDS, coerceValues(sentValues));
/** Returns the compiled text with spaces normalized. */
const compileTrimmedText = (sql: string, sentValues?: Record<string, unknown>) =>
  compileSql(sql, sentValues).text.replaceAll(/\s+/g, ' ').trim();

describe('an SQL template', () => {
  it.each([
    // Typed binding.
    ['x = {{r}}', 'x = ($1::text)'],
    ['x = ANY({{r}})', 'x = ANY( ($1::text[]) )'],
    ['x = any ( {{ r }} )', 'x = any ( ($1::text[]) )'],
    ['x <> ALL({{m}}::int[])', 'x <> ALL( ($1::text[]) ::int[])'],
    ['cardinality({{m}})', 'cardinality( ($1::text[]) )'],
    ['x ILIKE {{q}}', 'x ILIKE ($1::text)'],
    ['LIMIT {{n}}', 'LIMIT ($1::numeric)'],
    ['day = {{d}}', 'day = ($1::date)'],
    ['day BETWEEN {{p.from}} AND {{p.to}}', 'day BETWEEN ($1::date) AND ($2::date)'],
    ['{{q}} {{n}} {{q}}', '($1::text) ($2::numeric) ($1::text)'],
    ['{{r}} = ANY({{r}})', '($1::text) = ANY( ($2::text[]) )'],
    ['-{{n}}2', '- ($1::numeric) 2'],
    // Where braces are no parameter.
    ["'{{q}}'", "'{{q}}'"],
    ["'it''s {{q}}'", "'it''s {{q}}'"],
    ["E'\\'{{q}}'", "E'\\'{{q}}'"],
    ["E'a'\n  'b\\'{{q}}'", "E'a' 'b\\'{{q}}'"],
    ["e'\\\\' || {{q}}", "e'\\\\' || ($1::text)"],
    ["'\\' || {{q}}", "'\\' || ($1::text)"],
    ["U&'\\' || {{q}}", "U&'\\' || ($1::text)"],
    ['"{{q}}"', '"{{q}}"'],
    ['"a""{{q}}"', '"a""{{q}}"'],
    ['U&"{{q}}"', 'U&"{{q}}"'],
    ['$${{q}}$$', '$${{q}}$$'],
    ['$a$ {{q}} $$ {{q}} $a$ {{q}}', '$a$ {{q}} $$ {{q}} $a$ ($1::text)'],
    ['a$b$ {{q}}', 'a$b$ ($1::text)'],
    ['/* {{q}} /* [[ */ ]] */ {{q}}', '/* {{q}} /* [[ */ ]] */ ($1::text)'],
    ['-- {{q}}\n{{q}}', '-- {{q}} ($1::text)'],
    ['{{q}} +--{{n}}', '($1::text) +'],
    // Optional clauses.
    ['a [[AND r = {{r}}]] b', 'a AND r = ($1::text) b'],
    ['a[[AND r = {{r}}]]b', 'a AND r = ($1::text) b'],
    ["[[ x = ']]' AND r = {{r}} ]]", "x = ']]' AND r = ($1::text)"],
    ['[[ x[1] = {{n}} ]] y', 'x[1] = ($1::numeric) y'],
    ['[[ x[y[1]] = {{n}} ]] z', 'x[y[1]] = ($1::numeric) z'],
    ['ARRAY[[1,2],[3,4]]', 'ARRAY[[1,2],[3,4]]'],
    ['array [[{{n}}],[2]]', 'array [[ ($1::numeric) ],[2]]'],
    ['[[ x = ANY(ARRAY[[{{n}}]]) ]] y', 'x = ANY(ARRAY[[ ($1::numeric) ]]) y'],
    // The end of a statement.
    ['SELECT 1;', 'SELECT 1'],
    ['SELECT 1 ; -- done\n;', 'SELECT 1'],
    ["SELECT ';' ;", "SELECT ';'"],
    ['SELECT 1; SELECT 2;', 'SELECT 1; SELECT 2'],
    ['', ''],
    // What is left open is PostgreSQL's to refuse.
    ["{{q}} 'open {{q}}", "($1::text) 'open {{q}}"],
    ['{{q}} /* open {{q}}', '($1::text)'],
    ['{{q}} $a$ open {{q}}', '($1::text) $a$ open {{q}}'],
  ])('binds parameters with their types: %s', (sql, expected) => {
    expect(compileTrimmedText(sql)).toBe(expected);
  });

  it.each([
    ['a [[AND r = {{r}}]] b', {}, 'a b', []],
    ['a [[AND r = {{r}}]] b', { r: null }, 'a b', []],
    ['a [[AND r = {{r}}]] b', { r: '' }, 'a b', []],
    ['a [[AND m = ANY({{m}})]] b', { m: [] }, 'a b', []],
    ['[[r = {{r}} AND q = {{q}}]] x', { r: 'v' }, 'x', []],
    ['[[d >= {{p.from}}]] [[d < {{p.to}}]]', { p: { from: '2024-01-01' } }, 'd >= ($1::date)', ['2024-01-01']],
    ['[[d >= {{p.from}} AND d < {{p.to}}]] x', { p: { from: '2024-01-01' } }, 'x', []],
    ['{{r}} IS NULL OR r = {{r}}', {}, '($1::text) IS NULL OR r = ($1::text)', [null]],
    ['{{p.to}}', { p: { from: '2024-01-01' } }, '($1::date)', [null]],
    // What follows a comment that a clause ends in is its default, to the end of the line.
    ['x BETWEEN [[ {{n}} -- ]] 1\nAND 5', {}, 'x BETWEEN 1 AND 5', []],
    ['x BETWEEN [[ {{n}} -- ]] 1\nAND 5', { n: 3 }, 'x BETWEEN ($1::numeric) AND 5', ['3']],
    ['where x between [[ {{n}} -- ]] 1 and 5', {}, 'where x between 1 and 5', []],
    ['SELECT [[{{n}} --]]1;', {}, 'SELECT 1', []],
    ['SELECT [[{{n}} --]]1;', { n: 2 }, 'SELECT ($1::numeric)', ['2']],
    ['[[ {{n}} -- or ]] [[ {{q}} -- or ]] 1\r\nx', {}, '1 x', []],
    ['[[ {{n}} -- or ]] [[ {{q}} -- or ]] 1\r\nx', { q: 'a' }, '($1::text) x', ['a']],
    ['[[ {{n}} -- or ]] [[ {{q}} -- or ]] 1\r\nx', { n: 1, q: 'a' }, '($1::numeric) x', ['1']],
    ['[[ {{n}} -- ]] {{q}}\n{{q}}', { n: 1, q: 'a' }, '($1::numeric) ($2::text)', ['1', 'a']],
    ['[[ AND r = {{r}} -- why\n ]] b', { r: 'v' }, 'AND r = ($1::text) -- why b', ['v']],
    // What is dropped does not let its neighbours grow together.
    ['1 /[[{{n}}]]* 2', {}, '1 / * 2', []],
    ['-[[{{n}}]]- 1', {}, '- - 1', []],
    ["'a'[[{{n}}]]'b'", {}, "'a' 'b'", []],
    [
      'm = ANY({{m}})',
      { m: ['a"b', 'c\\d', "e'f", '{g}', 'h,i', ' ', 'NULL'] },
      'm = ANY( ($1::text[]) )',
      ['{"a\\"b","c\\\\d","e\'f","{g}","h,i"," ","NULL"}'],
    ],
  ])('keeps an optional clause only if its parameters have values: %s with %j', (sql, sentValues, text, values) => {
    expect(compileTrimmedText(sql, sentValues)).toBe(text);
    expect(compileSql(sql, sentValues).values).toEqual(values);
  });

  it.each([
    '{{}}',
    '{{ }}',
    '{{a b}}',
    '{{A}}',
    '{{a',
    '{{a}',
    '{{-a}}',
    '{{a--b}}',
    '{{a.}}',
    '{{a.until}}',
    '{{{q}}}',
    '{{q',
    "{{'q'}}",
    '[[ {{q}}',
    '[[ 1 ]]',
    '[[ [[ {{q}} ]] ]]',
    "[[ {{q}} ' ]]",
    '[[ {{q}} -- ] ]',
    '[[ {{q}} --',
    '[[ {{q}} /* ]]',
    '[[ -- {{q}} ]] 1',
    "[[ {{q}} -- ]] 'a\nb'",
    '[[ {{q}} -- ]] [[ {{n}}\n]]',
    '[[ {{q}} -- ]] /* a\n */ 1',
    'SELECT $1',
    'SELECT $12 + 1',
  ])('is refused when it is %s', (sql) => {
    expect(() => parseTemplate(sql)).toThrow(TemplateError);
  });

  it('binds an empty list, and keeps the clause of its parameter', () => {
    const values = new Map<string, BoundValue>([['r', { type: 'list', values: [] }]]);
    expect(compileTemplate(parseTemplate('[[r = ANY({{r}})]]'), PARAMETER_KINDS, values)).toEqual({
      text: expect.stringContaining('r = ANY('),
      values: ['{}'],
    });
  });

  it('refuses several values where its SQL compares with one value', () => {
    const values = new Map<string, BoundValue>([['r', { type: 'list', values: ['a', 'b'] }]]);
    expect(() => compileTemplate(parseTemplate('r = {{r}}'), PARAMETER_KINDS, values)).toThrow(TemplateError);
    expect(() => compileTemplate(parseTemplate('r = ANY({{r}}) OR r = {{r}}'), PARAMETER_KINDS, values)).toThrow(
      TemplateError,
    );
  });

  it('reports which parameters accept a list, and which are misused', () => {
    const template = parseTemplate('r = ANY({{r}}) AND q = {{q}} AND {{p}} = {{q.from}} AND {{other}}');
    expect([
      acceptsList(template, 'r', 'select'),
      acceptsList(template, 'q', 'select'),
      acceptsList(template, 'q', 'multi_select'),
    ]).toEqual([true, false, true]);
    expect(
      template.placeholders.map(
        (placeholder) => findMisuse(placeholder, PARAMETER_KINDS.get(placeholder.slug)) !== undefined,
      ),
    ).toEqual([false, false, true, true, true]);
  });
});

describe('any random SQL template', () => {
  const value = fc.string({ unit: 'grapheme', minLength: 8, maxLength: 40 }).map((text) => `«${text}»`);
  const arbitraryHostileValue = fc.constantFrom(
    "»'; DROP TABLE x; --",
    '»{{q}}',
    '»[[ {{n}} ]]',
    '»$1',
    '»$$',
    '»*/',
    '»"',
    '»\\',
  );
  const arbitraryFragments = fc.array(
    fc.constantFrom(
      '{{q}}',
      '{{r}}',
      'ANY({{m}})',
      '[[ AND q = {{q}} ]]',
      "'lit'",
      '-- c\n',
      '/* c */',
      '$$x$$',
      '"id"',
      'a',
      '1',
      '(',
      ')',
      '[1]',
      ' ',
      '::text',
      ';',
    ),
    { maxLength: 12 },
  );

  it('is compiled to a text that contains no value and does not depend on values', () => {
    fc.assert(
      fc.property(
        arbitraryFragments,
        fc.oneof(value, arbitraryHostileValue),
        fc.oneof(value, arbitraryHostileValue),
        (parts, firstValue, other) => {
          const sql = parts.join(' ');
          const [a, b] = [firstValue, other].map((text) =>
            compileSql(sql, {
              q: text.replaceAll('\0', ''),
              r: text.replaceAll('\0', ''),
              m: [text.replaceAll('\0', '')],
            }),
          );
          expect(a?.text).toBe(b?.text);
          expect(a?.text).not.toContain(firstValue);
          const numbers = [...(a?.text ?? '').matchAll(/\$(\d+)::/g)].map(([, number]) => Number(number));
          expect(new Set(numbers)).toEqual(new Set(a?.values.map((_, index) => index + 1)));
        },
      ),
      { numRuns: 3_000 },
    );
  });

  it('is not changed when it has no parameters', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (sql) => {
        fc.pre(!/\{\{|\[\[|\$\d/.test(sql) && !/[;]/.test(sql));
        const compiledTemplate = compileSql(sql, {});
        expect(compiledTemplate.values).toEqual([]);
        expect(sql.startsWith(compiledTemplate.text)).toBe(true);
      }),
      { numRuns: 3_000 },
    );
  });

  it('is split into tokens without gaps', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'aeuEU&$1\'"\\-/*\n [{;é'), maxLength: 60 }), (sql) => {
        const tokens = listSqlTokens(sql);
        expect(tokens.map(({ start, end }) => sql.slice(start, end)).join('')).toBe(sql);
        for (const { start, end } of tokens) expect(end).toBeGreaterThan(start);
      }),
      { numRuns: 5_000 },
    );
  });

  it('may have at most 20 optional clauses with a default per line', () => {
    const makeClauses = (count: number) => '[[{{q}}--]] '.repeat(count);
    expect(() => parseTemplate(makeClauses(21))).toThrow('a line holds at most 20 optional clauses with a default');
    const { pieces } = parseTemplate(`${makeClauses(20)}\n`.repeat(80));
    const conditionCount = pieces.reduce((sum, { place }) => sum + place.droppedClauses.length, 0);
    expect(conditionCount).toBeLessThanOrEqual(20 * pieces.length);
  });

  // In time that grows with the square of the length, these would outlast the limit of the test.
  it.each([
    '('.repeat(1_000_000),
    "E'".repeat(500_000),
    `E'a'${'-- '.repeat(350_000)}`,
    '/*'.repeat(500_000),
    '$a'.repeat(500_000),
    '{{q}}'.repeat(200_000),
    '[[{{q}}]]'.repeat(100_000),
  ])('is compiled in time that grows with its length, however deeply nested it is: %#', (sql) => {
    expect(() => compileSql(sql)).not.toThrow();
  });
});
