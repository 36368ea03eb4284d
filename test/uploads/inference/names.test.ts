import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { makeColumnNames, toTableName } from '../../../src/modules/uploads/inference/index.ts';

describe('the SQL names that an analysis proposes', () => {
  test.each([
    ['Nome|Nome|nome', 'nome|nome_2|nome_3'],
    ['a|a|a_2', 'a|a_2|a_2_2'],
    ['userName|HTTPServer|userID|XMLHttpRequest', 'user_name|http_server|user_id|xml_http_request'],
    ['Preço (R$)|Ação & Reação|São  Paulo|coração', 'preco_r|acao_reacao|sao_paulo|coracao'],
    ['2024|1º trimestre|50%', '_2024|_1o_trimestre|_50'],
    ['|  |###|名前|имя', 'column_1|column_2|column_3|column_4|column_5'],
    ['id|ID|ctid|xmin|tableoid', 'source_id|source_id_2|source_ctid|source_xmin|source_tableoid'],
    ['id|source_id', 'source_id|source_id_2'],
    ['column_2|', 'column_2|column_2_2'],
    ['select|order|table', 'select|order|table'],
    ['Straße|Ærø|Łódź|ﬁnal|Ｆｕｌｌ', 'strasse|aero|lodz|final|full'],
    ['_x_|__a b__|a-b|a.b|a/b', 'x|a_b|a_b_2|a_b_3|a_b_4'],
    [`${'x'.repeat(80)}|${'x'.repeat(80)}`, `${'x'.repeat(63)}|${'x'.repeat(61)}_2`],
    ['9'.repeat(70), `_${'9'.repeat(62)}`],
  ])('are derived from the headers %s', (headers, names) => {
    expect(makeColumnNames(headers.split('|'))).toEqual(names.split('|'));
  });

  test('are unique identifiers that are not reserved, whatever the headers are', () => {
    const header = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('id', 'ID', 'Id_2', 'xmin', '', '1', 'a', 'A'),
    );
    fc.assert(
      fc.property(fc.array(header, { maxLength: 40 }), (headers) => {
        const names = makeColumnNames(headers);
        expect(names).toHaveLength(headers.length);
        expect(new Set(names).size).toBe(names.length);
        for (const name of names) {
          expect(name).toMatch(/^[a-z_][a-z0-9_]*$/);
          expect(name.length).toBeLessThanOrEqual(63);
          expect(['id', 'ctid', 'xmin', 'xmax', 'cmin', 'cmax', 'tableoid']).not.toContain(name);
        }
      }),
    );
  });

  test.each([
    ['Vendas 2024.csv', 'vendas_2024'],
    ['2024-vendas.CSV', '_2024_vendas'],
    ['relatório.final.csv', 'relatorio_final'],
    ['dados.csv.zip', 'dados'],
    ['C:\\pasta\\Lista de Preços.csv', 'lista_de_precos'],
    ['../../etc/x.csv', 'x'],
    ['名前.csv', 'uploaded_table'],
    ['.csv', 'uploaded_table'],
    [`${'a'.repeat(200)}.csv`, 'a'.repeat(63)],
  ])('include a table name derived from the file name %s', (file, name) => {
    expect(toTableName(file)).toBe(name);
  });
});
