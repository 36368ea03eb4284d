import fc from 'fast-check';
import { strFromU8, strToU8, zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import {
  type Cell,
  makeSheetWorkbook,
  makeWorkbook,
  makeWorkbookFiles,
  parseCells,
  type SheetParts,
  type WorkbookParts,
} from '../workbooks.ts';
import { convertToText, convertWorkbook, findProblem, formatColumns, inferSheet } from './converting.ts';

const SHEET_ROWS = parseCells('nome|valor', 'Ana|1.5', 'Bia|2');
const COMPATIBILITY_URI = 'http://schemas.openxmlformats.org/markup-compatibility/2006';
const EXPECTED_CSV = '"nome","valor"\n"Ana",1.5\n"Bia",2\n';

describe('the sheet of a workbook that is loaded', () => {
  it('is converted to one CSV line per row, with only texts in quotes', async () => {
    expect(await convertToText(makeSheetWorkbook(SHEET_ROWS))).toBe(EXPECTED_CSV);
  });

  it('keeps its row numbers, also over gaps and after rows without values', async () => {
    const rows = { 3: { A: 'x', B: 'y' }, 4: {}, 6: { A: 1, B: 2 }, 8: { B: 3 } };
    expect(await convertToText(makeWorkbook({ sheets: [{ rows }] }))).toBe('\n\n"x","y"\n\n\n1,2\n\n,3\n');
  });

  it('begins with its leftmost value, wherever the value stands', async () => {
    const rows = { 2: { D: 'b', E: 'c' }, 3: { C: 1, D: 2 }, 4: { D: 5 } };
    expect(await convertToText(makeWorkbook({ sheets: [{ rows }] }))).toBe('\n,"b","c"\n1,2,\n,5,\n');
  });

  const HIDDEN_SHEET = {
    name: 'Oculta',
    rows: parseCells('segredo|y', 'x|1'),
    state: 'hidden',
  };
  const EMPTY_SHEET = { name: 'Vazia', rows: [[{ s: 1 }], [{ t: 'e', v: '#N/A' }]] };
  const COVER_SHEET = { name: 'Capa', rows: [['Vendas de janeiro']] };
  const LIST_SHEET = { name: 'Lista', rows: [['cidade'], ['Natal'], ['Recife']] };
  const TEMPLATE_SHEET = { name: 'Modelo', rows: [['Preencha abaixo'], ['nome', 'valor']] };
  const DATA_SHEET = { name: 'Dados', rows: SHEET_ROWS };

  it.each([
    [
      'the first with a header, a row and two columns',
      [EMPTY_SHEET, COVER_SHEET, DATA_SHEET, { ...DATA_SHEET, name: 'Outra' }],
      'Dados',
    ],
    ['the first with a header, a row and two columns, behind a list of one column', [LIST_SHEET, DATA_SHEET], 'Dados'],
    ['the first with a header, a row and two columns, behind headers alone', [TEMPLATE_SHEET, DATA_SHEET], 'Dados'],
    [
      'the first list where no sheet has two columns',
      [COVER_SHEET, LIST_SHEET, { ...LIST_SHEET, name: 'Outra' }],
      'Lista',
    ],
    ['one of headers alone (a template) before a list', [TEMPLATE_SHEET, LIST_SHEET], 'Modelo'],
    [
      'the first with a value where none has a row',
      [EMPTY_SHEET, COVER_SHEET, { ...COVER_SHEET, name: 'Outra' }],
      'Capa',
    ],
    ['a visible one before a hidden one', [HIDDEN_SHEET, LIST_SHEET], 'Lista'],
    ['a hidden one where nothing else has a value', [HIDDEN_SHEET, EMPTY_SHEET], 'Oculta'],
  ] as [string, SheetParts[], string][])('is %s', async (_, sheets, name) => {
    for (const budget of [64, 1 << 20]) {
      expect((await convertWorkbook(makeWorkbook({ sheets }), budget)).sheet.name).toBe(name);
    }
  });

  it('is named in the reported dialect', async () => {
    const { schema } = inferSheet(await convertWorkbook(makeWorkbook({ sheets: [COVER_SHEET, DATA_SHEET] })));
    expect(schema.dialect).toMatchObject({ sheet: 'Dados', skipped_lines: 0 });
    const { text, sheet } = await convertWorkbook(makeWorkbook({ sheets: [TEMPLATE_SHEET, LIST_SHEET] }));
    expect(() => inferSheet({ text, sheet })).toThrow(expect.objectContaining({ code: 'NO_ROWS' }));
  });

  it('has the columns of its widest row, and names columns without a header by their position', async () => {
    const rows: Cell[][] = [
      ['nome', 'email', 'fone'],
      ['P1', 'p1@x.com', 1],
      ['P2', 'p2@x.com', 2, 'obs 2'],
      ['P3', 'p3@x.com', 3, null, true],
    ];
    const inference = inferSheet(await convertWorkbook(makeSheetWorkbook(rows)));
    expect(formatColumns(inference)).toBe('nome:text email:text fone:integer column_4:text column_5:boolean');
    expect(inference.schema.sample_rows).toEqual([
      { nome: 'P1', email: 'p1@x.com', fone: 1, column_4: null, column_5: null },
      { nome: 'P2', email: 'p2@x.com', fone: 2, column_4: 'obs 2', column_5: null },
      { nome: 'P3', email: 'p3@x.com', fone: 3, column_4: null, column_5: true },
    ]);
  });

  const NOTED_ROWS = ['P1|1', 'P2|2', 'P3|3', ...[4, 5, 6, 7, 8, 9, 10].map((n) => `P${n}|${n}|obs ${n}`)];
  const PAIRED_ROWS = [
    ...['1|a|1|b|1', '2||2|b|2', '3|a|3||3', '4||4|b|4', '5|a|5|b|5'],
    ...[6, 7, 8, 9, 10, 11, 12, 13, 14, 15].map((n) => `${n}|a|${n}|b|${n}|feriado`),
  ];

  it.each([
    ['notes from the fourth row on', 'nome|valor', 'nome:text valor:integer column_3:text', NOTED_ROWS],
    [
      'notes beside each month',
      'jan||fev||mar',
      'jan:integer column_2:text fev:integer column_4:text mar:integer column_6:text',
      PAIRED_ROWS,
    ],
  ])('has each value in its own column, with %s under no header', async (_what, header, columns, rows) => {
    const inference = inferSheet(await convertWorkbook(makeSheetWorkbook(parseCells(header, ...rows))));
    const { dialect, sample_rows, total_row_count_estimate: count } = inference.schema;
    expect([formatColumns(inference), count]).toEqual([columns, rows.length]);
    expect([dialect.header, dialect.skipped_lines]).toEqual([true, 0]);
    const width = columns.split(' ').length;
    const padRow = (row: Cell[]) => Array.from({ length: width }, (_, at) => row[at] ?? null);
    expect(sample_rows.map((row) => Object.values(row))).toEqual(parseCells(...rows).map(padRow));
  });

  it('may have titles of one value, or titles of several values directly above a header over other columns', async () => {
    const rows: Cell[][] = parseCells(
      'Relatório\nde vendas',
      'Empresa|Padaria X',
      '',
      'nome|cidade|valor',
      'Ana|Natal|1',
      'Bia|Recife|2',
    );
    const notes = parseCells('', 'Fonte: "IBGE", 2024');
    const { schema } = inferSheet(await convertWorkbook(makeSheetWorkbook([...rows, ...notes])));
    expect(schema.columns.map(({ name }) => name)).toEqual(['nome', 'cidade', 'valor']);
    expect(schema.dialect).toMatchObject({
      skipped_lines: 3,
      skipped: [
        { line: 1, text: 'Relatório\nde vendas' },
        { line: 2, text: 'Empresa\tPadaria X' },
        { line: 8, text: 'Fonte: "IBGE", 2024' },
      ],
    });
    const [, , , ...others] = rows;
    const texts = others.map((row) => [row[0], row[1]] as Cell[]);
    const plainInference = inferSheet(await convertWorkbook(makeSheetWorkbook([['Empresa', 'Padaria X'], ...texts])));
    expect(plainInference.schema.total_row_count_estimate).toBe(3);
  });

  const YEAR_ROWS: Cell[][] = parseCells('Região|2021|2022|2023', 'Norte|10|20|30', 'Sul|40|50|60');

  it.each([
    ['one title', [['Relatório', 'edição de 2024']]],
    ['two titles and a gap', [['Relatório', 'edição de 2024'], ['Fonte', null, 'IBGE'], []]],
  ] as [string, Cell[][]][])('may have years as headers below titles of several values: %s', async (_, titles) => {
    const { schema } = inferSheet(await convertWorkbook(makeSheetWorkbook([...titles, ...YEAR_ROWS])));
    expect(schema.columns.map(({ name, type }) => `${name}:${type}`)).toEqual([
      'regiao:text',
      ...['_2021:integer', '_2022:integer', '_2023:integer'],
    ]);
    expect(schema.total_row_count_estimate).toBe(2);
    expect(schema.dialect.skipped_lines).toBe(titles.filter((row) => row.length > 0).length);
  });

  it('may have years as headers below a title with merged cells', async () => {
    const rows = [['Relatório', null, 'edição de 2024'], ...YEAR_ROWS];
    const inference = inferSheet(await convertWorkbook(makeWorkbook({ sheets: [{ rows, merges: ['A1:B1'] }] })));
    expect(formatColumns(inference)).toBe('regiao:text _2021:integer _2022:integer _2023:integer');
    expect(inference.schema.dialect.skipped_lines).toBe(1);
  });

  it.each([
    [
      'a letter',
      [
        ['nome', 'n', 'total'],
        ['Ana', 1, 2],
        ['Bia', 3, 4],
      ],
      'nome:text n:integer total:integer',
    ],
    [
      'words of booleans',
      [
        ['nome', 'Sim', 'Não'],
        ['Ana', 1, 2],
        ['Bia', 3, 4],
      ],
      'nome:text sim:integer nao:integer',
    ],
    [
      'a letter and years',
      [
        ['n', 'uf', 2019, 2020],
        ['Ana', 'RN', 1, 2],
        ['Bia', 'PE', 3, 4],
      ],
      'n:text uf:text _2019:integer _2020:integer',
    ],
    [
      'a text above S and N',
      [
        ['nome', 'uf', 'ativo'],
        ['Ana', 'RN', 'S'],
        ['Bia', 'PE', 'N'],
      ],
      'nome:text uf:text ativo:boolean',
    ],
  ] as [string, Cell[][], string][])('may have %s as headers below a title of two values', async (_, rows, columns) => {
    const inference = inferSheet(await convertWorkbook(makeSheetWorkbook([['Empresa', 'ACME'], ...rows])));
    expect(formatColumns(inference)).toBe(columns);
    expect(inference.schema).toMatchObject({ total_row_count_estimate: 2, dialect: { skipped_lines: 1 } });
  });

  it.each([
    ['S', 'S', 'S'],
    ['telephone numbers', '+5584999990000', '+5581999990000'],
  ])('has no header below a title of two values where only %s are typed', async (_, first, second) => {
    const rows: Cell[][] = [
      ['Empresa', 'ACME'],
      ['nome', 'uf', 'contato'],
      ['Ana', 'RN', first],
      ['Bia', 'PE', second],
    ];
    const inference = inferSheet(await convertWorkbook(makeSheetWorkbook(rows)));
    expect(formatColumns(inference)).toBe('empresa:text acme:text column_3:text');
    expect(inference.schema.total_row_count_estimate).toBe(3);
  });

  it('keeps rows of years as rows below a header that has fewer columns', async () => {
    const rows: Cell[][] = parseCells('nome|entrada', 'Ana|2019|2021', 'Bia|2018|2020');
    const inference = inferSheet(await convertWorkbook(makeSheetWorkbook(rows)));
    expect(formatColumns(inference)).toBe('nome:text entrada:integer column_3:integer');
  });

  it('keeps a number as it is when its date format cannot show it', async () => {
    const rows: Cell[][] = [['dia'], [{ s: 1, v: '45322' }], [{ s: 1, v: '-7' }], [{ s: 1, v: '20240131' }]];
    const inference = inferSheet(
      await convertWorkbook(makeSheetWorkbook([...rows, [{ v: 'INF' }]], { formats: [14] })),
    );
    expect(inference.schema.sample_rows.map(({ dia }) => dia)).toEqual(['2024-01-31', '-7', '20240131', 'INF']);
    expect(formatColumns(inference)).toBe('dia:text');
  });

  it('is read with any XML prefix, comments, CDATA, single quotes and unknown elements, and without cell references', async () => {
    expect(await convertToText(makeSheetWorkbook(SHEET_ROWS, { prefix: 'x' }))).toBe(EXPECTED_CSV);
    const sheet = `<?xml version='1.0'?><!-- <row> --><worksheet><sheetViews/><sheetData><row spans='1:2'><c t='inlineStr'><is><t>nome</t></is></c><c t='str'><v><![CDATA[va<l>or]]></v></c></row>
      <row><!-- nada --><c t='inlineStr'><is><r><t>A</t></r><r><rPr/><t xml:space='preserve'>na</t></r><r><t><![CDATA[ &amp;]]> &amp; B</t></r></is></c><c><f>1+1</f><v>1.5</v></c></row></sheetData></worksheet>`;
    expect(await convertToText(makeSheetWorkbook(SHEET_ROWS, { files: { 'xl/worksheets/sheet1.xml': sheet } }))).toBe(
      '"nome","va<l>or"\n"Ana &amp; & B",1.5\n',
    );
  });

  it('has its numbers without zeros at the end of a fraction, which some programs write, and its texts as they are', async () => {
    const storedNumbers = ['1.0', '10.50', '-2.00', '0.0', '-0.0', '-0', '100', '.5', '5.', '1.0E7', '007.0', '1.5.0'];
    const row: Cell[] = [
      ...storedNumbers.map((v) => ({ v })),
      { xml: '<f t="shared" si="0"/><v>8.0</v>' },
      { t: 'str', xml: '<f>A1</f><v>5.0</v>' },
      '5.0',
      { t: 's', v: '0' },
    ];
    expect(await convertToText(makeSheetWorkbook([row], { strings: ['<t>5.0</t>'] }))).toBe(
      '1,10.5,-2,0,0,0,100,0.5,5,10000000,7,"1.5.0",8,"5.0","5.0","5.0"\n',
    );
  });

  it('has whole numbers with a fraction of zeros typed as integers, booleans, codes and years of a header', async () => {
    const writeFraction = (rows: Cell[][]) =>
      rows.map((row) => row.map((cell) => (typeof cell === 'number' ? { v: cell.toFixed(1) } : cell)));
    const readColumns = async (...rows: string[]) =>
      inferSheet(await convertWorkbook(makeSheetWorkbook(writeFraction(parseCells(...rows)))));
    expect(formatColumns(await readColumns('nome|n|ativo', 'a|1|1', 'b|2|0'))).toBe(
      'nome:text n:integer ativo:boolean',
    );
    expect(formatColumns(await readColumns('pais|2019|2020', 'a|1|2', 'b|3|4'))).toBe(
      'pais:text _2019:integer _2020:integer',
    );
    const { schema } = await readColumns('cod|v', '5|1', 'A1|2', '10|3');
    expect(schema.sample_rows.map(({ cod }) => cod)).toEqual(['5', 'A1', '10']);
  });

  it('has a value read as a whole where comments or CDATA split it', async () => {
    const row: Cell[] = [
      { xml: '<v>1<!--x-->7</v>' },
      { t: 'str', xml: '<v>ab<![CDATA[<c>&amp;]]>d &amp; e_x0041_<?x y?>f</v>' },
      { t: 's', xml: '<v><![CDATA[]]><!-- -->0<!-- --></v>' },
      { t: 'd', xml: '<v>2024-01<!-- -->-31</v>' },
      { t: 'b', xml: '<v>tr<![CDATA[ue]]></v>' },
      { s: 1, xml: '<v>453<![CDATA[22]]></v>' },
    ];
    expect(await convertToText(makeSheetWorkbook([row], { strings: ['<t>x</t>'], formats: [14] }))).toBe(
      '17,"ab<c>&amp;d & eAf","x",2024-01-31,true,2024-01-31\n',
    );
  });

  it('has booleans in digits or words of any case, and other texts of boolean cells as texts', async () => {
    const storedValues = ['1', '0', 'true', 'false', 'TRUE', ' 1 ', '\n0', 'False', 'talvez', '2'];
    const row = storedValues.map((v) => ({ t: 'b', v }));
    expect(await convertToText(makeSheetWorkbook([row]))).toBe(
      'true,false,true,false,true,true,false,false,"talvez","2"\n',
    );
  });

  it('has moments with more than six significant digits of a fraction as texts', async () => {
    const storedMoments = [
      '2024-01-31T10:20:30.123456',
      '2024-01-31T10:20:30.123456000Z',
      '2024-01-31T10:20:30.0000000',
      '2024-01-31T10:20:30.1234567',
      '10:20:30.1234567Z',
      '2024-01-3112',
    ];
    const row: Cell[] = [
      ...storedMoments.map((v) => ({ t: 'd', v })),
      { t: 'd', s: 1, v: '2024-01-31T00:00:00.1234567' },
    ];
    expect(await convertToText(makeSheetWorkbook([row], { formats: [14] }))).toBe(
      [
        '2024-01-31T10:20:30.123456,2024-01-31T10:20:30.123456,2024-01-31T10:20:30',
        '"2024-01-31T10:20:30.1234567","10:20:30.1234567Z","2024-01-3112",2024-01-31\n',
      ].join(','),
    );
  });

  it('is read only from elements of its XML namespace, and from fallbacks of extensions', async () => {
    const strictNamespace = 'http://purl.oclc.org/ooxml/spreadsheetml/main';
    const other = 'http://schemas.microsoft.com/office/spreadsheetml/2010/11/main';
    const sheet = `<s:worksheet xmlns:s="${strictNamespace}" xmlns="${other}" xmlns:mc="${COMPATIBILITY_URI}"><sheetData><row><c><v>9</v></c></row></sheetData><s:sheetData>
      <s:row r="1" x:r="7" xmlns:x="${other}"><row r="9"/><s:c x:t="s" r="A1" t="str"><v>9</v><s:v>a</s:v></s:c></s:row>
      <mc:AlternateContent><mc:Choice Requires="x"><s:row r="2"><s:c><s:v>8</s:v></s:c></s:row></mc:Choice>
        <mc:Fallback><p:row xmlns:p="${strictNamespace}" r="2"><p:c><p:v>2</p:v></p:c></p:row></mc:Fallback></mc:AlternateContent>
      <row xmlns="${strictNamespace}" r="3"><c><v>3</v></c></row><row r="4"><c><v>4</v></c></row></s:sheetData></s:worksheet>`;
    expect(await convertToText(makeSheetWorkbook(SHEET_ROWS, { files: { 'xl/worksheets/sheet1.xml': sheet } }))).toBe(
      '"a"\n2\n3\n',
    );
  });

  it('is read the same whatever the size of the blocks and messages', async () => {
    const value = fc.oneof(
      fc.constant(null),
      fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }),
      fc.boolean(),
      fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', 'é', '<', '&') }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(value, { maxLength: 6 }), { minLength: 1, maxLength: 15 }), async (rows) => {
        const workbookBytes = makeSheetWorkbook([['x'], ...rows]);
        expect(await convertToText(workbookBytes, 64)).toBe(await convertToText(workbookBytes));
      }),
      { numRuns: 30 },
    );
  });

  it('is converted completely over many messages', async () => {
    const rows = Array.from({ length: 30_000 }, (_, n) => [n, `Cliente ${n}`, n / 4]);
    const text = await convertToText(makeSheetWorkbook(rows), 100_000);
    expect(text).toBe(rows.map(([n, name, quarter]) => `${n},"${name}",${quarter}\n`).join(''));
  });

  it('has a column of numbers typed as decimal, and mixed or coded cells as text', async () => {
    const text = await convertWorkbook(
      makeSheetWorkbook(
        parseCells('preço|misto|cep|data', '1.234|1.234|01310-100|31/01/2024', '12.5|12,5|04038-001|01/02/2024'),
      ),
    );
    const inference = inferSheet(text);
    expect(formatColumns(inference)).toBe('preco:decimal misto:text cep:text data:date');
    expect(inference.schema.sample_rows[0]).toEqual({
      preco: 1.234,
      misto: '1.234',
      cep: '01310-100',
      data: '2024-01-31',
    });
  });
});

