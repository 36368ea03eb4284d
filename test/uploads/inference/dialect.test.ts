import { describe, expect, test } from 'vitest';
import { encodeFile, formatRows, inferBytes, inferText, readRefusal, readRows } from './reading.ts';

describe('the dialect of a CSV file', () => {
  test.each([
    ['a,b,c\n1,2,3\n', ','],
    ['a;b;c\n1;2;3\n', ';'],
    ['a\tb\tc\n1\t2\t3\n', '\t'],
    ['a|b|c\n1|2|3\n', '|'],
    ['a;b\n1,5;2,5\n3,5;4,5\n', ';'],
    ['nome;valor\n"Silva, Ana";1,50\n"Souza, Bia";2,75\n', ';'],
    ['a|b\nx, y|z; w\nq, r|s; t\n', '|'],
    ['a,b\n"x;y;z",1\n"u;v;w",2\n', ','],
    ['data;texto\n2024-01-01;olá, tudo bem, obrigado\n2024-01-02;sim\n', ';'],
    ['a\tb\nx, y\tz\nw\tv, u, t\n', '\t'],
    ['nome\nana\nbia\n', ','],
    ['frase\nola, mundo\ntudo bem\nnada\numa, duas, tres\n', ';'],
  ])('is inferred for %j with the delimiter %j', (text, delimiter) => {
    expect(inferText(text).schema.dialect.delimiter).toBe(delimiter);
  });

  test.each([
    ['LF', 'a,b\n1,2\n3,4\n'],
    ['CRLF', 'a,b\r\n1,2\r\n3,4\r\n'],
    ['CR', 'a,b\r1,2\r3,4\r'],
    ['CR CR LF', 'a,b\r\r\n1,2\r\r\n3,4\r\r\n'],
    ['CRLF, except after the last row', 'a,b\r\n1,2\r\n3,4'],
    ['LF and CRLF', 'a,b\n1,2\r\n3,4\n'],
    ['CR with one LF', 'a,b\r1,2\n3,4\r'],
    ['LF with one CR', 'a,b\n1,2\r3,4\n'],
    ['LF, CRLF and CR', 'a,b\r1,2\r\n3,4\n'],
    ['CR CR LF and LF', 'a,b\r\r\n1,2\n3,4\n'],
  ])('may have the line endings %s', (_name, text) => {
    expect(formatRows(readRows(encodeFile(text)))).toEqual(['1|2', '3|4']);
  });

  test.each([
    ['\n', '\r'],
    ['\r', '\n'],
    ['\r\n', '\r'],
    ['\r', '\r\n'],
  ])('may have the line ending %j everywhere, and %j once far down', (usualLineEnding, other) => {
    const rows = Array.from({ length: 20_000 }, (_, index) => [`"linha${usualLineEnding}${index}"`, `v${index}`]);
    const lines = rows.map((row) => row.join(',') + usualLineEnding);
    lines[19_000] = `${rows[19_000]?.join(',')}${other}`;
    const bytes = encodeFile(`a,b${usualLineEnding}${lines.join('')}`);
    for (const blockSize of [1 << 16, bytes.length]) expect(readRows(bytes, blockSize)).toHaveLength(20_000);
    expect(readRows(bytes).slice(19_000, 19_002)).toEqual(
      [19_000, 19_001].map((row) => [`linha${usualLineEnding}${row}`, `v${row}`]),
    );
  });

  test.each<[string, string, string[]]>([
    ['quoted delimiters', 'a,b\n"x,y",1\n', ['x,y|1']],
    ['quoted line endings', 'a,b\n"x\ny",1\n"z\r\nw",2\n', ['x\ny|1', 'z\r\nw|2']],
    ['doubled quotes', 'a,b\n"say ""hi""",1\n"""",2\n', ['say "hi"|1', '"|2']],
    ['backslashed quotes', 'a,b\n"say \\"hi\\", you",1\n"c:\\\\",2\n', ['say "hi", you|1', 'c:\\|2']],
    ['a lone backslash', 'a,b\n"c:\\",1\n"d:\\x",2\n', ['c:\\|1', 'd:\\x|2']],
    ['single quotes', "a,b\n'x,y',1\n'it''s',2\n", ['x,y|1', "it's|2"]],
    ['apostrophes', "a,b\nit's,1\n'tis,2\n", ["it's|1", "'tis|2"]],
    ['a quote inside a bare field', 'a,b\n5" tube,1\n6" tube,2\n', ['5" tube|1', '6" tube|2']],
    ['quotes inside quotes', 'a,b\n"he said "hi, you" to me",1\n"x",2\n', ['he said "hi, you" to me|1', 'x|2']],
    ['text after a quoted field, where others need their quotes', 'a,b\n"x"y,1\n"z, w",2\n', ['"x"y|1', 'z, w|2']],
    ['spaces after a quoted field', 'a,b\n"x" ,1\nz,2\n', ['x|1', 'z|2']],
    ['spaces before a quoted field', 'a,b\n1, "x, y"\n2, "z, w"\n', ['1|x, y', '2|z, w']],
    ['empty values, quoted or not', 'a,b\n"",1\n,2\n', ['∅|1', '∅|2']],
    ['spaces around texts, which are kept', 'a,b\n x ,1\n" y ",2\n', [' x |1', ' y |2']],
  ])('may have %s', (_name, text, rows) => {
    expect(formatRows(readRows(encodeFile(text)))).toEqual(rows);
  });

  test('is reported with its quote character, delimiter and encoding', () => {
    expect(inferText("a;b\n'x;y';1\n'z';2\n").schema.dialect).toEqual({
      encoding: 'utf-8',
      delimiter: ';',
      quote: "'",
      header: true,
      skipped_lines: 0,
      skipped: [],
      sheet: null,
      sheets: null,
    });
  });
});

