import { describe, expect, test } from 'vitest';
import { bytesOf, infer, refusal, rowsOf, shape } from './reading.ts';

/** A file's text; its columns; how many rows; header and skipped lines. */
type Case = [what: string, text: string, columns: string, rows: number, header: boolean, skipped: number];

const CASES: Case[] = [
  ['a header over text', 'nome,cidade\nana,rio\nbia,sp\n', 'nome:text cidade:text', 2, true, 0],
  ['a header over numbers', 'a,b\n1,2\n3,4\n', 'a:integer b:integer', 2, true, 0],
  ['numbers alone', '1,2\n3,4\n', 'column_1:integer column_2:integer', 2, false, 0],
  ['rows of number and text', '1,ana\n2,bia\n', 'column_1:integer column_2:text', 2, false, 0],
  ['dates alone', '2024-01-01,x\n2024-01-02,y\n', 'column_1:date column_2:text', 2, false, 0],
  ['a header of numbers over text', '2019,2020\nx,y\n', '_2019:text _2020:text', 1, true, 0],
  ['a repeated cell over text', 'x,x\na,b\nc,d\n', 'x:text x_2:text', 2, true, 0],
  ['a repeated cell that stands again below', 'x,x\na,b\nx,d\n', 'column_1:text column_2:text', 3, false, 0],
  ['a repeated cell over numbers', 'x,x\n1,2\n3,4\n', 'x:integer x_2:integer', 2, true, 0],
  ['an empty cell over text', 'x,,y\na,b,c\nc,d,e\n', 'x:text column_2:text y:text', 2, true, 0],
  [
    'an empty cell beside one that stands again below',
    'x,,y\na,b,c\nx,d,e\n',
    'column_1:text column_2:text column_3:text',
    3,
    false,
    0,
  ],
  ['one that stands again below, beside all names', 'x,z,y\na,b,c\nx,d,e\n', 'x:text z:text y:text', 2, true, 0],
  ['an empty cell over numbers', 'x,,y\na,1,2\nc,3,4\n', 'x:text column_2:integer y:integer', 2, true, 0],
  ['row names under an empty cell', ',nome\n0,ana\n1,bia\n', 'column_1:integer nome:text', 2, true, 0],
  ['R style, numbered', 'nome,idade\n1,ana,30\n2,bia,31\n', 'nome:integer idade:text column_3:integer', 2, true, 0],
  ['R style', 'nome,idade\nx,ana,30\ny,bia,31\n', 'column_1:text nome:text idade:integer', 2, true, 0],
  [
    'R style with a first field twice',
    'nome,idade\nx,ana,30\nx,bia,31\n',
    'nome:text idade:text column_3:integer',
    2,
    true,
    0,
  ],
  ['R style of one column', 'valor\na;1\nb;2\n', 'column_1:text valor:integer', 2, true, 0],
  ['R style, text', '"x","y"\n"a","b","c"\n"d","e","f"\n', 'column_1:text x:text y:text', 2, true, 0],
  ['R style with equal names', '"x","x"\n"a",1,2\n"d",3,4\n', 'column_1:text x:integer x_2:integer', 2, true, 0],
  ['a title above a header', 'Vendas\nnome,valor\nana,1\nbia,2\n', 'nome:text valor:integer', 2, true, 1],
  ['a title above a header of text', 'Lista\nnome,cidade\nana,rio\n', 'nome:text cidade:text', 1, true, 1],
  [
    'more titles than lines of a table of two columns',
    'Empresa X Ltda\nRelatório de vendas\nEmitido em 01/02/2024\nUsuário: ana\n\nproduto;quantidade\nArroz;10\nFeijão;20\n',
    'produto:text quantidade:integer',
    2,
    true,
    5,
  ],
  ['three titles above a header and one row', 'a\nb\nc\nnome,valor\nA,0\n', 'nome:text valor:integer', 1, true, 3],
  ['titles above decimals with a comma', 'Preços\nde hoje\n12,50\n13,20\n', 'precos:text', 3, true, 0],
  ['titles and a blank line', 'Vendas\n2024\n\nn,v,w\na,1,2\nb,2,3\n', 'n:text v:integer w:integer', 2, true, 3],
  ['a title padded with delimiters', 'Vendas,,\n,,\nn,v,w\na,1,2\nb,2,3\n', 'n:text v:integer w:integer', 2, true, 2],
  [
    'groups above columns',
    'g,,h,\nx,y,x,y\n1,2,3,4\n5,6,7,8\n',
    'x:integer y:integer x_2:integer y_2:integer',
    2,
    true,
    1,
  ],
  ['blank lines anywhere', '\n\na,b\n\n1,2\n \n,\n3,4\n\n', 'a:integer b:integer', 2, true, 0],
  [
    'lines of Unicode spaces',
    '\u00a0\nT\n\u00a0,\u00a0\na,b\n1,2\n\u00a0\n3,4\n\u00a0\n',
    'a:integer b:integer',
    2,
    true,
    3,
  ],
  ['a footnote', 'a,b\n1,2\n3,4\nFonte: IBGE\n', 'a:integer b:integer', 2, true, 1],
  ['footnotes after a blank line', 'a,b\n1,2\n3,4\n\nFonte: IBGE,\nNota,\n', 'a:integer b:integer', 2, true, 2],
  ['a padded footnote', 'a,b,c\n1,2,3\nFonte: IBGE,,\n', 'a:integer b:integer c:integer', 1, true, 1],
  ['a last row of a key alone', 'a,b,c\n1,2,3\n4,,\n', 'a:integer b:integer c:integer', 2, true, 0],
  ['a last row of a text key alone', 'a,b,c\nk1,2,3\nk2,,\n', 'a:text b:integer c:integer', 2, true, 0],
  ['a last row of a last value alone', 'a,b,c\n1,2,3\n,,4\n', 'a:integer b:integer c:integer', 2, true, 0],
  ['a last row of two, half empty', 'nome,idade\nana,3\nbia,\n', 'nome:text idade:integer', 2, true, 0],
  ['sparse rows, also last', 'a,b,c\nx y,1,2\nz w,,\nq r,3,4\ns t,,\n', 'a:text b:integer c:integer', 4, true, 0],
  ['a single value in the middle', 'a,b,c\n1,2,3\n4\n5,6,7\n', 'a:integer b:integer c:integer', 3, true, 0],
  ['one column', 'nome\nana\nbia\n', 'nome:text', 2, true, 0],
  ['one column of numbers', 'n\n1\n2\n', 'n:integer', 2, true, 0],
  ['one column without a header', '1\n2\n', 'column_1:integer', 2, false, 0],
  ['trailing delimiters everywhere', 'a,b,\n1,2,\n3,4,\n', 'a:integer b:integer', 2, true, 0],
  ['trailing delimiters in rows', 'a,b\n1,2,\n3,4,\n', 'a:integer b:integer', 2, true, 0],
  ['several trailing delimiters', 'a,b,,,\n1,2,,,\n', 'a:integer b:integer', 1, true, 0],
  ['an empty column with a name', 'a,b,c\n1,2,\n3,4,\n', 'a:integer b:integer c:text', 2, true, 0],
  ['short rows', 'a,b,c\n1,2\n3,4\n5,6,7\n', 'a:integer b:integer c:integer', 3, true, 0],
  ['rows all shorter than the header', 'a,b,c,d\n1,2,3\n4,5,6\n', 'a:integer b:integer c:integer d:text', 2, true, 0],
  // years
  [
    'years as names',
    'pais,2019,2020\nBrasil,10,20\nChile,30,40\n',
    'pais:text _2019:integer _2020:integer',
    2,
    true,
    0,
  ],
  [
    'years as names, one empty',
    ';1985;1993\na;12;379\nb;14;380\n',
    'column_1:text _1985:integer _1993:integer',
    2,
    true,
    0,
  ],
  ['years that fall', 'ana,2020,2019\nbia,10,20\n', 'column_1:text column_2:integer column_3:integer', 2, false, 0],
  ['one year', 'ana,2020\nbia,10\n', 'column_1:text column_2:integer', 2, false, 0],
  ['years alone', '2019,2020\n10,20\n', 'column_1:integer column_2:integer', 2, false, 0],
  // titles
  [
    'titles of several values above a header',
    'Loja,X\nn,v,w,z\na,1,2,3\nb,2,3,4\n',
    'n:text v:integer w:integer z:integer',
    2,
    true,
    1,
  ],
  [
    'a title with a number',
    'Loja,2024\nnome,cidade,uf\nana,natal,rn\nbia,rio,rj\n',
    'nome:text cidade:text uf:text',
    2,
    true,
    1,
  ],
  [
    'short first rows above no header',
    '1,2\n3,4,5\n6,7,8\n',
    'column_1:integer column_2:integer column_3:integer',
    3,
    false,
    0,
  ],
  [
    'a short first row of texts above no header',
    'ana,x\nbia,1,2\nbia,3,4\n',
    'ana:text x:integer column_3:integer',
    2,
    true,
    0,
  ],
  [
    'a short header above numbered rows',
    'a,b,c\n1,2,3,4\n5,6,7,8\n',
    'a:integer b:integer c:integer column_4:integer',
    2,
    true,
    0,
  ],
  // comments
  ['comments', '# de x\n# por ana, hoje, sim\nn,v\na,1\nb,2\n', 'n:text v:integer', 2, true, 2],
  ['one comment', '# por ana, hoje, sim\nn,v\na,1\nb,2\n', 'n:text v:integer', 2, true, 1],
  ['a header that begins with #', '#,nome\n1,ana\n2,bia\n', 'column_1:integer nome:text', 2, true, 0],
  ['a header that is the last comment', '# de x\n# por ana\n#t,v\n1,2\n3,4\n', 't:integer v:integer', 2, true, 2],
  ['comments above one column', '# de x\n# por ana\nnome\nana\nbia\n', 'nome:text', 2, true, 2],
  // one column
  ['one column of decimal commas', 'preco\r\n12,50\r\n12,75\r\n8,00\r\n', 'preco:decimal', 3, true, 0],
  ['one column of decimal commas and integers', 'preco\n8\n-12,50\n1.234,75\n', 'preco:decimal', 3, true, 0],
  ['one column of texts with commas', 'nome\nSilva, Ana\nSouza, Bia\n', 'nome:text', 2, true, 0],
  ['one column of texts with many commas', 'rua\nRua A, 10, Centro\nRua B, 2, Sul\n', 'rua:text', 2, true, 0],
  ['one row of text with a comma', 'nome\nSilva, Ana\n', 'nome:text', 1, true, 0],
  // footnotes
  [
    'last rows of a name alone',
    'n,e,f\nAna,a,1\nBia,b,2\nCarla Maria,,\nRui Pinto,,\n',
    'n:text e:text f:integer',
    4,
    true,
    0,
  ],
  ['a note in a typed column', 'a,b\n1,2\n3,4\nFonte: IBGE,\n5,\n', 'a:integer b:integer', 2, true, 2],
  ['a note in the last column', 'a,b,c\n1,2,3\n4,5,6\n,,Total\n', 'a:integer b:integer c:integer', 2, true, 1],
  ['a misfit that is no note', 'a,b\n1,2\nFonte: IBGE,\n3,4\n', 'a:text b:integer', 3, true, 0],
  ['a fraction that is no note', 'a,b\n1,2\n3,4\n5.5,\n', 'a:decimal b:integer', 3, true, 0],
  ['a note after sparse rows', 'a,b\n1,2\n3,\n4,5\nFonte,\n', 'a:integer b:integer', 3, true, 1],
  ['a note below a blank record', 'a,b\nx,2\n ,\nFonte,\n', 'a:text b:integer', 1, true, 1],
  ['one column with a note', 'nome\nana\nbia\n\nFonte: IBGE\nNota\n', 'nome:text', 2, true, 2],
  ['one column with a last line that is no note', 'nome\nana\nbia\nFonte: IBGE\n', 'nome:text', 3, true, 0],
  ['one column of numbers with a gap', 'v\n1\n\n2\n3\n', 'v:integer', 3, true, 0],
  ['one column with blank lines between rows', 'nome\n\nana\n\nbia\n\n', 'nome:text', 2, true, 0],
  ['no line end at the end', 'a,b\n1,2', 'a:integer b:integer', 1, true, 0],
];