describe('the dates of a workbook', () => {
  const MAIN_NAMESPACE = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  const X15_NAMESPACE = 'http://schemas.microsoft.com/office/spreadsheetml/2010/11/main';
  const RELATIONSHIPS_NAMESPACE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
  const sheets = `<sheets><sheet name="S" sheetId="1" r:id="rId10" xmlns:r="${RELATIONSHIPS_NAMESPACE}"/></sheets>`;

  it.each([
    [
      'as Excel writes it, with an extension of the same name behind',
      `<workbook xmlns="${MAIN_NAMESPACE}" xmlns:mc="${COMPATIBILITY_URI}" mc:Ignorable="x15"><fileVersion appName="xl"/><workbookPr date1904="1" defaultThemeVersion="166925"/>
        <mc:AlternateContent><mc:Choice Requires="x15"><x15ac:absPath url="C:\\" xmlns:x15ac="urn:x"/></mc:Choice></mc:AlternateContent>${sheets}
        <extLst><ext uri="{140A7094-0E35-4892-8432-C4D2E57EDEB5}" xmlns:x15="${X15_NAMESPACE}"><x15:workbookPr chartTrackingRefBase="1"/></ext></extLst></workbook>`,
    ],
    [
      'under a prefix, beside another namespace that is the default',
      `<x:workbook xmlns:x="${MAIN_NAMESPACE}" xmlns="${X15_NAMESPACE}"><workbookPr date1904="0"/><x:workbookPr date1904="true"/><workbookPr/>${sheets.replaceAll(/<(\/?)sheet/g, '<$1x:sheet')}</x:workbook>`,
    ],
    [
      'in the strict edition of the format',
      `<workbook xmlns="http://purl.oclc.org/ooxml/spreadsheetml/main" conformance="strict"><workbookPr date1904="1"/>${sheets.replace(RELATIONSHIPS_NAMESPACE, 'http://purl.oclc.org/ooxml/officeDocument/relationships')}</workbook>`,
    ],
  ])('count from 1904 where the workbook says so, %s', async (_, workbook) => {
    const workbookBytes = makeSheetWorkbook([[{ s: 1, v: '43860' }]], {
      formats: ['dd/mm/yyyy'],
      files: { 'xl/workbook.xml': workbook },
    });
    expect(await convertToText(workbookBytes)).toBe('2024-01-31\n');
  });
});