const encodeUtf16 = (text: string, isLittleEndian: boolean, hasByteOrderMark: boolean): Uint8Array => {
  const codeUnits = [...(hasByteOrderMark ? '\ufeff' : ''), ...text].join('');
  const bytes = new Uint8Array(codeUnits.length * 2);
  const view = new DataView(bytes.buffer);
  for (let index = 0; index < codeUnits.length; index++)
    view.setUint16(index * 2, codeUnits.charCodeAt(index), isLittleEndian);
  return bytes;
};

const encodeLatin1 = (text: string): Uint8Array => Uint8Array.from(text, (letter) => letter.charCodeAt(0));

describe('a backslash before a delimiter in a CSV file', () => {
  const manyLines = Array.from({ length: 20_000 }, (_, index) => `${index},texto ${index}\n`).join('');

  test('is an escape where that gives every line the same number of fields', () => {
    const text = 'id,nome,valor\n1,Silva\\, Ana,10\n2,Souza\\, Bia,20\n3,Caio,30\n';
    expect(formatRows(readRows(encodeFile(text)))).toEqual(['1|Silva, Ana|10', '2|Souza, Bia|20', '3|Caio|30']);
    for (const blockSize of [7, 1 << 16]) expect(readRows(encodeFile(text), blockSize)).toHaveLength(3);
  });

  test('is an escape also in a decimal number', () => {
    const { schema } = inferText('nome,valor\nana,12\\,5\nbia,7\n');
    expect(schema.columns[1]).toMatchObject({ type: 'decimal', evidence: { format: '1234,56' } });
    expect(schema.sample_rows[0]?.valor).toBe(12.5);
  });

  test('is a character of the value where the lines have the same number of fields without escapes', () => {
    expect(formatRows(readRows(encodeFile('pasta,n\nC:\\,1\nD:\\,2\n')))).toEqual(['C:\\|1', 'D:\\|2']);
  });

  test.each([
    ['a backslash at its end', 'n,v\na\\,b,1\nc,2\nd\\\\,3\n'],
    ['two values', 'n,v\na\\,b,1\nc\\,d\n'],
  ])('is no escape where the last line would be narrower with escapes, which has %s', (_what, text) => {
    expect(readRefusal(() => inferText(text))).toMatchObject({ code: 'TOO_MANY_FIELDS', line: 2 });
  });

  test('is an escape also in a note below a wider table', () => {
    const text = 'n,v,w\na\\,b,1,2\nc,3,4\nFonte: IBGE\\, 2024\n';
    expect(formatRows(readRows(encodeFile(text)))).toEqual(['a,b|1|2', 'c|3|4']);
    expect(inferText(text).schema.dialect.skipped).toEqual([{ line: 4, text: 'Fonte: IBGE\\, 2024' }]);
  });

  test('is an escape also where the first one stands far down', () => {
    const bytes = encodeFile(`id,nome\n${manyLines}20000,Silva\\, Ana\n`);
    expect(readRows(bytes, 1 << 16).at(-1)).toEqual(['20000', 'Silva, Ana']);
  });

  test('is no escape anywhere where a line far down would get another number of fields', () => {
    const bytes = encodeFile(
      `id,nome,n\n1,Silva\\, Ana,1\n2,Bia,2\n${manyLines.replaceAll('\n', ',1\n')}20000,C:\\,5\n`,
    );
    expect(readRefusal(() => inferBytes(bytes, 1 << 16))).toMatchObject({ code: 'TOO_MANY_FIELDS', line: 2 });
  });
});

