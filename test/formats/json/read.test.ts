import fc from 'fast-check';
import Papa from 'papaparse';
import { describe, expect, it } from 'vitest';
import { JsonProblem } from '../../../src/formats/json/problem.ts';
import { beginJson, type JsonForm, readJson } from '../../../src/formats/json/read.ts';
import { RecordWriter } from '../../../src/formats/records/writer.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Reads a file in pieces of the given sizes, one after another. @returns the lines of the rows, and the column names */
function readInPieces(
  jsonForm: JsonForm,
  text: string,
  sizes: number[],
  maxNames = 1000,
): { lines: string[]; names: string[] } {
  const bytes = encoder.encode(text);
  const writer = new RecordWriter();
  let state = beginJson();
  let output = '';
  for (let offset = 0, readCount = 0, size = sizes[0] ?? 100; ; readCount++) {
    const piece = bytes.slice(offset, offset + size);
    const isLast = offset + piece.length >= bytes.length;
    const next = readJson(jsonForm, state, piece, isLast, maxNames, writer);
    output += decoder.decode(writer.takeLines());
    state = next.state;
    offset += next.takenBytes;
    if (isLast) break;
    size = next.takenBytes > 0 ? (sizes[readCount % sizes.length] ?? 100) : size * 2;
  }
  return { lines: splitRows(output), names: state.names };
}

/** Splits a text into lines; a quoted value may contain line ends. */
function splitRows(text: string): string[] {
  const lines: string[] = [];
  let line = '';
  let inQuotes = false;
  for (const character of text) {
    if (character === '"') inQuotes = !inQuotes;
    if (character === '\n' && !inQuotes) {
      lines.push(line);
      line = '';
    } else line += character;
  }
  return lines;
}

/** Formats a value as it appears in a line. */
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
const arbitraryObjects = fc.array(
  fc.dictionary(
    name.map((key) => key.replaceAll('\0', '').replace('__proto__', 'p')),
    value,
    { maxKeys: 6 },
  ),
  { minLength: 1, maxLength: 12 },
);
const arbitraryPieceSizes = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 5 });
const hasNul = (value: unknown): boolean => JSON.stringify(value).includes('\\u0000');

describe('JSON objects that are read as rows', () => {
  it('keep their values, with any chunks and white space', () => {
    fc.assert(
      fc.property(
        arbitraryObjects,
        arbitraryPieceSizes,
        fc.constantFrom(undefined, 1, '\t'),
        (values, pieceSizes, indent) => {
          fc.pre(
            !values.some((object) =>
              Object.values(object).some((member) => typeof member === 'string' && hasNul(member)),
            ),
          );
          const plainObjects = values.map((object) => JSON.parse(JSON.stringify(object)) as Record<string, unknown>);
          const jsonLines = `${plainObjects.map((object) => JSON.stringify(object)).join('\n')}\n`;
          const jsonArray = JSON.stringify(plainObjects, null, indent);
          for (const { lines, names } of [
            readInPieces('lines', jsonLines, pieceSizes),
            readInPieces('array', jsonArray, pieceSizes),
          ]) {
            expect(names).toEqual([...new Set(plainObjects.flatMap((object) => Object.keys(object)))]);
            expect(lines).toHaveLength(plainObjects.length);
            for (const [row, line] of lines.entries()) {
              const fields = splitFields(line);
              const object = plainObjects[row] as Record<string, unknown>;
              expect(names.map((key, at) => [key, fields[at] ?? ''])).toEqual(
                names.map((key) => [key, formatValue(Object.hasOwn(object, key) ? object[key] : null)]),
              );
            }
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('are accepted only if JSON.parse accepts them, and are called malformed only if JSON.parse refuses them', () => {
    fc.assert(
      fc.property(
        arbitraryObjects,
        fc.nat(),
        fc.constantFrom(...'{}[],:"\\ 0-.eEtfnulr1\u0001x'),
        arbitraryPieceSizes,
        (values, position, character, pieceSizes) => {
          const jsonText = JSON.stringify(values);
          const at = position % jsonText.length;
          const changedText = jsonText.slice(0, at) + character + jsonText.slice(at + 1);
          let problem: JsonProblem | null = null;
          try {
            readInPieces('array', changedText, pieceSizes);
          } catch (error) {
            if (!(error instanceof JsonProblem)) throw error;
            problem = error;
          }
          if (problem === null) expect(() => JSON.parse(changedText)).not.toThrow();
          else if (['malformed', 'truncated', 'trailing_comma', 'more_after_end'].includes(problem.fault))
            expect(() => JSON.parse(changedText), changedText).toThrow();
        },
      ),
      { numRuns: 500 },
    );
  });

  it('may have up to 16 MiB, and are called too long only beyond that', () => {
    const makeLine = (length: number) => `{"a":"${'x'.repeat(length)}"}`;
    const limit = 16 * 2 ** 20 - makeLine(0).length;
    const isWritten = (line: string) => {
      const writer = new RecordWriter();
      readJson('lines', beginJson(), encoder.encode(line), true, 1, writer);
      return writer.takeLines().length > line.length - makeLine(0).length;
    };
    expect(isWritten(makeLine(limit))).toBe(true);
    expect(isWritten(`{"a":[${makeLine(limit - 10)}]}`)).toBe(true);
    expect(() => isWritten(makeLine(limit + 1))).toThrow('too_long');
  });

  it.each(['lines', 'array'] as const)('are written as a few MiB of lines, however many there are: %s', (jsonForm) => {
    const first = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`c${at}`, at]));
    const objects = [JSON.stringify(first), ...Array.from({ length: 20_000 }, () => '{"c999":1}')];
    const content = jsonForm === 'lines' ? objects.join('\n') : `[${objects.join()}]`;
    const writer = new RecordWriter();
    const { takenBytes, isFull } = readJson(jsonForm, beginJson(), encoder.encode(content), true, 1000, writer);
    expect([isFull, takenBytes < content.length]).toEqual([true, true]);
    expect(writer.takeLines().buffer.byteLength).toBeLessThanOrEqual(8 * 2 ** 20);
  });

  it('are refused with more distinct members in all objects together than allowed', () => {
    expect(readInPieces('lines', '{"a":1}\n{"b":1}', [100], 2).names).toEqual(['a', 'b']);
    expect(() => readInPieces('lines', '{"a":1}\n{"b":1}\n{"c":1}', [100], 2)).toThrow('too_many_members');
  });
});
