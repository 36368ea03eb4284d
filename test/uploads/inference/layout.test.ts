import { describe, expect, test } from 'vitest';
import { encodeFile, formatColumns, formatRows, inferText, readRefusal, readRows } from './reading.ts';

/** A file's text, its columns, the number of its rows, and of its skipped lines if any. */
type LayoutCase = [title: string, text: string, columns: string, rows: number, skipped?: number];

const FILES_WITH_HEADER: LayoutCase[] = [
  ['a header over text', 'nome,cidade\nana,rio\nbia,sp\n', 'nome:text cidade:text', 2],
  ['a header over numbers', 'a,b\n1,2\n3,4\n', 'a:int b:int', 2],
  ['a header of numbers over text', '2019,2020\nx,y\n', '_2019:text _2020:text', 1],
  ['a repeated header over text', 'x,x\na,b\nc,d\n', 'x:text x_2:text', 2],
  ['a repeated header over numbers', 'x,x\n1,2\n3,4\n', 'x:int x_2:int', 2],
  ['an empty header over text', 'x,,y\na,b,c\nc,d,e\n', 'x:text column_2:text y:text', 2],
  ['a header that a row below repeats, beside other headers', 'x,z,y\na,b,c\nx,d,e\n', 'x:text z:text y:text', 2],
  ['an empty header over numbers', 'x,,y\na,1,2\nc,3,4\n', 'x:text column_2:int y:int', 2],
  ['row names under an empty header', ',nome\n0,ana\n1,bia\n', 'column_1:int nome:text', 2],
  [
    'numbered rows beside text, as R writes them',
    'nome,idade\n1,ana,30\n2,bia,31\n',
    'nome:int idade:text column_3:int',
    2,
  ],
  ['row names without a header, as R has', 'nome,idade\nx,ana,30\ny,bia,31\n', 'column_1:text nome:text idade:int', 2],
  ['row names, of which one repeats', 'nome,idade\nx,ana,30\nx,bia,31\n', 'nome:text idade:text column_3:int', 2],
  [
    'row names, the first with an empty last field',
    'mpg,cyl\nA,21,\nB,22.8,4\nC,20,5\n',
    'column_1:text mpg:dec cyl:int',
    3,
  ],
  ['a delimiter at the end of each row', 'nome,valor\nana,1,\nbia,2,\n', 'nome:text valor:int', 2],
  ['row names without a header beside one column', 'valor\na;1\nb;2\n', 'column_1:text valor:int', 2],
  ['row names in a file of quoted text', '"x","y"\n"a","b","c"\n"d","e","f"\n', 'column_1:text x:text y:text', 2],
  ['row names without a header beside equal headers', '"x","x"\n"a",1,2\n"d",3,4\n', 'column_1:text x:int x_2:int', 2],
  ['a title above a header', 'Vendas\nnome,valor\nana,1\nbia,2\n', 'nome:text valor:int', 2, 1],
  ['a title above a header of text', 'Lista\nnome,cidade\nana,rio\n', 'nome:text cidade:text', 1, 1],
  [
    'more titles than lines of a table of two columns',
    'Empresa X Ltda\nRelatório de vendas\nEmitido em 01/02/2024\nUsuário: ana\n\nproduto;quantidade\nArroz;10\nFeijão;20\n',
    'produto:text quantidade:int',
    2,
    5,
  ],
  ['three titles above a header and one row', 'a\nb\nc\nnome,valor\nA,0\n', 'nome:text valor:int', 1, 3],
  ['titles above decimals with a comma', 'Preços\nde hoje\n12,50\n13,20\n', 'precos:text', 3],
  ['titles and a blank line', 'Vendas\n2024\n\nn,v,w\na,1,2\nb,2,3\n', 'n:text v:int w:int', 2, 3],
  ['a title padded with delimiters', 'Vendas,,\n,,\nn,v,w\na,1,2\nb,2,3\n', 'n:text v:int w:int', 2, 2],
  ['group headers above column headers', 'g,,h,\nx,y,x,y\n1,2,3,4\n5,6,7,8\n', 'x:int y:int x_2:int y_2:int', 2, 1],
  ['blank lines anywhere', '\n\na,b\n\n1,2\n \n,\n3,4\n\n', 'a:int b:int', 2],
  ['lines of Unicode spaces', '\u00a0\nT\n\u00a0,\u00a0\na,b\n1,2\n\u00a0\n3,4\n\u00a0\n', 'a:int b:int', 2, 3],
  ['a footnote', 'a,b\n1,2\n3,4\nFonte: IBGE\n', 'a:int b:int', 2, 1],
  ['footnotes after a blank line', 'a,b\n1,2\n3,4\n\nFonte: IBGE,\nNota,\n', 'a:int b:int', 2, 2],
  ['a padded footnote', 'a,b,c\n1,2,3\nFonte: IBGE,,\n', 'a:int b:int c:int', 1, 1],
  ['a last row with only a numeric key', 'a,b,c\n1,2,3\n4,,\n', 'a:int b:int c:int', 2],
  ['a last row with only a text key', 'a,b,c\nk1,2,3\nk2,,\n', 'a:text b:int c:int', 2],
  ['a last row with only its last value', 'a,b,c\n1,2,3\n,,4\n', 'a:int b:int c:int', 2],
  ['a last row of two columns, half empty', 'nome,idade\nana,3\nbia,\n', 'nome:text idade:int', 2],
  ['sparse rows, one of them last', 'a,b,c\nx y,1,2\nz w,,\nq r,3,4\ns t,,\n', 'a:text b:int c:int', 4],
  ['a single value in the middle', 'a,b,c\n1,2,3\n4\n5,6,7\n', 'a:int b:int c:int', 3],
  ['one column', 'nome\nana\nbia\n', 'nome:text', 2],
  ['one column of numbers', 'n\n1\n2\n', 'n:int', 2],
  ['trailing delimiters everywhere', 'a,b,\n1,2,\n3,4,\n', 'a:int b:int', 2],
  ['trailing delimiters in rows', 'a,b\n1,2,\n3,4,\n', 'a:int b:int', 2],
  ['several trailing delimiters', 'a,b,,,\n1,2,,,\n', 'a:int b:int', 1],
  ['an empty column with a name', 'a,b,c\n1,2,\n3,4,\n', 'a:int b:int c:text', 2],
  ['short rows', 'a,b,c\n1,2\n3,4\n5,6,7\n', 'a:int b:int c:int', 3],
  ['rows all shorter than the header', 'a,b,c,d\n1,2,3\n4,5,6\n', 'a:int b:int c:int d:text', 2],
  // years
  ['years as headers', 'pais,2019,2020\nBrasil,10,20\nChile,30,40\n', 'pais:text _2019:int _2020:int', 2],
  ['years beside an empty header', ';1985;1993\na;12;379\nb;14;380\n', 'column_1:text _1985:int _1993:int', 2],
  // titles
  ['titles of several values above a header', 'Loja,X\nn,v,w,z\na,1,2,3\nb,2,3,4\n', 'n:text v:int w:int z:int', 2, 1],
  ['a title with a number', 'Loja,2024\nn,cidade,uf\nana,natal,rn\nbia,rio,rj\n', 'n:text cidade:text uf:text', 2, 1],
  [
    'a title of several values above a header over a column of S and N',
    'Empresa;ACME;\nnome;cidade;ativo\nAna;Natal;S\nBia;Recife;N\n',
    'nome:text cidade:text ativo:boolean',
    2,
    1,
  ],
  [
    'a title of several values above a header whose names are words of booleans',
    'Empresa;ACME;\nPergunta;Sim;Não\nq1;1;2\nq2;3;4\n',
    'pergunta:text sim:int nao:int',
    2,
    1,
  ],
  [
    'a title of several values above texts and a column of S alone',
    'Empresa;ACME;\nnome;cidade;ativo\nAna;Natal;S\nBia;Recife;S\n',
    'empresa:text acme:text column_3:text',
    3,
  ],
  [
    'a header without a name above a column of S and N',
    'nome;email;\nAna;a@x;S\nBia;b@x;N\nCaio;c@x;S\n',
    'nome:text email:text column_3:boolean',
    3,
  ],
  ['a short first row of texts above no header', 'ana,x\nbia,1,2\nbia,3,4\n', 'ana:text x:int column_3:int', 2],
  ['a short header above numbered rows', 'a,b,c\n1,2,3,4\n5,6,7,8\n', 'a:int b:int c:int column_4:int', 2],
  // comments
  ['comment lines that begin with #', '# de x\n# por ana, hoje, sim\nn,v\na,1\nb,2\n', 'n:text v:int', 2, 2],
  ['one comment line that begins with #', '# por ana, hoje, sim\nn,v\na,1\nb,2\n', 'n:text v:int', 2, 1],
  ['a header that begins with #', '#,nome\n1,ana\n2,bia\n', 'column_1:int nome:text', 2],
  ['a header that begins with # below comments', '# de x\n# por ana\n#t,v\n1,2\n3,4\n', 't:int v:int', 2, 2],
  ['comment lines above one column', '# de x\n# por ana\nnome\nana\nbia\n', 'nome:text', 2, 2],
  // one column
  ['one column of decimal commas', 'preco\r\n12,50\r\n12,75\r\n8,00\r\n', 'preco:dec', 3],
  ['one column of decimal commas and integers', 'preco\n8\n-12,50\n1.234,75\n', 'preco:dec', 3],
  ['one column of texts with commas', 'nome\nSilva, Ana\nSouza, Bia\n', 'nome:text', 2],
  ['one column of texts with many commas', 'rua\nRua A, 10, Centro\nRua B, 2, Sul\n', 'rua:text', 2],
  ['one row of text with a comma', 'nome\nSilva, Ana\n', 'nome:text', 1],
  // footnotes
  ['last rows with only a name', 'n,e,f\nAna,a,1\nBia,b,2\nCarla Maria,,\nRui Pinto,,\n', 'n:text e:text f:int', 4],
  ['a footnote in a column of integers', 'a,b\n1,2\n3,4\nFonte: IBGE,\n5,\n', 'a:int b:int', 2, 2],
  ['a footnote in the last column', 'a,b,c\n1,2,3\n4,5,6\n,,Total\n', 'a:int b:int c:int', 2, 1],
  ['a text among integers that is no footnote', 'a,b\n1,2\nFonte: IBGE,\n3,4\n', 'a:text b:int', 3],
  ['a fraction among integers that is no footnote', 'a,b\n1,2\n3,4\n5.5,\n', 'a:dec b:int', 3],
  ['a footnote after sparse rows', 'a,b\n1,2\n3,\n4,5\nFonte,\n', 'a:int b:int', 3, 1],
  ['a footnote below a blank row', 'a,b\nx,2\n ,\nFonte,\n', 'a:text b:int', 1, 1],
  ['one column with a footnote', 'nome\nana\nbia\n\nFonte: IBGE\nNota\n', 'nome:text', 2, 2],
  ['one column with a last line that is no footnote', 'nome\nana\nbia\nFonte: IBGE\n', 'nome:text', 3],
  ['one column of numbers with a gap', 'v\n1\n\n2\n3\n', 'v:int', 3],
  ['one column with blank lines between rows', 'nome\n\nana\n\nbia\n\n', 'nome:text', 2],
  ['no line ending after the last row', 'a,b\n1,2', 'a:int b:int', 1],
];