test.each<[string, Uint8Array]>([
  ['utf-8', encodeFile('a,b\nS\u0083o\u0001\u001b,1\né,2\n')],
  ['utf-16le', encodeUtf16('a,b\nS\u0083o\u0001\u001b,1\nk,2\n', true, true)],
  ['windows-1252', encodeLatin1('a,b\nS\x81o\u0001\u001b,1\n\xe9,2\n')],
])('control characters in a CSV file are kept in the values in %s', (encoding, bytes) => {
  const { schema } = inferBytes(bytes);
  expect([schema.dialect.encoding, schema.total_row_count_estimate]).toEqual([encoding, 2]);
  expect(readRows(bytes)[0]?.[0]).toBe(encoding === 'windows-1252' ? 'S\u0081o\u0001\u001b' : 'S\u0083o\u0001\u001b');
});

test('lines of a CSV file may end with more empty fields than a table can have columns', () => {
  const emptyFields = ','.repeat(16_000);
  expect(formatRows(readRows(encodeFile(`a,b${emptyFields}\n1,2${emptyFields}\n3,4${emptyFields}\n`)))).toEqual([
    '1|2',
    '3|4',
  ]);
});

test('a value of a CSV file may have more commas than a line can have fields', () => {
  const text = 'x,'.repeat(17_000);
  expect(readRows(encodeFile(`nome;nota\nana;${text}\nbia;${text}\n`))).toHaveLength(2);
});

