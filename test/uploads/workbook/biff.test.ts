import { type BookType, CFB, utils, type WorkSheet, write } from '@e965/xlsx';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { convertOldToText, convertOldWorkbook, findOldProblem } from './converting.ts';
import {
  makeNumberRecord,
  makeNumbersRecord,
  makeRecord,
  makeWorkbookOfRecords,
  toFourBytes,
  toTwoBytes,
} from './records.ts';

const SHEET_ROWS = [
  ['Nome', 'Dia', 'Pago', 'Valor'],
  ['Ana, "a primeira"', new Date(Date.UTC(2024, 0, 31)), true, 0.1 + 0.2],
  ['Bia', null, false, 12345678901],
];
const EXPECTED_CSV =
  '"Nome","Dia","Pago","Valor"\n"Ana, ""a primeira""",2024-01-31,true,0.3\n"Bia",,false,12345678901\n';

const toSheet = (rows: unknown[][]): WorkSheet => utils.aoa_to_sheet(rows, { UTC: true, sheetStubs: false });

interface WorkbookParts {
  edition?: string;
  hidden?: string;
  date1904?: boolean;
}

/** Makes a workbook as another program writes it. */
function makeOldWorkbook(
  sheets: Record<string, WorkSheet>,
  { edition = 'biff8', hidden, date1904 }: WorkbookParts = {},
): Uint8Array {
  const workbook = utils.book_new();
  for (const [name, sheet] of Object.entries(sheets)) utils.book_append_sheet(workbook, sheet, name);
  workbook.Workbook = {
    WBProps: { date1904: date1904 === true },
    Sheets: workbook.SheetNames.map((name) => ({ name, Hidden: name === hidden ? 1 : 0 })),
  };
  return new Uint8Array(
    write(workbook, { type: 'array', bookType: edition as BookType, bookSST: edition === 'biff8' }),
  );
}

/** Changes the records of a workbook. */
function changeRecords(book: Uint8Array, change: (records: Uint8Array) => Uint8Array): Uint8Array {
  const container = CFB.read(book, { type: 'array' });
  const stream = CFB.find(container, '/Workbook');
  if (!stream) throw new Error('a workbook has a stream of records');
  CFB.utils.cfb_add(
    container,
    '/Workbook',
    change(new Uint8Array(stream.content as unknown as ArrayLike<number>)) as never,
  );
  return new Uint8Array(CFB.write(container, { type: 'array' }) as unknown as ArrayBuffer);
}

/** Makes the records of shared texts, with formatting after each text, split after at most `maxBytes` bytes. */
function makeSharedTexts(texts: string[], maxBytes: number): number[][] {
  const records: number[][] = [[...toFourBytes(texts.length), ...toFourBytes(texts.length)]];
  let record = records[0] as number[];
  const beginRecord = (...first: number[]) => {
    record = first;
    records.push(record);
  };
  for (const [index, text] of texts.entries()) {
    const isWide = /[^\0-\xff]/.test(text) || index % 2 === 1 ? 1 : 0;
    if (record.length + 5 > maxBytes) beginRecord();
    record.push(...toTwoBytes(text.length), 8 | isWide, ...toTwoBytes(1));
    for (let at = 0; at < text.length; at++) {
      if (record.length + 1 + isWide > maxBytes) beginRecord(isWide);
      record.push(...(isWide ? toTwoBytes(text.charCodeAt(at)) : [text.charCodeAt(at)]));
    }
    for (const byte of [1, 0, 2, 0]) {
      if (record.length + 1 > maxBytes) beginRecord();
      record.push(byte);
    }
  }
  return records.map((content, index) => makeRecord(index === 0 ? 0xfc : 0x3c, ...content));
}

