import { describe, expect, test } from 'vitest';
import { requireFittingValues } from '../../../src/modules/uploads/chunks.ts';
import {
  type ColumnType,
  finishInference,
  type Inference,
  type LoadPlan,
  planLoad,
} from '../../../src/modules/uploads/inference/index.ts';
import { parseCopyText } from '../../formats/copy/parsing.ts';
import { copyData, encodeFile, inferBytes, loadColumns, readFile, readRefusal } from './reading.ts';

function planText(text: string | Uint8Array, types: Record<string, ColumnType> = {}): LoadPlan {
  const inference = inferBytes(typeof text === 'string' ? encodeFile(text) : text);
  return planLoad(inference.files[0] as Inference['files'][number], loadColumns(inference, types));
}

/** Returns the rows that Postgres gets when every value is converted. */
function convertText(text: string, types: Record<string, ColumnType> = {}, blockSize?: number): (string | null)[][] {
  const bytes = encodeFile(text);
  const inference = inferBytes(bytes);
  const [file] = inference.files as [Inference['files'][number]];
  const formats = file.formats.map((format) => ({ ...format, asIs: false }));
  const plan = planLoad({ ...file, plain: false, formats }, loadColumns(inference, types));
  return parseCopyText(copyData(plan, bytes, blockSize).text);
}