describe('the table in a file', () => {
  test.each(CASES)('is found with %s', (_what, text, columns, rows, header, skipped) => {
    const inference = infer(text);
    const { dialect, total_row_count_estimate } = inference.schema;
    expect([shape(inference), total_row_count_estimate, dialect.header, dialect.skipped_lines]).toEqual([
      columns,
      rows,
      header,
      skipped,
    ]);
    expect(rowsOf(bytesOf(text))).toHaveLength(rows);
  });

  test('does not begin below more than 50 lines of notes', () => {
    const body = Array.from({ length: 200 }, (_, index) => `${index},x`).join('\n');
    expect(infer(`${'nota\n'.repeat(50)}a,b\n${body}\n`).schema.dialect.skipped_lines).toBe(50);
    expect(shape(infer(`${'nota\n'.repeat(51)}a,b\n${body}\n`))).toBe('nota:text');
  });

  test('may have many more notes than rows', () => {
    const table = 'cod,nome,valor\n1,ana,2\n2,bia,3\n';
    const { schema } = infer(`${'Uma nota\n'.repeat(50)}${table}Fonte: IBGE\n`);
    expect(schema.columns.map(({ name }) => name)).toEqual(['cod', 'nome', 'valor']);
    expect(schema.total_row_count_estimate).toBe(2);
    expect(schema.dialect.skipped_lines).toBe(51);
  });

  test('is not made of the last lines of a text that have commas', () => {
    const names = 'Ana Souza\nBia Lima\nCaio Dias\nDavi Reis\nEva Melo\n';
    expect(shape(infer(`nome\n${names}Silva, Fabio\nSilva, Gil\nSilva, Hugo\n`))).toBe('nome:text');
  });

  test('may end with a long tail of single values, which are no footnotes', () => {
    const { schema } = infer(`a,b\n1,2\n${'3\n'.repeat(60)}`);
    expect(schema.total_row_count_estimate).toBe(61);
    expect(schema.columns[1]?.evidence.nulls).toBe(60);
  });

  test.each([
    ['Relatório\nnome;valor;cidade\n', 'titles and one line'],
    ['Relatório\nde 2024\nnome,valor,cidade\n', 'two titles and one line'],
    ['nome;valor\n', 'one line'],
  ])('is missing in %j: %s', (text) => {
    expect(refusal(() => infer(text))).toMatchObject({ code: 'NO_ROWS' });
  });

  test('is not dropped below titles that are rows of another table', () => {
    const rows = Array.from({ length: 20 }, (_, index) => `ana,${index},\n`).join('');
    const { schema } = infer(`nome,valor,\n${rows}chave,nome,valor\na,b,1\nc,d,2\n`);
    expect(schema.dialect.skipped_lines).toBe(0);
  });

  test('has nulls where a row has fewer fields', () => {
    expect(rowsOf(bytesOf('a,b,c\n1,2\n3,4,5\n'))).toEqual([
      ['1', '2', null],
      ['3', '4', '5'],
    ]);
  });

  test('has no rows of a preamble or footnotes', () => {
    expect(rowsOf(bytesOf('Título\n\na,b\n1,2\n3,4\n\nFonte: IBGE\n'))).toEqual([
      ['1', '2'],
      ['3', '4'],
    ]);
  });

  test('takes its names from the header, which stays readable', () => {
    const { columns } = infer('Código do Cliente,userName,2024,id,,ID\n1,b,c,d,e,f\n').schema;
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