describe('a BIFF workbook', () => {
  it.each(['biff8', 'biff5', 'biff4', 'biff3', 'biff2'])(
    'of the edition %s is converted to one CSV line per row',
    async (edition) => {
      expect(await convertOldToText(makeOldWorkbook({ Dados: toSheet(SHEET_ROWS) }, { edition }))).toBe(EXPECTED_CSV);
    },
  );

  it.each([
    ['biff8', 'Ação'],
    ['biff5', 'Dados'],
    ['biff4', null],
  ])('of the edition %s is read from the sheet that holds a table, whose name is %s', async (edition, name) => {
    const coverSheet = toSheet([['Leia-me'], ['Vendas']]);
    const allSheets: Record<string, WorkSheet> = edition === 'biff4' ? {} : { Capa: coverSheet };
    const { text, sheet } = await convertOldWorkbook(
      makeOldWorkbook({ ...allSheets, [name ?? 'x']: toSheet(SHEET_ROWS) }, { edition }),
    );
    expect(text).toBe(EXPECTED_CSV);
    expect(sheet).toMatchObject({ name, width: 4 });
    const hiddenSheetResult = await convertOldWorkbook(
      makeOldWorkbook({ Ação: toSheet(SHEET_ROWS), Capa: coverSheet }, { edition, hidden: 'Ação' }),
    );
    if (name) expect(hiddenSheetResult.sheet.name).toBe('Capa');
  });

  it('is read from its first sheet with a value, and from hidden sheets last', async () => {
    const sheets = { Segredo: toSheet([['x']]), Vazia: toSheet([]), Dados: toSheet(SHEET_ROWS) };
    expect(await convertOldToText(makeOldWorkbook(sheets, { hidden: 'Segredo' }))).toBe(EXPECTED_CSV);
    expect(await findOldProblem(makeOldWorkbook({ Vazia: toSheet([]) }))).toBe('NO_ROWS');
  });

  it('is converted to the values that a person sees for formats, formulas and dates from 1904, and to nothing for errors', async () => {
    const sheet: WorkSheet = {
      '!ref': 'B2:G3',
      B2: { t: 'n', v: 1310100, z: '00000-000' },
      C2: { t: 'n', v: 3, f: '1+2' },
      D2: { t: 's', v: 'são', f: 'A1&"o"' },
      E2: { t: 'e', v: 7 },
      F2: { t: 'n', v: 43860.5, z: 'm/d/yy h:mm' },
      G2: { t: 'b', v: true, f: 'TRUE()' },
      C3: { t: 'n', v: 1.25 },
    };
    expect(await convertOldToText(makeOldWorkbook({ S: sheet }, { date1904: true }))).toBe(
      '\n"01310-100",3,"são",,2024-01-31T12:00:00,true\n,1.25,,,,\n',
    );
  });

  it('keeps texts that continue over several records, whatever their character width', async () => {
    const arbitraryText = fc.tuple(
      fc.string({ unit: fc.constantFrom('a', 'é', '漢', '😀'), minLength: 1 }),
      fc.integer({ min: 1, max: 40 }),
    );
    const arbitraryTexts = fc.array(
      arbitraryText.map(([text, times]) => text.repeat(times)),
      { minLength: 1 },
    );
    await fc.assert(
      fc.asyncProperty(arbitraryTexts, fc.integer({ min: 8, max: 300 }), async (texts, maxBytes) => {
        const cells = texts.map((_, row) => makeRecord(0xfd, ...toTwoBytes(row), 0, 0, 0, 0, ...toFourBytes(row)));
        const text = await convertOldToText(makeWorkbookOfRecords(cells, makeSharedTexts(texts, maxBytes)));
        expect(text).toBe(texts.map((word) => `"${word}"\n`).join(''));
      }),
    );
  });

  it('has merged cells repeated in the rows below, and columns named by merged headers', async () => {
    const sheet = toSheet([
      ['Região', 'Telefone', null, 'Total'],
      ['Norte', 1, 2, 3],
      [null, 4, 5, 6],
      ['Sul', 7, 8, 9],
    ]);
    sheet['!merges'] = ['A2:A3', 'B1:C1'].map((range) => utils.decode_range(range));
    expect(await convertOldToText(makeOldWorkbook({ S: sheet }))).toBe(
      '"Região","Telefone","Telefone 2","Total"\n"Norte",1,2,3\n"Norte",4,5,6\n"Sul",7,8,9\n',
    );
  });

  it('may have its cells in any order, and embedded charts', async () => {
    const chart = [
      makeRecord(0x809, ...toTwoBytes(0x600), ...toTwoBytes(32)),
      makeNumberRecord(0, 0, 99),
      makeRecord(0x0a),
    ];
    const cells = [
      makeNumberRecord(1, 1, 4),
      makeNumberRecord(0, 1, 2),
      ...chart,
      makeNumberRecord(1, 0, 3),
      makeNumberRecord(0, 0, 0),
      makeNumberRecord(0, 0, 1),
    ];
    expect(await convertOldToText(makeWorkbookOfRecords(cells))).toBe('1,2\n3,4\n');
  });

  it('has memory reserved for its cells only if they must be sorted', async () => {
    const reservedBytes: number[] = [];
    const measureReservedBytes = async (rows: number[]) => {
      const workbook = makeWorkbookOfRecords(rows.map((row) => makeNumbersRecord(row, [1, 2])));
      await convertOldToText(workbook, undefined, async (bytes) => void reservedBytes.push(bytes));
      return workbook.length;
    };
    await measureReservedBytes([0, 1]);
    expect(reservedBytes).toEqual([]);
    const size = await measureReservedBytes([1, 0]);
    expect(reservedBytes).toEqual([16 * size]);
  });

  it('is read with the values that were written, whatever the values are', async () => {
    const value = fc.oneof(
      fc.constant(null),
      // What writes the workbook takes the smallest numbers for whole ones.
      fc.double({ noNaN: true, noDefaultInfinity: true, min: 0.001, max: 1e9 }),
      fc.integer(),
      fc.boolean(),
      fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', 'é', '漢', '😀') }),
    );
    const formatWritten = (cell: unknown) => {
      if (cell === null || cell === '') return '';
      if (typeof cell === 'string') return `"${cell.replaceAll('"', '""')}"`;
      return typeof cell === 'number' ? String(Number(cell.toPrecision(15))) : String(cell);
    };
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(value, { maxLength: 6 }), { maxLength: 30 }), async (rows) => {
        const allRows = [['x'], ...rows];
        const lines = (await convertOldToText(makeOldWorkbook({ S: toSheet(allRows) }))).split('\n');
        const trimLine = (line: string) => line.replace(/,+$/, '');
        const expected = allRows.map((row) => trimLine(row.map(formatWritten).join(','))).join('\n');
        // Lines within texts are cut like all others, on both sides.
        expect(lines.map(trimLine).join('\n').trimEnd()).toBe(expected.split('\n').map(trimLine).join('\n').trimEnd());
      }),
      { numRuns: 100 },
    );
  });
});