describe('merged cells of a workbook', () => {
  it('name each column by both levels of a header of two rows', async () => {
    const rows = {
      1: { A: 'Vendas por trimestre' },
      3: { A: 'Cliente', B: 2023, D: 2024 },
      4: { B: 'Jan', C: 'Fev', D: 'Jan', E: 'Fev' },
      5: { A: 'Ana', B: 1, C: 2, D: 3, E: 4 },
      6: { A: 'Bia', B: 5, C: 6, D: 7, E: 8 },
    };
    const merges = ['A1:E1', 'A3:A4', 'B3:C3', 'D3:E3'];
    const inference = inferSheet(await convertWorkbook(makeWorkbook({ sheets: [{ rows, merges }] })));
    expect(formatColumns(inference)).toBe(
      'cliente:text _2023_jan:integer _2023_fev:integer _2024_jan:integer _2024_fev:integer',
    );
    expect(inference.schema.total_row_count_estimate).toBe(2);
    expect(inference.schema.columns[0]?.evidence.counter_example).toMatchObject({ line: 5 });
  });

  it('name each column by both levels of a header whose first cell is empty', async () => {
    const rows = parseCells('|2023||2024|', 'Nome|Jan|Fev|Jan|Fev', 'Ana|1|2|3|4', 'Bia|5|6|7|8');
    const inference = inferSheet(
      await convertWorkbook(makeWorkbook({ sheets: [{ rows, merges: ['B1:C1', 'D1:E1'] }] })),
    );
    expect(formatColumns(inference)).toBe(
      'nome:text _2023_jan:integer _2023_fev:integer _2024_jan:integer _2024_fev:integer',
    );
  });

  const TITLE_ROWS = parseCells('Notas do ano');
  const MIXED_HEADER_ROWS = parseCells('Nome|Notas||Final', '|N1|N2|Média', 'Ana|1|2|1.5', 'Bia|3|4|3.5');
  const GROUP_HEADER_ROWS = parseCells('|Notas||', 'Nome|N1|N2|Média', 'Ana|1|2|1.5', 'Bia|3|4|3.5');
  const THREE_HEADER_ROWS = parseCells('|Notas', '|Turma B', 'Nome|N1|N2|N3', 'Ana|1|2|1.5', 'Bia|3|4|3.5');
  const GROUPED_COLUMNS = 'nome:text notas_n1:integer notas_n2:integer';

  it.each([
    [
      'also of a column with a cell in each',
      MIXED_HEADER_ROWS,
      ['A1:A2', 'B1:C1'],
      `${GROUPED_COLUMNS} final_media:decimal`,
      0,
    ],
    [
      'also below a title',
      [...TITLE_ROWS, ...MIXED_HEADER_ROWS],
      ['A1:D1', 'A2:A3', 'B2:C2'],
      `${GROUPED_COLUMNS} final_media:decimal`,
      1,
    ],
    ['also where a group alone is in the first', GROUP_HEADER_ROWS, ['B1:C1'], `${GROUPED_COLUMNS} media:decimal`, 0],
    [
      'also where such a group is below a title',
      [...TITLE_ROWS, ...GROUP_HEADER_ROWS],
      ['A1:D1', 'B2:C2'],
      `${GROUPED_COLUMNS} media:decimal`,
      1,
    ],
    [
      'but of no titles of one extent',
      THREE_HEADER_ROWS,
      ['B1:D1', 'B2:D2'],
      'nome:text n1:integer n2:integer n3:decimal',
      2,
    ],
    [
      'but of no title over the first column',
      [...parseCells('Notas'), ...GROUP_HEADER_ROWS.slice(1)],
      ['A1:B1'],
      'nome:text n1:integer n2:integer media:decimal',
      1,
    ],
  ])('name each column by both levels of a header, %s', async (_, rows, merges, columns, skipped) => {
    const inference = inferSheet(await convertWorkbook(makeWorkbook({ sheets: [{ rows, merges }] })));
    expect(formatColumns(inference)).toBe(columns);
    expect(inference.schema).toMatchObject({ total_row_count_estimate: 2, dialect: { skipped_lines: skipped } });
  });

  const toTexts = (rows: Cell[][]): Cell[][] => rows.map((row) => row.map((cell) => cell && String(cell)));
  const PAIR_ROWS = parseCells('P||Q', 'a|b|c', 'x|1|2', 'y|3|4');
  const INDEX_ROWS = parseCells('|P||Q', '|a|b|c', '', '0|1|2|3', '1|4|5|6');
  const LABEL_ROWS = parseCells('|P||Q', 'nome|a|b|c', 'x|1|2|3', 'y|4|5|6');
  const THREE_PAIR_ROWS = parseCells('P||Q||R', 'a|b|c|d|e', '1|2|3|4|5', '6|7|8|9|0');
  const PAIR_COLUMNS = 'p_a:text p_b:integer q_c:integer';
  const INDEX_COLUMNS = 'column_1:integer p_a:integer p_b:integer q_c:integer';

  it.each([
    ['beside another group', PAIR_ROWS, ['A1:B1'], PAIR_COLUMNS],
    ['in a sheet of texts', toTexts(PAIR_ROWS), ['A1:B1'], PAIR_COLUMNS],
    ['behind a column of row numbers without a name', INDEX_ROWS, ['B1:C1'], INDEX_COLUMNS],
    ['behind a column named in the second row', LABEL_ROWS, ['B1:C1'], 'nome:text p_a:integer p_b:integer q_c:integer'],
    [
      'beside two groups',
      THREE_PAIR_ROWS,
      ['A1:B1', 'C1:D1'],
      'p_a:integer p_b:integer q_c:integer q_d:integer r_e:integer',
    ],
  ])(
    'name each column by both levels of a header, also where a group has a single column, %s',
    async (_, rows, merges, columns) => {
      const inference = inferSheet(await convertWorkbook(makeWorkbook({ sheets: [{ rows, merges }] })));
      expect(formatColumns(inference)).toBe(columns);
      expect(inference.schema).toMatchObject({ total_row_count_estimate: 2, dialect: { skipped_lines: 0 } });
    },
  );

  it('do not turn a title of two values into groups of a wider header', async () => {
    const rows = parseCells('Empresa||Padaria X', 'nome|idade|uf|total', 'Ana|30|RN|1', 'Bia|40|PE|2');
    const inference = inferSheet(await convertWorkbook(makeWorkbook({ sheets: [{ rows, merges: ['A1:B1'] }] })));
    expect(formatColumns(inference)).toBe('nome:text idade:integer uf:text total:integer');
    expect(inference.schema).toMatchObject({ total_row_count_estimate: 2, dialect: { skipped_lines: 1 } });
  });

  it('make numbered column names in a header of one row', async () => {
    const rows = {
      1: { A: 'Nome', B: 'Telefone', D: 'Idade' },
      2: { A: 'Ana', B: '1', C: '2', D: 30 },
      3: { A: 'Bia', B: '3', D: 40 },
    };
    const inference = inferSheet(await convertWorkbook(makeWorkbook({ sheets: [{ rows, merges: ['B1:C1'] }] })));
    expect(formatColumns(inference)).toBe('nome:text telefone:integer telefone_2:integer idade:integer');
  });

  it('name columns only in the header, not in the rows below', async () => {
    const rows = {
      1: { A: 'regiao', B: 'produto', C: 'jan', D: 'fev' },
      2: { A: 'Norte', B: 'Arroz', C: 1, D: 2 },
      3: { A: 'Sul', B: 'Feijão', C: 10 },
      4: { B: 'Milho', C: 5, D: 6 },
      5: { B: 'Soja', C: 7, D: 8 },
    };
    const inference = inferSheet(
      await convertWorkbook(makeWorkbook({ sheets: [{ rows, merges: ['A3:A5', 'C3:D3'] }] })),
    );
    expect(formatColumns(inference)).toBe('regiao:text produto:text jan:integer fev:integer');
    expect(inference.schema.sample_rows.slice(1)).toEqual([
      { regiao: 'Sul', produto: 'Feijão', jan: 10, fev: null },
      { regiao: 'Sul', produto: 'Milho', jan: 5, fev: 6 },
      { regiao: 'Sul', produto: 'Soja', jan: 7, fev: 8 },
    ]);
  });

  it('make numbered column names, and no header of two rows, where the second row may be data', async () => {
    const names = ['Nome', 'Telefone', null, 'Cidade'];
    const peopleRows = parseCells('Ana|84 1|84 2|Natal', 'Bia|81 3|81 4|Recife');
    const merges = ['B1:C1', 'B3:C3'];
    const inference = inferSheet(
      await convertWorkbook(makeWorkbook({ sheets: [{ rows: [names, ...peopleRows], merges }] })),
    );
    expect(formatColumns(inference)).toBe('nome:text telefone:text telefone_2:text cidade:text');
    expect(inference.schema.total_row_count_estimate).toBe(2);
    const pairRows = parseCells('Jan||Fev|', '1|2|3|4', '5|6|7|8');
    const numberInference = inferSheet(
      await convertWorkbook(makeWorkbook({ sheets: [{ rows: pairRows, merges: ['A1:B1', 'C1:D1'] }] })),
    );
    expect(formatColumns(numberInference)).toBe('jan:integer jan_2:integer fev:integer fev_2:integer');
    expect(numberInference.schema.total_row_count_estimate).toBe(2);
  });

  it('are not repeated where the first row is data', async () => {
    const rows = parseCells('Norte|10|', 'Sul|20|30', 'Oeste|40|50');
    const workbookBytes = makeWorkbook({ sheets: [{ rows, merges: ['B1:C1'] }] });
    expect(await convertToText(workbookBytes)).toBe('"Norte",10\n"Sul",20,30\n"Oeste",40,50\n');
  });

  it('fill only their first cell unless they are texts merged downwards', async () => {
    const rows = {
      1: { A: 'a', B: 'b', C: 'c' },
      2: { A: 7, B: 'x', C: 1 },
      3: { B: null, C: 2 },
      4: { A: 'y', C: 3 },
    };
    expect(await convertToText(makeWorkbook({ sheets: [{ rows, merges: ['A2:A3', 'B2:B3', 'A4:B4'] }] }))).toBe(
      '"a","b","c"\n7,"x",1\n,"x",2\n"y",,3\n',
    );
  });

  it('fill every row that they span', async () => {
    const rows = {
      1: { A: 'Região', B: 'Loja', C: 'Total' },
      2: { A: 'Ceará', B: 'a', C: 1 },
      3: { B: 'b', C: 2 },
      4: { B: 'c', C: 3 },
      5: { A: 'Sul', B: 'd', C: 4 },
    };
    for (const budget of [64, 1 << 20]) {
      expect(await convertToText(makeWorkbook({ sheets: [{ rows, merges: ['A2:A4'] }] }), budget)).toBe(
        '"Região","Loja","Total"\n"Ceará","a",1\n"Ceará","b",2\n"Ceará","c",3\n"Sul","d",4\n',
      );
    }
  });

  it('add no row for a row without a value of its own, such as the second row of a record two rows high', async () => {
    const rows = {
      1: { A: 'Nome', B: 'Cidade', C: 'Total' },
      2: { A: 'Ana', B: 'Natal', C: 1 },
      3: { A: null },
      4: { A: 'Bia', B: 'Olinda', C: 2 },
      6: { A: 'Caio', B: 'Recife', C: 3 },
    };
    const merges = ['A2:A3', 'B2:B3', 'C2:C3', 'A4:A5', 'B4:B5', 'C4:C5'];
    const inference = inferSheet(await convertWorkbook(makeWorkbook({ sheets: [{ rows, merges }] })));
    expect(inference.schema.total_row_count_estimate).toBe(3);
    expect(inference.schema.sample_rows.map(({ nome }) => nome)).toEqual(['Ana', 'Bia', 'Caio']);
  });

  it('are all ignored where some overlap, as Excel repairs such a file', async () => {
    const rows = { 1: { A: 'a', B: 'b' }, 2: { A: 'x', B: 2 }, 3: { B: 3 }, 70: { B: 4 } };
    const convertMergedCells = (...merges: string[]) => convertToText(makeWorkbook({ sheets: [{ rows, merges }] }));
    const unmergedText = `"a","b"\n"x",2\n,3\n${'\n'.repeat(66)},4\n`;
    expect(await convertMergedCells('A2:A3')).toBe(unmergedText.replace('\n,3', '\n"x",3'));
    expect(await convertMergedCells('A2:A3', 'A3:B3')).toBe(unmergedText);
    expect(await convertMergedCells('A2:A3', 'B1:D2', 'D2:E2')).toBe(unmergedText);
    expect(await convertMergedCells('A2:A90', 'A80:A99')).toBe(unmergedText);
    expect(await convertMergedCells('A2:A3', 'A1:A1', 'XFD9:ZZZ9', 'C1048576:C9999999')).toBe(
      unmergedText.replace('\n,3', '\n"x",3'),
    );
  });

  describe('that are listed behind the rows', () => {
    const rows = parseCells('regiao|2024|', '|jan|fev', 'Norte|1|2', '|3|4');
    const parts = { sheets: [{ rows, merges: ['A1:A2', 'B1:C1', 'A3:A4'] }] };
    const MERGED_CSV = '\n"regiao","2024 jan","2024 fev"\n"Norte",1,2\n"Norte",3,4\n';
    const SHEET_PATH = 'xl/worksheets/sheet1.xml';
    const sheetXml = strFromU8(makeWorkbookFiles(parts)[SHEET_PATH] as Uint8Array);
    const convertSheet = (xml: string, bytesPerCall?: number, prefix = '') =>
      convertToText(makeWorkbook({ ...parts, prefix, files: { [SHEET_PATH]: xml } }), bytesPerCall);
    const insertBehind = (xml: string) => sheetXml.replace('</worksheet>', `${xml}</worksheet>`);
    const makeLinks = (count: number) =>
      `<hyperlinks>${Array.from({ length: count }, (_, n) => `<hyperlink ref="B${n}" location="Sheet!A${n}" tooltip="${'abrir '.repeat(20)}"/>`).join('')}</hyperlinks>`;

    it.each(['sheetData', 'mergeCells'])('are found where a link leads to a sheet named %s', async (name) => {
      const link = `<hyperlinks><hyperlink ref="B3" location="'${name}'!A1" display="${name} >"/></hyperlinks>`;
      for (const prefix of ['', 'x']) {
        expect(await convertSheet(insertBehind(link), undefined, prefix)).toBe(MERGED_CSV);
        expect(await convertSheet(insertBehind(link), 200, prefix)).toBe(MERGED_CSV);
      }
    });

    it('are found however much stands between them, the rows and the end', async () => {
      const links = makeLinks(60_000);
      expect(links.length).toBeGreaterThan(8 * 1024 * 1024);
      expect(await convertSheet(insertBehind(links))).toBe(MERGED_CSV);
      const filters = `<autoFilter>${'<filter val="x"/>'.repeat(500_000)}</autoFilter>`;
      expect(await convertSheet(sheetXml.replace('<mergeCells>', `${filters}<mergeCells>`))).toBe(MERGED_CSV);
      const withoutMerges = insertBehind(links).replace(/<mergeCells>.*<\/mergeCells>/, '');
      expect(await convertSheet(withoutMerges)).toBe('"regiao",2024\n,"jan","fev"\n"Norte",1,2\n,3,4\n');
    });

    it('are read where their list declares the namespace itself, and is read in pieces', async () => {
      const merges = Array.from({ length: 20_000 }, (_, n) => `<mergeCell ref="E${2 * n + 100}:E${2 * n + 101}"/>`);
      const ownList = `<mergeCells xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">${merges.join('')}`;
      const prefixedXml = sheetXml
        .replaceAll(/<(\/?)(?=[a-z])/g, '<$1x:')
        .replace('xmlns=', 'xmlns:x=')
        .replace(
          /<x:mergeCells>(.*)<\/x:mergeCells>/,
          (_, list: string) => `${ownList}${list.replaceAll('x:', '')}</mergeCells>`,
        );
      expect(await convertSheet(prefixedXml)).toBe(MERGED_CSV);
    });

    it('are refused where their list has more than 32 MiB', async () => {
      const longList = sheetXml.replace('</mergeCells>', `${`<!--${' '.repeat(1 << 20)}-->`.repeat(40)}</mergeCells>`);
      await expect(convertSheet(longList)).rejects.toMatchObject({ error: { code: 'WORKBOOK_TOO_LARGE' } });
    });

    it('are all read up to 250,000 that are used, beyond which the workbook is too large', async () => {
      const makeMany = (count: number, makeReference: (row: number) => string) =>
        sheetXml.replace(
          '</mergeCells>',
          `${Array.from({ length: count }, (_, n) => `<mergeCell ref="${makeReference(n + 100)}"/>`).join('')}</mergeCells>`,
        );
      const formatSideBySide = (row: number) => `E${row}:F${row}`;
      const formatStacked = (row: number) => `E${2 * row}:E${2 * row + 1}`;
      expect(await convertSheet(makeMany(251_000, formatSideBySide))).toBe(MERGED_CSV);
      expect(await convertSheet(makeMany(249_000, formatStacked))).toBe(MERGED_CSV);
      await expect(convertSheet(makeMany(251_000, formatStacked))).rejects.toMatchObject({
        error: { code: 'WORKBOOK_TOO_LARGE' },
      });
    });
  });

  it('do not turn a title into a header', async () => {
    const rows = {
      1: { A: 'Relatório de 2024' },
      2: { A: 'nome', B: 'valor' },
      3: { A: 'Ana', B: 1 },
      4: { A: 'Bia', B: 2 },
    };
    const inference = inferSheet(await convertWorkbook(makeWorkbook({ sheets: [{ rows, merges: ['A1:B1'] }] })));
    expect(formatColumns(inference)).toBe('nome:text valor:integer');
    expect(inference.schema.dialect.skipped_lines).toBe(1);
  });
});

