import { describe, expect, test } from 'vitest';
import { readingOptionsInput } from '../../../src/modules/uploads/reading-options.ts';
import { encodeFile, inferBytes, readRows } from './reading.ts';

describe('the options that a person gives for reading a CSV file', () => {
  test.each([
    ['a header that reads like the rows', '1;1985;1993\n2;12;379\n3;14;380\n', { header: true }, '_1|_1985|_1993', 2],
    ['a row that reads like a header', 'Brasil,sim\nChile,nao\n', { header: false }, 'column_1|column_2', 2],
    ['titles as wide as it', 'rel,x,y\nnome,valor,dia\nAna,1,2\n', { skip_lines: 1 }, 'nome|valor|dia', 1],
    [
      'comments that begin with %',
      '% de x, ontem\n% por ana\nn,valor\nAna,1\nBia,2\n',
      { skip_lines: 2 },
      'n|valor',
      2,
    ],
    [
      'a delimiter like a decimal comma',
      'preco\n12,50\n12,75\n8,00\n',
      { delimiter: ',', header: true, skip_lines: 0 },
      'preco|column_2',
      3,
    ],
    [
      'two columns that look like texts',
      'nome\nSilva, Ana\nSouza, Bia\n',
      { delimiter: ',', skip_lines: 1, header: false },
      'column_1|column_2',
      2,
    ],
    ['an unusual delimiter', 'a~b\n1~2\n3~4\n', { delimiter: '~' }, 'a|b', 2],
    ['quotation marks that are inches', 'tubo;nome\n1/2";a\n3/4";b\n', { quote: null, delimiter: ';' }, 'tubo|nome', 2],
    ['a comment that is a row', '# 1,a\n# 2,b\nx,y\nz,w\n', { skip_lines: 0, header: false }, 'column_1|column_2', 4],
  ])('correct a wrong guess: %s', (_what, text, said, names, rowCount) => {
    const { schema } = inferBytes(encodeFile(text), undefined, said);
    expect(schema.columns.map(({ name }) => name).join('|')).toBe(names);
    expect(schema.total_row_count_estimate).toBe(rowCount);
    expect(readRows(encodeFile(text), undefined, said)).toHaveLength(rowCount);
  });

  test.each([',', ';', '\t', '|', '^', '#', '$', '~'])('may be the delimiter %j', (delimiter) => {
    expect(readingOptionsInput.safeParse({ delimiter }).success).toBe(true);
    const text = ['x?y', '1?"p ?q"', '2?r'].join('\n').replaceAll('?', delimiter);
    const rows = readRows(encodeFile(text), undefined, { delimiter, header: true });
    expect(rows).toEqual([
      ['1', `p ${delimiter}q`],
      ['2', 'r'],
    ]);
  });
});