describe('a CSV file that can be sent to COPY unchanged', () => {
  const plainText = 'i,d,b,dt,ts,t\n1,1.5,true,2024-01-31,2024-01-31T10:00:00Z,"x, y"\n2,,no,,,\n';

  test('is sent from its first row to its last, without titles and footnotes', () => {
    const text = 'Título\ni;d;t\n1;.5;"a ""b"""\n2;-5.;\n\nFonte: IBGE\n';
    const plan = planText(text);
    expect(plan).toMatchObject({ mode: 'raw', copyColumns: ['i', 'd', 't'], dateStyle: 'ISO, DMY' });
    expect(plan.copyOptions).toBe(
      `FORMAT csv, DELIMITER ';', QUOTE '"', ESCAPE '"', FORCE_NULL ("i", "d", "t"), ENCODING 'UTF8'`,
    );
    for (const blockSize of [1, 5, 1000]) {
      expect(copyData(plan, encodeFile(text), blockSize).text).toBe('1;.5;"a ""b"""\n2;-5.;\n');
    }
  });

  test.each<[string, string, LoadPlan['mode'], Record<string, ColumnType>?]>([
    ['a plain file', plainText.replace('no', 'false'), 'raw'],
    ['CRLF', plainText.replace('no', 'false').replaceAll('\n', '\r\n'), 'raw'],
    ['CR', 'a,b\r1,x\r2,y\r', 'raw'],
    ['mixed line ends', 'a,b\n1,x\r\n2,y\n', 'convert'],
    ['no line ending after the last row', 'a,b\n1,x', 'raw'],
    ['no header', '1,x\n2,y\n', 'raw'],
    ['days and months, day first', 'k,d\nx,31/12/2024\n', 'raw'],
    ['two orders of days and months', 'k,d,e\nx,31/12/2024,12/31/2024\n', 'convert'],
    ['a decimal comma', 'k;d\nx;1,5\n', 'convert'],
    ['grouped numbers', 'k,d\nx,"1,234.5"\n', 'convert'],
    ['the booleans sim and não', 'k,b\nx,sim\n', 'convert'],
    ['the booleans s and n', 'k,b\nx,s\ny,n\n', 'convert'],
    ['the booleans 1 and 0', 'k,is_b\nx,1\ny,0\n', 'raw'],
    ['a blank line between rows', 'a,b\n1,x\n\n2,y\n', 'convert'],
    ['blank lines below the header', 'a,b\n\n1,x\n2,y\n', 'raw'],
    ['an empty record between rows', 'a,b\n1,x\n,\n2,y\n', 'convert'],
    ['a short row', 'a,b,c\n1,x\n2,y,z\n', 'convert'],
    ['a surplus delimiter', 'a,b\n1,x,\n2,y\n', 'convert'],
    ['an empty column without a name', 'a,b,\n1,x,\n2,y,\n', 'convert'],
    ['row names without a header, as R writes them', 'a,b\n1,x,2\n2,y,3\n', 'raw'],
    ['spaces alone in a column of integers', 'a,b\n1,x\n  ,y\n3,z\n', 'convert'],
    ['spaces alone in a column of text', 'a,b\n1,x\n2,  \n3,z\n', 'raw'],
    ['spaces around a number', 'a,b\n 1 ,x\n2,y\n', 'raw'],
    ['no-break spaces around a number', 'a,b\n\u00a01,x\n2,y\n', 'convert'],
    ['quotes that quote nothing', 'a,b\n1,5" x\n2,"y\n', 'raw'],
    ['quotes that quote nothing, beside the byte that is COPY’s quote then', 'a,b\n1,5" x\n2,\x01y\n', 'convert'],
    ['a quote inside a bare field', 'a,b\n1,5" x\n2,"y, z"\n', 'convert'],
    ['text after a quoted field', 'a,b\n1,"x"y\n2,"y, z"\n', 'convert'],
    ['spaces before quotes', 'a,b\n1, "x, y"\n2, "z, w"\n', 'convert'],
    ['backslashed quotes', 'a,b\n1,"x \\"y\\", z"\n2,y\n', 'raw'],
    ['a line \\. that ended COPY before Postgres 18', 'a\nx\n\\.\ny\n', 'convert'],
    ['a wider type for integers', 'a,b\n1,x\n2,y\n', 'raw', { a: 'decimal' }],
    ['the type text for integers', 'a,b\n1,x\n2,y\n', 'raw', { a: 'text' }],
    ['a narrower type for decimals', 'a,b\n1.0,x\n2.0,y\n', 'convert', { a: 'integer' }],
    ['the type datetime for dates', 'a,b\n2024-01-01,x\n2024-01-02,y\n', 'raw', { a: 'datetime' }],
    ['the type date for datetimes', 'a,b\n2024-01-01 00:00,x\n', 'convert', { a: 'date' }],
  ])('is sent unchanged, or converted where COPY cannot read it, with %s', (_what, text, mode, types) => {
    expect(planText(text, types).mode).toBe(mode);
  });

  test('is sent with the encoding Windows-1252, unless it has bytes that Windows-1252 does not define', () => {
    const encodeLatin1 = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    expect(planText(encodeLatin1('a,b\n1,caf\xe9\n2,y\n'))).toMatchObject({
      mode: 'raw',
      copyOptions: expect.stringContaining("ENCODING 'WIN1252'"),
    });
    expect(planText(encodeLatin1('a,b\n1,caf\xe9\x81\n2,y\n')).mode).toBe('convert');
  });

  test('is converted when columns are left out, not when only their order changes', () => {
    const inference = inferBytes(encodeFile('a,b,c\n1,x,2\n3,y,4\n'));
    const [file] = inference.files as [Inference['files'][number]];
    const [a, b, c] = loadColumns(inference);
    expect(planLoad(file, [c, a, b] as never)).toMatchObject({ mode: 'raw', copyColumns: ['a', 'b', 'c'] });
    const plan = planLoad(file, [c, a] as never);
    expect(plan).toMatchObject({
      mode: 'convert',
      copyColumns: ['c', 'a'],
      copyOptions: "FORMAT text, ENCODING 'UTF8'",
    });
    expect(copyData(plan, encodeFile('a,b,c\n1,x,2\n3,y,4\n')).text).toBe('2\t1\n4\t3\n');
  });

  test('sets DateStyle to the order of its days and months', () => {
    expect(planText('k,d\nx,12/31/2024\n')).toMatchObject({ mode: 'raw', dateStyle: 'ISO, MDY' });
  });
});

