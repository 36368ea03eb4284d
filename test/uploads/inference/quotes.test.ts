import { describe, expect, test } from 'vitest';
import { encodeFile, formatRows, inferBytes, inferText, readRefusal, readRows } from './reading.ts';

const inferQuote = (text: string) => inferText(text).schema.dialect.quote;
const makeLines = (count: number, makeLine: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => `${makeLine(index)}\n`).join('');

/** Rows of a table with a key and a text, more than the part that decides the dialect. */
const manyRows = makeLines(30_000, (index) => `${index}\ttexto sem aspas ${index}`);

describe('quotes in a CSV file that are valid with only one delimiter', () => {
  test('decide for that delimiter, though more lines fit another delimiter', () => {
    const text = ',x\n,+5511999998888,Fonte\n"x, y; z",7.25\n';
    expect(readRefusal(() => inferText(text)) ?? readRows(encodeFile(text)).flat()).not.toContain('"x');
    expect(readRefusal(() => inferText('Relatório\nAna\n"a|b"|Ana\n# a|b|c\n'))).toMatchObject({
      code: 'TOO_MANY_FIELDS',
    });
  });

  test('keep a value of two lines whole although some lines have too many fields', () => {
    const text = 'x\nvalor;\n"duas\nlinhas";\nvalor;2019\n;1\nAna;\n"duas\nlinhas";1;2\nn/d\n';
    const result = readRefusal(() => inferText(text)) ?? readRows(encodeFile(text)).flat();
    expect(result).not.toContain('"duas');
  });

  test('are characters of the values where they are valid with no delimiter', () => {
    expect(formatRows(readRows(encodeFile('texto\n"Ana" disse, sim\nBia, "não"; talvez\n')))).toEqual([
      '"Ana" disse, sim',
      'Bia, "não"; talvez',
    ]);
  });
});

describe('invalid quotes in a CSV file', () => {
  test.each([
    ['a quote that is never closed', 'id\ttitle\n1\t"Foo\n2\tbar\n3\tbaz\n', ['1|"Foo', '2|bar', '3|baz']],
    ['text after a closing quote', 'id\ttitle\n1\t"Crocodile" Dundee\n2\tbar\n', ['1|"Crocodile" Dundee', '2|bar']],
    ['a quote in the middle of values', 'id,size\n1,5" tube\n2,6" tube\n', ['1|5" tube', '2|6" tube']],
    [
      'quotes around some values, and an unclosed quote in others',
      'id\ttitle\n1\t"Heroes"\n2\t"Low\n3\tLodger\n4\tStage\n',
      ['1|"Heroes"', '2|"Low', '3|Lodger', '4|Stage'],
    ],
  ])('are characters of the values: %s', (_what, text, rows) => {
    expect(inferQuote(text)).toBeNull();
    expect(formatRows(readRows(encodeFile(text)))).toEqual(rows);
  });

  test('do not join the rows between two quotes that are 27 rows apart', () => {
    const text = `id\tname\tsize\n${makeLines(60, (index) => `${index}\t${index === 20 ? '"Foo' : 'foo'}\t${index === 47 ? '12"' : '9'}`)}`;
    expect(inferQuote(text)).toBeNull();
    const rows = readRows(encodeFile(text));
    expect(rows).toHaveLength(60);
    expect([rows[20], rows[47]]).toEqual([
      ['20', '"Foo', '9'],
      ['47', 'foo', '12"'],
    ]);
  });

  test.each([
    ['an opening quote', (row: string) => row.replace('\t', '\t"')],
    ['text after a closing quote', (row: string) => row.replace('texto', '"texto"')],
  ])('are characters of the values also far down: %s', (_what, changeRows) => {
    const lines = manyRows.split('\n');
    lines[29_000] = changeRows(lines[29_000] as string);
    const bytes = encodeFile(`id\ttexto\n${lines.join('\n')}`);
    for (const blockSize of [1 << 16, 1 << 20, bytes.length]) {
      const { schema } = inferBytes(bytes, blockSize);
      expect(schema.dialect.quote).toBeNull();
      expect(schema.total_row_count_estimate).toBe(30_000);
    }
    expect(readRows(bytes)[29_000]?.[1]).toBe((lines[29_000] as string).split('\t')[1]);
  });

  test.each([1, 5, 100, 20_000])('are characters of the values after %i properly quoted values', (count) => {
    const lines = `n,v\n${makeLines(count, (index) => `"nome ${index}",${index}`)}`;
    for (const value of ['"x"y', '"x', '"x "y" z"', '""y']) {
      const bytes = encodeFile(`${lines}${value},1\n`);
      for (const blockSize of [1 << 16, 1 << 20]) {
        expect(inferBytes(bytes, blockSize).schema).toMatchObject({
          total_row_count_estimate: count + 1,
          dialect: { quote: null },
        });
      }
      expect(readRows(bytes).slice(-2)).toEqual([
        [`"nome ${count - 1}"`, String(count - 1)],
        [value, '1'],
      ]);
    }
  });

  test('do not join the rows between two of them far down', () => {
    const lines = manyRows.split('\n');
    lines[29_000] = '29000\t"texto';
    lines[29_027] = '29027\t12"';
    const bytes = encodeFile(`id\ttexto\n${lines.join('\n')}`);
    expect(inferBytes(bytes, 1 << 16).schema).toMatchObject({
      total_row_count_estimate: 30_000,
      dialect: { quote: null },
    });
  });
});

