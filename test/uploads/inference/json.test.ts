import { describe, expect, it } from 'vitest';
import { encodeFile } from './reading.ts';
import { readRecords, readRecordsProblem, writeRecords } from './records.ts';

/** Both formats of a file with the same objects: a JSON array and NDJSON. */
const FILE_FORMATS: [string, (objects: string[]) => string][] = [
  ['a.json', (objects) => `[${objects.join(',\n  ')}]\n`],
  ['a.ndjson', (objects) => `${objects.join('\n')}\n`],
];

const encodeUtf16 = (text: string) =>
  new Uint8Array(Uint16Array.from({ length: text.length }, (_, at) => text.charCodeAt(at)).buffer);

/** An object with the greatest number of members, and many with one of them: a line of their text is far longer. */
const SPARSE_OBJECTS = [
  `{${Array.from({ length: 1000 }, (_, at) => `"c${at}": ${at}`).join()}}`,
  ...Array.from({ length: 10_000 }, (_, at) => `{"c999": ${at}}`),
];

describe.each(FILE_FORMATS)('the JSON objects of %s', (name, writeObjects) => {
  it.each([
    ['a byte order mark of UTF-8', (text: string) => encodeFile(`\ufeff${text}`)],
    ['UTF-16', (text: string) => encodeUtf16(`\ufeff${text}`)],
    ['UTF-16 without a byte order mark', encodeUtf16],
  ])('are read with %s', async (_, encode) => {
    const { rows } = await readRecords(name, encode(writeObjects(['{"a": "ção"}', '{"a": "é😀"}'])));
    expect(rows).toEqual([{ a: 'ção' }, { a: 'é😀' }]);
  });

  it.each([
    ['a trailing comma in an object', '{"a": 1,}', 'JSON_MALFORMED'],
    ['a name without quotes', '{a: 1}', 'JSON_MALFORMED'],
    ['a malformed number', '{"a": 01}', 'JSON_MALFORMED'],
    ['NaN', '{"a": NaN}', 'JSON_MALFORMED'],
    ['the same member twice', '{"b": 1, "b": 2}', 'JSON_DUPLICATE_MEMBER'],
    ['an array', '[1]', 'JSON_NOT_OBJECT'],
    ['a number', '7', 'JSON_NOT_OBJECT'],
    ['null', 'null', 'JSON_NOT_OBJECT'],
    ['10,000 nested arrays', `{"a": ${'['.repeat(10_000)}${']'.repeat(10_000)}}`, 'JSON_TOO_DEEP'],
    ['a NUL character', '{"a": "\\u0000"}', 'NUL_BYTE'],
    ['half of a surrogate pair', '{"a": "x\\ud800"}', 'UNREADABLE_BYTES'],
    ['a member name with half of a surrogate pair', '{"\\udc00": 1}', 'UNREADABLE_BYTES'],
    ['a member name of 2,000 characters', `{"${'x'.repeat(2000)}": 1}`, 'JSON_NAME_TOO_LONG'],
    ['1,001 members', `{${Array.from({ length: 1001 }, (_, at) => `"m${at}":1`).join()}}`, 'TOO_MANY_COLUMNS'],
    ['a text of 17 MiB', `{"a": "${'x'.repeat(17 * 1024 * 1024)}"}`, 'RECORD_TOO_LARGE'],
  ])('are refused, with their line or position, for %s', async (_, object, code) => {
    expect(await readRecordsProblem(name, writeObjects(['{"a": 1}', object]))).toMatchObject({
      code,
      line: 2,
      file: name,
    });
  });

  it('are refused for bytes that are not UTF-8', async () => {
    const bytes = encodeFile(writeObjects(['{"a": "x"}', '{"a": "?"}']));
    bytes[bytes.lastIndexOf(63)] = 0xe7;
    expect(await readRecordsProblem(name, bytes)).toMatchObject({ code: 'UNREADABLE_BYTES', line: 2 });
  });

  it('are refused for UTF-16 with half of a surrogate pair', async () => {
    const bytes = encodeUtf16(`\ufeff${writeObjects(['{"a": "x"}', '{"a": "\ud800"}'])}`);
    expect(await readRecordsProblem(name, bytes)).toMatchObject({ code: 'UNREADABLE_BYTES', line: 2 });
  });

  it.each([
    ['UTF-8', encodeFile],
    ['UTF-16', encodeUtf16],
  ])('become a text of which each call writes a part, however short the file is: %s', async (_, encode) => {
    const { text, lengths } = await writeRecords(name, encode(writeObjects(SPARSE_OBJECTS)), 1_000_000);
    const rows = Array.from({ length: 10_000 }, (_, at) => `${','.repeat(999)}${at}\n`);
    expect(new TextDecoder().decode(text)).toBe(
      `${Array.from({ length: 1000 }, (_, at) => at).join()}\n${rows.join('')}`,
    );
    for (const [call, length] of lengths.entries()) expect(length - (lengths[call - 1] ?? 0)).toBeLessThan(5 * 2 ** 20);
  });

  it('are refused with the line of bytes that are no text behind a long text', async () => {
    const bytes = encodeUtf16(`\ufeff${writeObjects([...SPARSE_OBJECTS, '{"c0": "\ud800"}'])}`);
    expect(await readRecordsProblem(name, bytes)).toMatchObject({ code: 'UNREADABLE_BYTES', line: 10_002 });
  });

  it('are refused when there are none, or only empty ones', async () => {
    expect(await readRecordsProblem(name, writeObjects([]))).toMatchObject({ code: 'NO_ROWS' });
    expect(await readRecordsProblem(name, writeObjects(['{}', '{}']))).toMatchObject({ code: 'NO_COLUMNS' });
  });
});

it.each([
  ['an object', '{"a": [{"b": 1}]}', 'JSON_NOT_ARRAY'],
  ['no content', '', 'JSON_NOT_ARRAY'],
  ['an array that is cut off in an object', '[{"a": 1}, {"a"', 'JSON_MALFORMED'],
  ['an array that is never closed', '[{"a": 1}', 'JSON_MALFORMED'],
  ['content behind the array', '[{"a": 1}] {"a": 2}', 'JSON_MALFORMED'],
  ['a trailing comma', '[{"a": 1},]', 'JSON_MALFORMED'],
  ['a missing comma between objects', '[{"a": 1} {"a": 2}]', 'JSON_MALFORMED'],
])('a JSON file is refused for %s', async (_, content, code) => {
  expect(await readRecordsProblem('c.json', content)).toMatchObject({ code });
});