describe('a CSV file that is converted for COPY', () => {
  test.each<[string, ColumnType | undefined, string, (string | null)[]]>([
    ['point decimals', undefined, 'k,v\na,1.50\nb,+.5\nc,5.\nd,1e3\n', ['1.50', '.5', '5.', '1e3']],
    ['comma decimals', undefined, 'k;v\na;1,50\nb;-,5\nc;1,5e3\n', ['1.50', '-.5', '1.5e3']],
    ['thousands separated by dots', undefined, 'k;v\na;1.234,5\nb;-1.234.567\nc;12\n', ['1234.5', '-1234567', '12']],
    ['thousands separated by commas', undefined, 'k;v\na;1,234.5\nb;"1,234,567"\nc;12\n', ['1234.5', '1234567', '12']],
    ['booleans', undefined, 'k,v\na,Sim\nb,NÃO\nc,nao\n', ['true', 'false', 'false']],
    ['the booleans verdadeiro and falso', undefined, 'k,v\na,Verdadeiro\nb,falso\n', ['true', 'false']],
    ['the booleans s and n', undefined, 'k,v\na,s\nb,N\n', ['true', 'false']],
    ['the booleans 1 and 0', undefined, 'k,is_v\na,1\nb,0\n', ['true', 'false']],
    ['integers', undefined, 'k,v\na, +5 \nb,-7\nc,0\n', ['5', '-7', '0']],
    ['day first', undefined, 'k,v\na,31/1/2024\nb,1/2/2024\n', ['2024-01-31', '2024-02-01']],
    ['month first', undefined, 'k,v\na,1/31/2024\nb,1/2/2024\n', ['2024-01-31', '2024-01-02']],
    ['two-digit years', undefined, 'k,v\na,31.12.69\nb,1.2.70\n', ['2069-12-31', '1970-02-01']],
    ['year first', undefined, 'k,v\na,2024/1/5\n', ['2024-01-05']],
    [
      'datetimes',
      undefined,
      'k,v\na,31/12/2024 23:59\nb,1/2/2024T01:02:03.1234560Z\nc,3/4/2024\nd,3/4/2024 10:00:00-0330\n',
      ['2024-12-31 23:59:00', '2024-02-01 01:02:03.123456+00', '2024-04-03 00:00:00', '2024-04-03 10:00:00-03:30'],
    ],
    [
      'times in UTC',
      undefined,
      'k,v\na,31/12/2024 23:59:01 UTC\nb,1/2/2024T10:00 UTC\n',
      ['2024-12-31 23:59:01+00', '2024-02-01 10:00:00+00'],
    ],
    ['codes with E as numbers', 'decimal', 'k,v\na,32E4\n', ['32E4']],
    ['telephones as numbers', 'integer', 'k,v\na,+5511999998888\n', ['5511999998888']],
    ['codes as numbers', 'integer', 'k,v\na,007\nb,12\n', ['7', '12']],
    ['whole decimals as integers', 'integer', 'k;v\na;1.234,00\nb;5,0\n', ['1234', '5']],
    ['integers as decimals', 'decimal', 'k,v\na,5\n', ['5']],
    ['integers as text', 'text', 'k,v\na, 5 \n', [' 5 ']],
    ['integers as booleans', 'boolean', 'k,v\na,1\nb,0\n', ['true', 'false']],
    ['midnights as dates', 'date', 'k,v\na,2024-01-31 00:00\n', ['2024-01-31']],
    ['dates as datetimes', 'datetime', 'k,v\na,31/01/2024\n', ['2024-01-31 00:00:00']],
    [
      'text that COPY would read otherwise',
      undefined,
      'k,v\na,"x\ty\nz\\N\r"\nb,\\N\nc,\\.\n',
      ['x\ty\nz\\N\r', '\\N', '\\.'],
    ],
    ['nulls', undefined, 'k,v,w\na,1,x\nb,,y\nc,"",z\nd,  ,z\n', ['1', null, null, null]],
  ])('is loaded with %s', (_what, type, text, values) => {
    const name = text.includes('is_v') ? 'is_v' : 'v';
    const types = type === undefined ? {} : { [name]: type };
    expect(convertText(text, types).map((row) => row[1])).toEqual(values);
    expect(convertText(text, types, 1).map((row) => row[1])).toEqual(values);
  });

  test.each<[ColumnType, string, string]>([
    ['integer', 'k,v\na,1\nb,2.5\n', '2.5'],
    ['integer', 'k,v\na,1\nb,9223372036854775808\n', '9223372036854775808'],
    ['integer', 'k,v\na,1\nb,x\n', 'x'],
    ['decimal', 'k,v\na,1.5\nb,n/d\n', 'n/d'],
    ['boolean', 'k,v\na,true\nb,talvez\n', 'talvez'],
    ['date', 'k,v\na,31/12/2024\nb,12/31/2024\n', '12/31/2024'],
    ['date', 'k,v\na,2024-01-31\nb,2024-01-31 10:00\n', '2024-01-31 10:00'],
    ['datetime', 'k,v\na,2024-01-31\nb,ontem\n', 'ontem'],
    ['datetime', 'k,v\na,2024-01-31\nb,2024-01-31 10:00:00.1234567\n', '2024-01-31 10:00:00.1234567'],
    ['datetime', 'k,v\na,2024-01-31\nb,9999-12-31 23:59-00:01\n', '9999-12-31 23:59-00:01'],
    ['datetime', 'k,v\na,2024-01-31\nb,0001-01-01T01:59:59+02\n', '0001-01-01T01:59:59+02'],
  ])('is refused with the value that is no %s: %j', (type, text, value) => {
    const problem = readRefusal(() => convertText(text, { v: type }));
    expect(problem).toMatchObject({ code: 'VALUE_DOES_NOT_FIT', file: 'arquivo.csv', line: 3, column: 'v', value });
  });

  test('is refused with the line of a late value that does not fit, even if rows span several lines', () => {
    const rows = Array.from({ length: 3000 }, (_, index) => `"duas\nlinhas",${index === 2500 ? 'x' : index}`);
    expect(readRefusal(() => convertText(`t,v\n${rows.join('\n')}\n`, { v: 'integer' }, 1000))).toMatchObject({
      line: 2 + 2500 * 2,
      value: 'x',
    });
  });

  test.each<[string, (text: string) => Uint8Array]>([
    ['UTF-8', encodeFile],
    ['UTF-16', (text) => new Uint8Array(Uint16Array.from(`\ufeff${text}`, (unit) => unit.charCodeAt(0)).buffer)],
  ])('is sent in chunks of a few MiB, however much longer its rows become: %s', (_, encode) => {
    const header = Array.from({ length: 1000 }, (_, index) => `c${index}`);
    const rows = Array.from({ length: 10_000 }, (_, index) => `${index},x\r\n`);
    const bytes = encode(`${header.join()}\r\n${rows.join('')}`);
    const plan = planText(bytes);
    const sizes: number[] = [];
    const { text, rowCount } = copyData(plan, bytes, bytes.length, ({ copyInput }) =>
      sizes.push(copyInput.buffer.byteLength),
    );
    expect(rowCount).toBe(10_000);
    expect(text).toBe(rows.map((_, index) => `${index}\tx${'\t\\N'.repeat(998)}\n`).join(''));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(16 * 2 ** 20);
  });

  test.each([
    ['text', `${'x'.repeat(15 * 2 ** 20)};2,5`],
    ['number', `x;2,5${' '.repeat(15 * 2 ** 20)}`],
  ])('takes little more memory than a long value that is a %s', (_, row) => {
    const bytes = encodeFile(`a;b\n"n";1,5\n${row}\n`);
    copyData(planText(bytes), bytes, bytes.length, ({ copyInput }) =>
      expect(copyInput.buffer.byteLength).toBeLessThan(20 * 2 ** 20),
    );
  });

  test('is refused with the line of a value that does not fit, behind rows that are long only when they are converted', () => {
    const header = Array.from({ length: 1000 }, (_, index) => `c${index}`).join();
    const bytes = encodeFile(`${header}\n${'1,x\n'.repeat(4000)}2.5,x\n`);
    const plan = { ...planText(bytes, { c0: 'integer' }), mode: 'raw' as const };
    const nextState = { table_id: 'x', file: 0, rows: 4001, position: { offset: plan.end, line: 4003 } };
    const fileBytes = bytes.subarray(plan.start.offset);
    const rows = { copyInput: fileBytes, rowCount: 4001, processedBytes: fileBytes.length, nextState };
    const chunk = { plan, startPosition: plan.start, fileBytes, isLast: true, ...rows };
    expect(readRefusal(() => requireFittingValues(chunk))).toMatchObject({ line: 4002, value: '2.5' });
  });

  test('is refused with an empty value in a column that is not nullable', () => {
    const text = 'k,v\na,1\nb,\n';
    const inference = inferBytes(encodeFile(text));
    const columns = loadColumns(inference).map((column) => ({ ...column, nullable: false }));
    const plan = planLoad(inference.files[0] as Inference['files'][number], columns);
    expect(plan.mode).toBe('convert');
    expect(readRefusal(() => copyData(plan, encodeFile(text)))).toMatchObject({ line: 3, column: 'v', value: '' });
  });

  test('has a load plan of its own when it is uploaded with another file', () => {
    const texts = ['nome,valor\nana,1.5\n', 'valor;nome\n"2";bia\n'];
    const inference = finishInference(texts.map((text, index) => readFile(encodeFile(text), `${index}.csv`)));
    const data = inference.files.map((file, index) => {
      const plan = planLoad(file, loadColumns(inference));
      return [plan.mode, plan.copyColumns, copyData(plan, encodeFile(texts[index] as string)).text];
    });
    expect(data).toEqual([
      ['raw', ['nome', 'valor'], 'ana,1.5\n'],
      ['raw', ['valor', 'nome'], '"2";bia\n'],
    ]);
  });
});