describe('quotes in a CSV file of which one is invalid', () => {
  test.each([
    ['they enclose delimiters', 'a,b\n"x"y,1\n"z, w",2\n', '"'],
    ['they enclose line endings', 'a,b,c\n1,"x\ny",2\n3,"z" w,4\n', '"'],
    ['no value has a quote', 'a,b\nx,1\ny,2\n', '"'],
  ])('are still read as quotes where %s', (_what, text, quote) => {
    expect(inferQuote(text)).toBe(quote);
  });

  test('are still read as quotes in a file that only late rows prevent from being read without them', () => {
    const rows = `id,texto\n${makeLines(30_000, (index) => `${index},texto ${index}`)}`;
    const bytes = encodeFile(`${rows}30000,"a"b\n30001,"c, d"\n`);
    const { schema } = inferBytes(bytes, 1 << 16);
    expect(schema).toMatchObject({ total_row_count_estimate: 30_002, dialect: { quote: '"' } });
    expect(readRows(bytes).at(-1)).toEqual(['30001', 'c, d']);
    const unclosedFile = encodeFile(`${rows}30000,"a, b"\n30001,"c, d\n`);
    expect(readRefusal(() => inferBytes(unclosedFile, 1 << 16))).toMatchObject({
      code: 'UNCLOSED_QUOTE',
      line: 30_003,
    });
  });

  test.each([0, 1000, 20_000])(
    'keep all characters of that value, after %i quoted values and one with a delimiter in it',
    (count) => {
      const names = makeLines(count, (index) => `"nome ${index}","${index}"`);
      const lines = `n,v\n${names}"Silva, Ana",\n${names}`;
      const bytes = encodeFile(`${lines}"x"y,1\n"z, w"v,2\n"a "b" c",3\n`);
      const { schema } = inferBytes(bytes, 1 << 16);
      expect(schema).toMatchObject({ total_row_count_estimate: 2 * count + 4, dialect: { quote: '"' } });
      const rows = readRows(bytes);
      expect(rows[count]).toEqual(['Silva, Ana', null]);
      expect(formatRows(rows.slice(-3))).toEqual(['"x"y|1', '"z, w"v|2', 'a "b" c|3']);
      expect(readRefusal(() => inferBytes(encodeFile(`${lines}"x,1\n`), 1 << 16))).toMatchObject({
        code: 'UNCLOSED_QUOTE',
        line: 2 * count + 3,
      });
    },
  );

  test('are still read as quotes where backslashes escape those within a value far down', () => {
    const bytes = encodeFile(`n,v\n${makeLines(20_000, (index) => `"nome ${index}","${index}"`)}"a \\"b\\" c","1"\n`);
    const { schema } = inferBytes(bytes, 1 << 16);
    expect(schema.dialect.quote).toBe('"');
    expect(schema.columns[1]?.type).toBe('integer');
  });

  test('keep a late text over several lines as one value', () => {
    const bytes = encodeFile(`id\ttexto\n${manyRows}30000\t"uma\nduas\ntrês"\n30001\tfim\n`);
    expect(inferBytes(bytes, 1 << 16).schema).toMatchObject({
      total_row_count_estimate: 30_002,
      dialect: { quote: '"' },
    });
    expect(readRows(bytes)[30_000]).toEqual(['30000', 'uma\nduas\ntrês']);
  });
});

describe('the lines of a CSV file that are skipped', () => {
  test('are titles and footnotes, each reported with its line number', () => {
    const { dialect } = inferText('Vendas\r\n\r\nde 2024;;\r\nn;v;w\r\na;1;2\r\nb;2;3\r\n\r\nFonte: IBGE;;\r\n').schema;
    expect(dialect.skipped_lines).toBe(4);
    expect(dialect.skipped).toEqual([
      { line: 1, text: 'Vendas' },
      { line: 2, text: '' },
      { line: 3, text: 'de 2024;;' },
      { line: 8, text: 'Fonte: IBGE;;' },
    ]);
  });

  test('include a short last row that is taken for a footnote', () => {
    const { dialect } = inferText('a,b,c\n1,2,3\n4\n').schema;
    expect(dialect).toMatchObject({ skipped_lines: 1, skipped: [{ line: 3, text: '4' }] });
  });

  test('do not include a header that lacks a name for the column of row names', () => {
    const { dialect } = inferText('Lista\nnome,idade\n1,ana,30\n2,bia,31\n').schema;
    expect(dialect).toMatchObject({ header: true, skipped_lines: 1, skipped: [{ line: 1, text: 'Lista' }] });
  });

  test('are reported up to 20, and long lines by their beginning', () => {
    const noteLines = makeLines(30, (index) => `${'😀'.repeat(150)} ${index}`);
    const { dialect } = inferText(`${noteLines}${makeLines(60, (index) => `${index},x,y`)}`).schema;
    expect(dialect.skipped_lines).toBe(30);
    expect(dialect.skipped).toHaveLength(20);
    expect(dialect.skipped[19]).toEqual({ line: 20, text: `${'😀'.repeat(99)}…` });
  });

  test('are reported as text in any encoding', () => {
    const text = 'Relatório de ações\nnome,ação\nana,1\nbia,2\nSão Paulo\n';
    const latinBytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    expect(inferBytes(latinBytes).schema.dialect).toMatchObject({
      encoding: 'windows-1252',
      skipped: [
        { line: 1, text: 'Relatório de ações' },
        { line: 5, text: 'São Paulo' },
      ],
    });
  });
});

test('line numbers in errors are the same for every line ending', () => {
  const makeText = (end: string) => ['a,b', '1,x', '"2",y', '3,z,w', ''].join(end);
  for (const end of ['\n', '\r\n', '\r']) {
    expect(readRefusal(() => inferText(makeText(end)))).toMatchObject({ code: 'TOO_MANY_FIELDS', line: 4 });
    expect(readRefusal(() => inferText(`a,b${end}1,x${end}2,\0`))).toMatchObject({ code: 'NUL_BYTE', line: 3 });
  }
});