describe('an XML part of a workbook', () => {
  const readPart = (path: string) =>
    strFromU8(
      makeWorkbookFiles({ sheets: [{ rows: DATED_ROWS }], strings: ['<t>é€😀</t>'], formats: [14] })[
        path
      ] as Uint8Array,
    );
  const DATED_ROWS: Cell[][] = [
    ['quem', 'dia'],
    [
      { t: 's', v: '0' },
      { s: 1, v: '45322' },
    ],
  ];
  const PART_PATHS = [
    'xl/workbook.xml',
    'xl/_rels/workbook.xml.rels',
    'xl/styles.xml',
    'xl/sharedStrings.xml',
    'xl/worksheets/sheet1.xml',
  ];
  const convertWithPart = (path: string, bytes: Uint8Array | string | null) =>
    makeWorkbook({ sheets: [{ rows: DATED_ROWS }], strings: ['<t>é€😀</t>'], formats: [14], files: { [path]: bytes } });

  const encodeLittleEndian = (text: string) =>
    new Uint8Array(Uint16Array.from({ length: text.length }, (_, at) => text.charCodeAt(at)).buffer);
  const encodeBigEndian = (text: string) => encodeLittleEndian(text).map((_, at, all) => all[at ^ 1] as number);
  const byteOrderMark = '\ufeff';
  const declareEncoding = (encoding: string, text: string) => `<?xml version="1.0" encoding="${encoding}"?>${text}`;

  it.each(PART_PATHS)('such as %s is read in UTF-8 and UTF-16, by byte order mark and by declaration', async (path) => {
    const text = readPart(path);
    const equivalentParts = [
      strToU8(byteOrderMark + text),
      strToU8(declareEncoding('utf-8', text)),
      encodeLittleEndian(byteOrderMark + text),
      encodeBigEndian(byteOrderMark + text),
      encodeLittleEndian(declareEncoding('UTF-16', text)),
      encodeBigEndian(declareEncoding('UTF-16BE', text)),
    ];
    for (const bytes of equivalentParts) {
      for (const budget of [64, 1 << 20]) {
        expect(await convertToText(convertWithPart(path, bytes), budget)).toBe('"quem","dia"\n"é€😀",2024-01-31\n');
      }
    }
  });

  it.each(PART_PATHS)(
    'such as %s makes the workbook unreadable when it is missing, invalid or in another encoding',
    async (path) => {
      const text = readPart(path);
      const brokenParts = [
        strToU8(declareEncoding('iso-8859-1', text)),
        strToU8(declareEncoding('windows-1252', text)),
        Uint8Array.from([...strToU8(text), 0xe9]),
        encodeLittleEndian(byteOrderMark + text).slice(0, -1),
        '',
        '<outra/>',
      ];
      for (const bytes of brokenParts)
        expect([path, await findProblem(convertWithPart(path, bytes))]).toEqual([path, 'WORKBOOK_UNREADABLE']);
      expect(await findProblem(convertWithPart(path, null))).toBe('WORKBOOK_UNREADABLE');
    },
  );
});