describe('the encoding of a CSV file', () => {
  const text = 'nome,ok\nJosé 😀,sim\nÉdipo,não\n';
  test.each([
    ['utf-8', encodeFile(text)],
    ['utf-8', encodeFile(`\ufeff${text}`)],
    ['utf-16le', encodeUtf16(text, true, true)],
    ['utf-16be', encodeUtf16(text, false, true)],
    ['utf-16le', encodeUtf16(text, true, false)],
    ['utf-16be', encodeUtf16(text, false, false)],
  ])('may be %s', (encoding, bytes) => {
    const { schema } = inferBytes(bytes);
    expect(schema.dialect.encoding).toBe(encoding);
    expect(schema.columns.map((column) => `${column.name}:${column.type}`)).toEqual(['nome:text', 'ok:boolean']);
    expect(formatRows(readRows(bytes))).toEqual(['José 😀|sim', 'Édipo|não']);
  });

  test('may be Windows-1252', () => {
    const bytes = encodeLatin1('nome,ok,pre\xe7o\nJos\xe9,sim,\x80 5\n\xc9dipo,n\xe3o,\x936\x94\n');
    expect(inferBytes(bytes).schema.dialect.encoding).toBe('windows-1252');
    expect(inferBytes(bytes).schema.columns.map(({ name }) => name)).toEqual(['nome', 'ok', 'preco']);
    expect(inferBytes(bytes).schema.columns[1]?.type).toBe('boolean');
    expect(formatRows(readRows(bytes))).toEqual(['José|sim|€ 5', 'Édipo|não|“6”']);
  });

  test('is Windows-1252 for the whole file when a late byte is not UTF-8', () => {
    const earlyBytes = encodeFile('nome,n\nJosé,1\n');
    const filler = encodeFile('ana,2\n'.repeat(60_000));
    const lateBytes = encodeLatin1('caf\xe9,3\n');
    for (const parts of [
      [earlyBytes, filler, lateBytes],
      [encodeFile('nome,n\nbia,1\n'), filler, lateBytes],
    ]) {
      const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
      let at = 0;
      for (const part of parts) {
        bytes.set(part, at);
        at += part.length;
      }
      const { schema } = inferBytes(bytes, 300_000);
      expect(schema.dialect.encoding).toBe('windows-1252');
      expect(schema.total_row_count_estimate).toBe(60_002);
      expect(schema.sample_rows[0]?.nome).toBe(parts[0] === earlyBytes ? 'JosÃ©' : 'bia');
      expect(readRows(bytes, 300_000).at(-1)).toEqual(['café', '3']);
    }
  });

  test('keeps a byte order mark in the middle as a character of its value', () => {
    expect(formatRows(readRows(encodeFile('a,b\nx,1\n\ufeffy,2\n')))).toEqual(['x|1', '\ufeffy|2']);
  });
});