describe('a BIFF workbook that cannot be read', () => {
  it('is reported as unreadable wherever it is cut off, and never crashes the reader wherever it is damaged', async () => {
    const workbook = makeOldWorkbook({ S: toSheet(Array.from({ length: 300 }, (_, n) => [n, `texto ${n * 7919}`])) });
    const knownProblems = ['WORKBOOK_UNREADABLE', 'NO_ROWS', 'WORKBOOK_TOO_LARGE', 'WORKBOOK_ENCRYPTED', undefined];
    const wholeText = await convertOldToText(workbook);
    for (let at = 0; at < workbook.length; at += 173) {
      const truncatedWorkbook = workbook.slice(0, at);
      const problem = await findOldProblem(truncatedWorkbook);
      // The part that is cut off may be one that nobody reads.
      if (problem === undefined) expect(await convertOldToText(truncatedWorkbook)).toBe(wholeText);
      else expect(problem).toBe('WORKBOOK_UNREADABLE');
      const changedWorkbook = workbook.slice();
      changedWorkbook[at] = (changedWorkbook[at] as number) ^ 0xff;
      expect(knownProblems).toContain(await findOldProblem(changedWorkbook));
    }
  });

  it('is reported as encrypted when it is encrypted', async () => {
    const passwordRecord = makeRecord(0x2f, ...new Array(54).fill(1));
    const workbook = changeRecords(makeOldWorkbook({ S: toSheet(SHEET_ROWS) }), (records) => {
      const first = 4 + (records[2] as number) + 256 * (records[3] as number);
      return new Uint8Array([...records.subarray(0, first), ...passwordRecord, ...records.subarray(first)]);
    });
    expect(await findOldProblem(workbook)).toBe('WORKBOOK_ENCRYPTED');
  });

  it('is reported as unreadable when its chain of sectors leads nowhere or in a circle', async () => {
    const workbook = makeOldWorkbook({ S: toSheet(SHEET_ROWS) });
    const fatOffset = (new DataView(workbook.buffer).getUint32(76, true) + 1) * 512;
    for (const next of [0, 1, 2, 3, 4, 5, 100_000]) {
      const changedWorkbook = workbook.slice();
      for (let at = fatOffset; at < fatOffset + 512; at += 4)
        new DataView(changedWorkbook.buffer).setUint32(at, next, true);
      expect(await findOldProblem(changedWorkbook)).toBe('WORKBOOK_UNREADABLE');
    }
  });
});