describe('a workbook that cannot be read', () => {
  const findBrokenProblem = (files: WorkbookParts['files']) => findProblem(makeSheetWorkbook(SHEET_ROWS, { files }));
  const findSheetProblem = (xml: string) => findBrokenProblem({ 'xl/worksheets/sheet1.xml': xml });
  const findRowProblem = (content: string) =>
    findSheetProblem(`<worksheet><sheetData><row r="1">${content}</row></sheetData></worksheet>`);

  it('is reported as unreadable, or without rows, whatever is wrong with it', async () => {
    expect(await findProblem(makeWorkbook({ sheets: [] }))).toBe('NO_ROWS');
    expect(await findProblem(makeWorkbook({ sheets: [{ rows: [] }, { rows: [[null]] }] }))).toBe('NO_ROWS');
    expect(await findProblem(zipSync({ 'x.txt': new Uint8Array(3) }))).toBe('WORKBOOK_UNREADABLE');
    expect(await findBrokenProblem({ 'xl/workbook.xml': null })).toBe('WORKBOOK_UNREADABLE');
    expect(await findBrokenProblem({ 'xl/workbook.xml': '<workbook><sheets><sheet name="' })).toBe(
      'WORKBOOK_UNREADABLE',
    );
    expect(await findSheetProblem('<worksheet><sheetData><row r="1"><c><v>1</v></c>')).toBe('WORKBOOK_UNREADABLE');
    expect(await findSheetProblem('<worksheet><sheetData><row r="2"/><row r="1"/></sheetData></worksheet>')).toBe(
      'WORKBOOK_UNREADABLE',
    );
    expect(await findSheetProblem('<worksheet><sheetData><row r="1048577"/></sheetData></worksheet>')).toBe(
      'WORKBOOK_UNREADABLE',
    );
    expect(await findRowProblem('<c r="XFE1"><v>1</v></c>')).toBe('WORKBOOK_UNREADABLE');
    expect(await findRowProblem('<c r="B1"><v>1</v></c><c r="A1"><v>1</v></c>')).toBe('WORKBOOK_UNREADABLE');
    expect(await findRowProblem('<c t="s"><v>7</v></c>')).toBe('WORKBOOK_UNREADABLE');
  });

  it('is reported as unreadable when it defines XML entities', async () => {
    const entityBomb = `<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>`;
    expect(
      await findSheetProblem(
        `${entityBomb}<worksheet><sheetData><row r="1"><c t="str"><v>&b;</v></c></row></sheetData></worksheet>`,
      ),
    ).toBe('WORKBOOK_UNREADABLE');
    expect(await findBrokenProblem({ 'xl/workbook.xml': `${entityBomb}<workbook/>` })).toBe('WORKBOOK_UNREADABLE');
    expect(await findBrokenProblem({ 'xl/sharedStrings.xml': `${entityBomb}<sst><si><t>&b;</t></si></sst>` })).toBe(
      'WORKBOOK_UNREADABLE',
    );
  });

  it('is reported as unreadable wherever it is cut off, and is never read with other values where it is damaged', async () => {
    const workbookBytes = makeSheetWorkbook(Array.from({ length: 200 }, (_, n) => [n, `texto ${n * 7919}`]));
    for (let at = 0; at < workbookBytes.length - 1; at += 97) {
      expect(await findProblem(workbookBytes.slice(0, at))).toBe('WORKBOOK_UNREADABLE');
      const changedWorkbook = workbookBytes.slice();
      changedWorkbook[at] = (changedWorkbook[at] as number) ^ 0xff;
      // Either the change is found, or nobody reads that byte: the text is never another.
      const outcome = await findProblem(changedWorkbook);
      if (outcome === undefined) expect(await convertToText(changedWorkbook)).toBe(await convertToText(workbookBytes));
      else expect(['WORKBOOK_UNREADABLE', 'NO_ROWS', 'WORKBOOK_TOO_LARGE']).toContain(outcome);
    }
  });

  it('is reported as too large when it is a decompression bomb', async () => {
    const files = makeWorkbookFiles({ sheets: [{ rows: SHEET_ROWS }] });
    const xml = new Uint8Array(60 * 1024 * 1024).fill(32);
    expect(await findProblem(zipSync({ ...files, 'xl/worksheets/sheet1.xml': [xml, { level: 9 }] }))).toBe(
      'WORKBOOK_TOO_LARGE',
    );
    const sharedStrings = new TextEncoder().encode(
      `<sst>${`<si><t>${'x'.repeat(30_000)}</t></si>`.repeat(1800)}</sst>`,
    );
    expect(await findProblem(zipSync({ ...files, 'xl/sharedStrings.xml': sharedStrings }))).toBe('WORKBOOK_TOO_LARGE');
  });
});