describe('the dialect of a CSV file', () => {
  const makeLines = (count: number) =>
    Array.from({ length: count }, (_, index) => `${index},nome ${index},${index}.5\n`).join('');

  test.each([
    ['a backslash before quotes', '7,"say \\"hi\\" ok",1.5', 'say "hi" ok'],
    ['a backslash before a quote and a delimiter', '7,"say \\"hi\\", ok",1.5', 'say "hi", ok'],
    ['a backslash before the last quote', '7,"a \\"b\\"",1.5\n8,"c",2', 'a "b"'],
    ['apostrophes around a delimiter', "7,'say hi, ok',1.5", 'say hi, ok'],
    ['a backslash before an apostrophe', "7,'it\\'s, ok',1.5", "it's, ok"],
    ['a space before a quote', '7, "say hi, ok",1.5', 'say hi, ok'],
    ['a space before a quote that needs none', '7, "say hi",1.5', 'say hi'],
  ])('is the same wherever the deciding row stands: %s', (_what, row, value) => {
    // Within the head that is read first, at its end, and in a later block.
    for (const count of [10, 399, 13_000]) {
      for (const encode of [encodeFile, (text: string) => encodeUtf16(text, true, true)]) {
        const bytes = encode(`id,texto,valor\n${makeLines(count)}${row}\n`);
        for (const blockSize of [1 << 16, bytes.length])
          expect(readRows(bytes, blockSize)[count]).toEqual(['7', value, '1.5']);
        expect(inferBytes(bytes).schema.columns[2]?.type).toBe('decimal');
      }
    }
  });

  test('is that of the file, where a quoted value with a delimiter stands in its head', () => {
    const bytes = encodeFile(`id,texto,valor\n1,"Silva, Ana",2\n${makeLines(1000)}7,"say \\"hi\\" ok",1.5\n`);
    expect(readRows(bytes).at(-1)).toEqual(['7', 'say "hi" ok', '1.5']);
  });

  test.each([
    ['text', 'name', 'Silva, Ana', 'text'],
    ['decimals', 'price', '12,50', 'decimal'],
  ])(
    'of one column of %s has no commas as delimiters, wherever the first comma stands',
    (_what, header, value, type) => {
      for (const count of [10, 420, 30_000]) {
        const lines = Array.from({ length: count }, (_, index) => `${type === 'text' ? 'Nome ' : ''}${index}\n`).join(
          '',
        );
        const bytes = encodeFile(`${header}\n${lines}${value}\n`);
        expect(inferBytes(bytes, 1 << 16).schema.columns).toMatchObject([{ name: header, type }]);
        expect(readRows(bytes, 1 << 16).at(-1)).toEqual([value]);
      }
    },
  );

  test('has no row names where a first field far down is a number', () => {
    for (const count of [10, 420, 30_000]) {
      const lines = Array.from({ length: count }, (_, index) => `n${index},${index},${index}.5\n`).join('');
      const listNames = (text: string) => inferBytes(encodeFile(text), 1 << 16).schema.columns.map(({ name }) => name);
      expect(listNames(`a,b\n${lines}`)).toEqual(['column_1', 'a', 'b']);
      expect(listNames(`a,b\n${lines}77,1,2\n`)).toEqual(['a', 'b', 'column_3']);
    }
  });

  test('keeps its row names where a first field far down is empty', () => {
    const lines = Array.from({ length: 450 }, (_, index) => `n${index},${index},${index}.5\n`).join('');
    expect(inferText(`a,b\n${lines},3,4.5\n`).schema.columns.map(({ name }) => name)).toEqual(['column_1', 'a', 'b']);
  });

  test('keeps double quotes as its quotes where values with apostrophes stand before them', () => {
    const rows = `450,'Zé',1.5\n451,"linha 1\nlinha 2",2.5\n452,'Til Dawn,3.5\n453,"Hello, you",4.5\n`;
    const bytes = encodeFile(`id,texto,valor\n${makeLines(450)}${rows}`);
    for (const blockSize of [1 << 10, 1 << 20]) {
      expect(readRows(bytes, blockSize).slice(450)).toEqual([
        ['450', "'Zé'", '1.5'],
        ['451', 'linha 1\nlinha 2', '2.5'],
        ['452', "'Til Dawn", '3.5'],
        ['453', 'Hello, you', '4.5'],
      ]);
    }
  });

  test('keeps the delimiter of its head although quotes, ordinary characters in the head, enclose lines far down', () => {
    const head = Array.from({ length: 450 }, (_, index) => `${index},cano 3" pvc,0.5\n`).join('');
    const bytes = encodeFile(`id,produto,valor\n${head}450,"um\nb, c, d","dois\ntres"\n`);
    expect(readRows(bytes).at(-1)).toEqual(['450', 'um\nb, c, d', 'dois\ntres']);
  });

  test.each([390, 397, 399])('is decided by all late records, with %i records in its head', (count) => {
    const filler = 'x'.repeat(Math.floor((256 * 1024) / count) - 8);
    const longLines = Array.from({ length: 500 }, (_, index) => `${1000 + index},${filler},1\n`).join('');
    const bytes = encodeFile(`i,texto,v\n${longLines}7,"say \\"hi\\"",1\n8, "a, b",1\n`);
    expect(readRows(bytes).slice(-2)).toEqual([
      ['7', 'say "hi"', '1'],
      ['8', 'a, b', '1'],
    ]);
  });

  test('stays as the head has it where a late row is an error in every dialect', () => {
    const bytes = encodeFile(`id,texto,valor\n${makeLines(5000)}1,2,3,4\n`);
    expect(readRefusal(() => inferBytes(bytes, 1 << 16))).toMatchObject({ code: 'TOO_MANY_FIELDS', line: 5002 });
  });
});