const FILES_WITHOUT_HEADER: LayoutCase[] = [
  ['numbers alone', '1,2\n3,4\n', 'column_1:int column_2:int', 2],
  ['rows of number and text', '1,ana\n2,bia\n', 'column_1:int column_2:text', 2],
  ['dates alone', '2024-01-01,x\n2024-01-02,y\n', 'column_1:date column_2:text', 2],
  ['a repeated header that a row below repeats', 'x,x\na,b\nx,d\n', 'column_1:text column_2:text', 3],
  ['an empty header beside a repeated one', 'x,,y\na,b,c\nx,d,e\n', 'column_1:text column_2:text column_3:text', 3],
  ['one column without a header', '1\n2\n', 'column_1:int', 2],
  ['descending years in the first row', 'ana,2020,2019\nbia,10,20\n', 'column_1:text column_2:int column_3:int', 2],
  ['one year in the first row', 'ana,2020\nbia,10\n', 'column_1:text column_2:int', 2],
  ['nothing but years in the first row', '2019,2020\n10,20\n', 'column_1:int column_2:int', 2],
  ['short first rows above no header', '1,2\n3,4,5\n6,7,8\n', 'column_1:int column_2:int column_3:int', 3],
];

describe('the table in a CSV file', () => {
  const expectTable = ([, text, columns, rows, skipped = 0]: LayoutCase, hasHeader: boolean) => {
    const inference = inferText(text);
    const { dialect, total_row_count_estimate: count } = inference.schema;
    const foundColumns = formatColumns(inference).replaceAll(':integer', ':int').replaceAll(':decimal', ':dec');
    expect([foundColumns, count, dialect.header, dialect.skipped_lines]).toEqual([columns, rows, hasHeader, skipped]);
    expect(readRows(encodeFile(text))).toHaveLength(rows);
  };
  test.each(FILES_WITH_HEADER)('is found with %s', (...layoutCase) => expectTable(layoutCase, true));
  test.each(FILES_WITHOUT_HEADER)('is found without a header: %s', (...layoutCase) => expectTable(layoutCase, false));

  test('begins below at most 50 lines of notes', () => {
    const body = Array.from({ length: 200 }, (_, index) => `${index},x`).join('\n');
    expect(inferText(`${'nota\n'.repeat(50)}a,b\n${body}\n`).schema.dialect.skipped_lines).toBe(50);
    expect(formatColumns(inferText(`${'nota\n'.repeat(51)}a,b\n${body}\n`))).toBe('nota:text');
  });

  test('is found between many more notes than it has rows', () => {
    const table = 'cod,nome,valor\n1,ana,2\n2,bia,3\n';
    const { schema } = inferText(`${'Uma nota\n'.repeat(50)}${table}Fonte: IBGE\n`);
    expect(schema.columns.map(({ name }) => name)).toEqual(['cod', 'nome', 'valor']);
    expect(schema.total_row_count_estimate).toBe(2);
    expect(schema.dialect.skipped_lines).toBe(51);
  });

  test('is one column where only the last lines have commas', () => {
    const names = 'Ana Souza\nBia Lima\nCaio Dias\nDavi Reis\nEva Melo\n';
    expect(formatColumns(inferText(`nome\n${names}Silva, Fabio\nSilva, Gil\nSilva, Hugo\n`))).toBe('nome:text');
  });

  test('keeps many last rows with a single value as rows', () => {
    const { schema } = inferText(`a,b\n1,2\n${'3\n'.repeat(60)}`);
    expect(schema.total_row_count_estimate).toBe(61);
    expect(schema.columns[1]?.evidence.nulls).toBe(60);
  });

  test.each([
    ['Relatório\nnome;valor;cidade\n', 'titles and one line'],
    ['Relatório\nde 2024\nnome,valor,cidade\n', 'two titles and one line'],
    ['nome;valor\n', 'one line'],
  ])('is not found in %j: %s', (text) => {
    expect(readRefusal(() => inferText(text))).toMatchObject({ code: 'NO_ROWS' });
  });

  test('does not begin at a second header after many rows', () => {
    const rows = Array.from({ length: 20 }, (_, index) => `ana,${index},\n`).join('');
    const { schema } = inferText(`nome,valor,\n${rows}chave,nome,valor\na,b,1\nc,d,2\n`);
    expect(schema.dialect.skipped_lines).toBe(0);
  });

  test('has nulls where a row has fewer fields', () => {
    expect(formatRows(readRows(encodeFile('a,b,c\n1,2\n3,4,5\n')))).toEqual(['1|2|∅', '3|4|5']);
  });

  test.each([
    [
      'a column without name and values as a spacer',
      'nome,,cidade\nAna,,Natal\nBia,,Recife\nCaio,,Belém\n',
      'nome:text column_2:text cidade:text',
      ['Ana|∅|Natal', 'Bia|∅|Recife', 'Caio|∅|Belém'],
    ],
    [
      'years with gaps as headers beside names',
      ';1985;1993;2000;2005\nCirurgia;12;379;575;686\nClínica;14;380;600;700\n',
      'column_1:text _1985:integer _1993:integer _2000:integer _2005:integer',
      ['Cirurgia|12|379|575|686', 'Clínica|14|380|600|700'],
    ],
  ])('has all its values with %s', (_what, text, columns, rows) => {
    const inference = inferText(text);
    expect([formatColumns(inference), inference.schema.dialect.header]).toEqual([columns, true]);
    expect(formatRows(readRows(encodeFile(text)))).toEqual(rows);
  });

  test('does not include titles or footnotes as rows', () => {
    expect(formatRows(readRows(encodeFile('Título\n\na,b\n1,2\n3,4\n\nFonte: IBGE\n')))).toEqual(['1|2', '3|4']);
  });

  test('has SQL names and display names from its header', () => {
    const { columns } = inferText('Código do Cliente,userName,2024,id,,ID\n1,b,c,d,e,f\n').schema;
    expect(columns.map(({ name, display_name }) => [name, display_name])).toEqual([
      ['codigo_do_cliente', 'Código do Cliente'],
      ['user_name', 'userName'],
      ['_2024', '2024'],
      ['source_id', 'id'],
      ['column_5', 'column_5'],
      ['source_id_2', 'ID'],
    ]);
  });
});
