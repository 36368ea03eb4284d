import fc from 'fast-check';
import Papa from 'papaparse';
import { describe, expect, it } from 'vitest';
import { JsonProblem } from '../../../src/formats/json/problem.ts';
import { beginJson, type JsonForm, readJson } from '../../../src/formats/json/read.ts';
import { RecordWriter } from '../../../src/formats/records/writer.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The text of a file that is read in pieces of these sizes, one after another, and the names of its columns. */
function readInPieces(
  form: JsonForm,
  text: string,
  sizes: number[],
  most = 1000,
): { lines: string[]; names: string[] } {
  const bytes = encoder.encode(text);
  const writer = new RecordWriter();
  let state = beginJson();
  let out = '';
  for (let offset = 0, turn = 0, size = sizes[0] ?? 100; ; turn++) {
    const piece = bytes.slice(offset, offset + size);
    const isLast = offset + piece.length >= bytes.length;
    const next = readJson(form, state, piece, isLast, most, writer);
    out += decoder.decode(writer.take());
    state = next.state;
    offset += next.taken;
    if (isLast) break;
    size = next.taken > 0 ? (sizes[turn % sizes.length] ?? 100) : size * 2;
  }
  return { lines: splitRows(out), names: state.names };
}

/** The lines of a text, of which one may hold line ends in quotes. */
function splitRows(text: string): string[] {
  const lines: string[] = [];
  let line = '';
  let inQuotes = false;
  for (const sign of text) {
    if (sign === '"') inQuotes = !inQuotes;
    if (sign === '\n' && !inQuotes) {
      lines.push(line);
      line = '';
    } else line += sign;
  }
  return lines;
}

/** A value as a line has it. */
function formatValue(value: unknown): string {
  if (value === null || value === undefined || value === '') return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const splitFields = (line: string): string[] =>
  (Papa.parse(line, { newline: '\n', delimiter: ',' }).data[0] ?? ['']) as string[];

const name = fc.oneof(fc.constantFrom('a', 'b', 'c', '', 'ç', '"'), fc.string({ unit: 'grapheme', maxLength: 5 }));
const text = fc.string({ unit: 'grapheme' }).map((value) => value.replaceAll('\0', ''));
const value = fc.oneof(
  text,
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.jsonValue(),
);
const objects = fc.array(
  fc.dictionary(
    name.map((key) => key.replaceAll('\0', '').replace('__proto__', 'p')),
    value,
    { maxKeys: 6 },
  ),
  { minLength: 1, maxLength: 12 },
);
const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 5 });
const hasNul = (value: unknown): boolean => JSON.stringify(value).includes('\\u0000');

describe('JSON objects that are read as rows', () => {
  it('keep their values, with any chunks and white space', () => {
    fc.assert(
      fc.property(objects, sizes, fc.constantFrom(undefined, 1, '\t'), (values, pieces, space) => {
        fc.pre(
          !values.some((object) =>
            Object.values(object).some((member) => typeof member === 'string' && hasNul(member)),
          ),
        );
        const plain = values.map((object) => JSON.parse(JSON.stringify(object)) as Record<string, unknown>);
        const asLines = `${plain.map((object) => JSON.stringify(object)).join('\n')}\n`;
        const inArray = JSON.stringify(plain, null, space);
        for (const { lines, names } of [
          readInPieces('lines', asLines, pieces),
          readInPieces('array', inArray, pieces),
        ]) {
          expect(names).toEqual([...new Set(plain.flatMap((object) => Object.keys(object)))]);
          expect(lines).toHaveLength(plain.length);
          for (const [row, line] of lines.entries()) {
            const fields = splitFields(line);
            const object = plain[row] as Record<string, unknown>;
            expect(names.map((key, at) => [key, fields[at] ?? ''])).toEqual(
              names.map((key) => [key, formatValue(Object.hasOwn(object, key) ? object[key] : null)]),
            );
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('are accepted only where JSON.parse accepts them, and called malformed only where it refuses them', () => {
    fc.assert(
      fc.property(
        objects,
        fc.nat(),
        fc.constantFrom(...'{}[],:"\\ 0-.eEtfnulr1\u0001x'),
        sizes,
        (values, place, sign, pieces) => {
          const whole = JSON.stringify(values);
          const at = place % whole.length;
          const changed = whole.slice(0, at) + sign + whole.slice(at + 1);
          let problem: JsonProblem | null = null;
          try {
            readInPieces('array', changed, pieces);
          } catch (error) {
            if (!(error instanceof JsonProblem)) throw error;
            problem = error;
          }
          if (problem === null) expect(() => JSON.parse(changed)).not.toThrow();
          else if (['malformed', 'truncated', 'trailing_comma', 'more_after_end'].includes(problem.fault))
            expect(() => JSON.parse(changed), changed).toThrow();
        },
      ),
      { numRuns: 500 },
    );
  });

  it('are refused with more distinct members than allowed in all objects together', () => {
    expect(readInPieces('lines', '{"a":1}\n{"b":1}', [100], 2).names).toEqual(['a', 'b']);
    expect(() => readInPieces('lines', '{"a":1}\n{"b":1}\n{"c":1}', [100], 2)).toThrow('too_many_members');
  });
});
