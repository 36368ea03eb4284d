import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { makeColumnListSchema, column as tableColumn } from '../../../src/modules/managed-tables/table.ts';
import { encodeFile, inferBytes, inferText, readRefusal } from './reading.ts';

/** Returns a text as a quoted CSV value. */
const quoteText = (text: string) => `"${text.replaceAll('"', '""')}"`;

describe('a long value in the result of an analysis', () => {
  test.each([
    ['doubled quotes', 'disse "oi" '],
    ['emoji', '😀'],
    ['emoji at odd places', 'a😀'],
    ['letters of two bytes', 'ção '],
  ])('is cut to its beginning, as it reads without quotes: %s', (_what, beginning) => {
    const value = beginning.repeat(4000);
    const { columns, sample_rows } = inferText(`k,v,w\n1,${quoteText(value)},x\n2,y,z\n`).schema;
    const { distinct_sample, counter_example } = columns[1]?.evidence ?? {};
    const shownValues = [distinct_sample?.[0], counter_example?.value, sample_rows[0]?.v] as string[];
    for (const text of shownValues) {
      expect(text.isWellFormed()).toBe(true);
      expect(text.endsWith('…')).toBe(true);
      expect(text.length).toBeGreaterThan(90);
      expect(value.startsWith(text.slice(0, -1))).toBe(true);
    }
  });

  test('has no … at its end when the whole value is shown', () => {
    const { columns, sample_rows } = inferText(`k,v\n1,${quoteText('a"b')}\n2,y\n`).schema;
    expect(columns[1]?.evidence.distinct_sample).toEqual(['a"b', 'y']);
    expect(sample_rows[0]?.v).toBe('a"b');
  });

  test('never ends with half a surrogate pair', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 200 }), fc.boolean(), (offset, isWide) => {
        const moreHeaders = isWide ? Array.from({ length: 120 }, (_, index) => `,c${index}`).join('') : '';
        const value = `${'a'.repeat(offset)}${'😀'.repeat(3000)}`;
        const moreValues = isWide ? ',1'.repeat(120) : '';
        const { schema } = inferText(
          `k,${value}${moreHeaders}\n1,${quoteText(value)}${moreValues}\n2,${value}${moreValues}\n`,
        );
        expect(JSON.stringify(schema)).not.toMatch(/\\ud[89a-f]|�/);
      }),
      { numRuns: 50 },
    );
    const problem = readRefusal(() => inferText(`a,b\n1,2\n3,4,${'a😀'.repeat(300)}\n`));
    expect(String(problem?.message).isWellFormed()).toBe(true);
    expect(JSON.stringify(problem)).not.toMatch(/\\ud[89a-f]/);
  });

  test('is cut with an … when it is a number, so it does not look like another number', () => {
    const longNumber = `0.${'1'.repeat(900)}`;
    const wideHeaders = Array.from({ length: 990 }, (_, index) => `c${index}`);
    const row = wideHeaders.map(() => longNumber).join(',');
    const { columns, sample_rows } = inferText(`${wideHeaders.join(',')}\n${row}\n`).schema;
    expect(columns[5]?.type).toBe('decimal');
    expect(sample_rows[0]?.c5).toMatch(/^0\.1{50,}…$/);
  });
});

describe('the columns that an analysis proposes', () => {
  const isAccepted = (text: string) => makeColumnListSchema(tableColumn).safeParse(inferText(text).schema.columns);

  test.each([
    ['255 characters', 'é'.repeat(255), 255],
    ['256 characters', 'é'.repeat(256), 255],
    ['3,000 characters', 'nome comprido '.repeat(220), 255],
    ['256 UTF-16 units, the last two of them an emoji', `${'a'.repeat(254)}😀`, 254],
  ])('can be confirmed with a header of %s', (_what, header, length) => {
    const { columns } = inferText(`k,${quoteText(header)}\n1,x\n2,y\n`).schema;
    expect(columns[1]?.display_name).toBe(header.trim().slice(0, length));
    expect(isAccepted(`k,${quoteText(header)}\n1,x\n2,y\n`).success).toBe(true);
  });

  test('can be confirmed with many long headers', () => {
    const header = Array.from({ length: 1000 }, (_, index) => `${index} ${'título longo '.repeat(40)}`);
    const text = `${header.join(',')}\n${header.map(() => 'x').join(',')}\n${header.map(() => 1).join(',')}\n`;
    expect(isAccepted(text).success).toBe(true);
    expect(inferText(text).schema.columns[999]?.display_name).toBe(`999 ${'título longo '.repeat(40)}`.slice(0, 255));
  });

  test('can be confirmed whatever text the header has', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'grapheme', maxLength: 300 }), { minLength: 1, maxLength: 5 }),
        (cells) => {
          const bytes = encodeFile(
            `${cells.map((cell) => quoteText(cell.replaceAll('\0', ''))).join(',')}\n${cells.map(() => 1).join(',')}\n`,
          );
          if (readRefusal(() => inferBytes(bytes)) !== null) return;
          expect(makeColumnListSchema(tableColumn).safeParse(inferBytes(bytes).schema.columns).error).toBeUndefined();
        },
      ),
      { numRuns: 500 },
    );
  });
});
