import { describe, expect, it } from 'vitest';
import { createTable, makeColumn } from '../managed-tables/support.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { loadSource, readFailure, readSource } from './sources.ts';
import { readRows, waitForEnd } from './support.ts';

const company = await createProvisionedCompany();

const writeLines = (objects: string[]): string => `${objects.join('\n')}\n`;

/** Both formats of a file with the same objects: a JSON array and NDJSON. */
const FILE_FORMATS: [string, (objects: string[]) => string][] = [
  ['a.json', (objects) => `[${objects.join(',\n  ')}]\n`],
  ['a.ndjson', writeLines],
];

describe.each(FILE_FORMATS)('the JSON objects of %s', (name, writeObjects) => {
  it('become rows, whose columns are all member names in order of appearance', async () => {
    const { types, rows, schema } = await loadSource(
      company,
      name,
      writeObjects(['{"b": 1, "a": "x"}', '{}', '{"c": true}', '{"a": "", "b": null}', '{"b":2,"d":{"e":[1,  2]}}']),
    );
    expect(types).toEqual({ b: 'integer', a: 'text', c: 'boolean', d: 'text' });
    expect(rows).toEqual([
      { b: 1, a: 'x', c: null, d: null },
      { b: null, a: null, c: null, d: null },
      { b: null, a: null, c: true, d: null },
      { b: null, a: null, c: null, d: null },
      { b: 2, a: null, c: null, d: '{"e":[1,2]}' },
    ]);
    expect(schema).toMatchObject({
      suggested_table_name: 'a',
      total_row_count_estimate: 5,
      dialect: { encoding: 'utf-8', delimiter: null, quote: null, header: true, skipped_lines: 0, sheet: null },
    });
    expect(schema.columns[0]).toMatchObject({ display_name: 'b', source_index: 0, evidence: { nulls: 3 } });
    expect(schema.sample_rows[4]).toEqual({ b: 2, a: null, c: null, d: '{"e":[1,2]}' });
  });

  it('are read completely over many small messages', async () => {
    const objects = Array.from({ length: 400 }, (_, row) =>
      JSON.stringify({
        n: row,
        texto: `linha ${row} "ç"`.repeat(row % 9),
        ...(row > 200 && { [`c${row % 7}`]: row }),
      }),
    );
    const { rows } = await loadSource(company, name, writeObjects(objects), { env: { UPLOAD_MESSAGE_BYTES: '1999' } });
    expect(rows).toHaveLength(400);
    expect(rows[250]).toMatchObject({ n: 250, texto: 'linha 250 "ç"'.repeat(250 % 9), c5: 250, c2: null });
    expect(rows.map(({ n }) => n)).toEqual(objects.map((_, row) => row));
  });

  it('are reported with the position of a value that does not fit the type of the other values', async () => {
    const job = await readSource(company, name, writeObjects(['{"a": "1"}', '{"a": "2"}', '{"a": "três"}']));
    expect(job.inferred_schema.columns[0].evidence.counter_example).toEqual({ value: 'três', line: 3 });
  });
});

describe('JSON objects', () => {
  it('keep all digits of their numbers', async () => {
    const manyDigits = '1234567890'.repeat(40);
    const hugeNumber = `${'9'.repeat(400)}.${'1'.repeat(30)}`;
    const { types, rows } = await loadSource(
      company,
      'a.ndjson',
      writeLines([
        `{"inteiro": 9223372036854775807, "decimal": 0.1, "enorme": ${manyDigits}, "exato": 12345678901234567.25, "codigo": 1E5, "ativo": 1, "longo": 1}`,
        `{"inteiro": -9223372036854775808, "decimal": 1.234, "enorme": ${hugeNumber}, "exato": -0, "codigo": 2e-3, "ativo": 0, "longo": ${'7'.repeat(1200)}}`,
      ]),
    );
    expect(types).toEqual({
      inteiro: 'integer',
      decimal: 'decimal',
      enorme: 'decimal',
      exato: 'decimal',
      codigo: 'decimal',
      ativo: 'integer',
      longo: 'text',
    });
    expect(rows.map(({ inteiro }) => String(inteiro))).toEqual(['9223372036854775807', '-9223372036854775808']);
    expect(rows.map(({ enorme }) => enorme)).toEqual([manyDigits, hugeNumber]);
    expect(rows.map(({ exato }) => String(exato))).toEqual(['12345678901234567.25', '0']);
    expect(rows.map(({ codigo }) => Number(codigo))).toEqual([100_000, 0.002]);
    expect(rows[1]?.longo).toBe('7'.repeat(1200));
  });

  it('may contain strings, whose types are inferred like the types of CSV cells', async () => {
    const { types, rows } = await loadSource(
      company,
      'a.ndjson',
      writeLines([
        '{"n": 5, "dia": "31/12/2024", "sim": "sim", "misto": 1, "outro": true, "texto": "a,\\"b\\"\\n\\u00e7\\ud83d\\ude00", "cep": "01310"}',
        '{"n": "6", "dia": "01/02/2024", "sim": "não", "misto": "um", "outro": 2, "texto": "ç\\\\", "cep": "02020"}',
      ]),
    );
    expect(types).toEqual({
      n: 'integer',
      dia: 'date',
      sim: 'boolean',
      misto: 'text',
      outro: 'text',
      texto: 'text',
      cep: 'text',
    });
    expect(rows).toEqual([
      { n: 5, dia: '2024-12-31', sim: true, misto: '1', outro: 'true', texto: 'a,"b"\nç😀', cep: '01310' },
      { n: 6, dia: '2024-02-01', sim: false, misto: 'um', outro: '2', texto: 'ç\\', cep: '02020' },
    ]);
  });

  it('cannot be analysed again with options for CSV or workbooks', async () => {
    const job = await readSource(company, 'a.ndjson', writeLines(['{"a": 1}']));
    const csvOptions = { header: false, delimiter: ';', encoding: 'utf-8', skip_lines: 1, sheet: 'x' };
    const { status, body } = await company.as.post(`/v1/managed-tables/upload-jobs/${job._id}/analyze`, {
      json: csvOptions,
    });
    expect(status).toBe(422);
    expect(Object.keys(csvOptions).every((field) => JSON.stringify(body).includes(`"${field}"`))).toBe(true);
  });
});

describe('an NDJSON file', () => {
  it('may have empty lines, which count for line numbers', async () => {
    const { rows } = await loadSource(company, 'b.jsonl', '\r\n{"a": 1}\r\n\r\n{"a": null}\r\n{"a": 3}');
    expect(rows).toEqual([{ a: 1 }, { a: null }, { a: 3 }]);
    const error = await readFailure(company, 'b.jsonl', '\n{"a": 1}\n \n{"a": 3},\n');
    expect(error).toMatchObject({ code: 'JSON_MALFORMED', line: 4 });
    expect(error.message).toContain('linha 4');
    const mixedJob = await readSource(company, 'b.ndjson', '{"a": 1}\n\n{"a": "x"}\n');
    expect(mixedJob.inferred_schema.columns[0].evidence.counter_example).toEqual({ value: 'x', line: 3 });
  });

  it('is recognized by its media type', async () => {
    const job = await readSource(company, 'dados', '{"a": 1}', { headers: { 'content-type': 'application/x-ndjson' } });
    expect(job).toMatchObject({ status: 'waiting_confirm', files: [{ original_name: 'dados.ndjson' }] });
  });
});

describe('an upload of JSON objects', () => {
  it('is loaded into an existing table by the names of the members', async () => {
    const id = await createTable(company.as, 'destino_json', [
      makeColumn('codigo', 'integer'),
      makeColumn('nome', 'text'),
      makeColumn('valor', 'decimal'),
    ]);
    const objects = '{"outro": 1, "nome": "x", "codigo": 1}\n{}\n{"valor": 2.50, "codigo": "2"}\n';
    const { rows, schema } = await loadSource(company, 'g.ndjson', objects, {
      sentFields: { table_id: id, mode: 'append' },
    });
    expect(schema.ignored_columns.map(({ name }: { name: string }) => name)).toEqual(['outro']);
    expect(rows).toEqual([
      { codigo: 1, nome: 'x', valor: null },
      { codigo: null, nome: null, valor: null },
      { codigo: 2, nome: null, valor: 2.5 },
    ]);
  });

  it('updates rows of the same key', async () => {
    const id = await createTable(company.as, 'chaves_json', [
      makeColumn('codigo', 'integer'),
      makeColumn('nome', 'text'),
    ]);
    await loadSource(company, 'h.json', '[{"codigo": 1, "nome": "a"}, {"codigo": 2, "nome": "b"}]', {
      sentFields: { table_id: id },
    });
    const { job, rows } = await loadSource(
      company,
      'i.json',
      '[{"codigo": 2, "nome": "B"}, {"nome": "c", "codigo": 3}]',
      {
        sentFields: { table_id: id, mode: 'upsert', key: ['codigo'] },
      },
    );
    expect(job.result).toEqual({ inserted: 1, updated: 1, unchanged: 0 });
    expect(rows.map(({ nome }) => nome).sort()).toEqual(['B', 'a', 'c']);
  });

  it('may add columns for new members, and widen the types of columns', async () => {
    const columns = [makeColumn('codigo', 'integer'), makeColumn('valor', 'integer')];
    const id = await createTable(company.as, 'cresce_json', columns);
    await loadSource(company, 'k.json', '[{"codigo": 1, "valor": 2}]', { sentFields: { table_id: id } });
    const objects = '{"codigo": 2, "valor": 2.5}\n{"novo": true, "codigo": "x7"}\n';
    const { _id, inferred_schema: schema } = await readSource(company, 'l.ndjson', objects, {
      sentFields: { table_id: id, evolve: 'widen' },
    });
    expect(schema.changed_columns).toEqual([
      { name: 'codigo', from: 'integer', to: 'text', because: { file: 'l.ndjson', line: 2, value: 'x7' } },
      { name: 'valor', from: 'integer', to: 'decimal', because: { file: 'l.ndjson', line: 1, value: '2.5' } },
    ]);
    const json = { columns: [...schema.columns, ...schema.new_columns] };
    expect((await company.as.post(`/v1/managed-tables/upload-jobs/${_id}/confirm`, { json })).status).toBe(200);
    expect((await waitForEnd(company, _id)).error).toBe(null);
    expect((await readRows(company, id)).map(({ id: _, ...row }) => row)).toEqual([
      { codigo: '1', valor: 2, novo: null },
      { codigo: '2', valor: 2.5, novo: null },
      { codigo: 'x7', valor: null, novo: true },
    ]);
  });

  it('fails with the line of a value that does not fit the table', async () => {
    const id = await createTable(company.as, 'linhas_json', [makeColumn('codigo', 'integer')]);
    const job = await readSource(company, 'j.ndjson', '{"codigo": 1}\n\n{"codigo": "x"}\n', {
      sentFields: { table_id: id },
    });
    const { columns } = job.inferred_schema;
    const path = `/v1/managed-tables/upload-jobs/${job._id}`;
    expect((await company.as.post(`${path}/confirm`, { json: { columns } })).status).toBe(200);
    await expect
      .poll(async () => (await company.as.get(path)).body.error, { timeout: 20_000 })
      .toMatchObject({
        code: 'VALUE_DOES_NOT_FIT',
        line: 3,
        column: 'codigo',
        value: 'x',
      });
  });
});

describe('a JSON file', () => {
  it.each([
    ['an array that is never closed', '[{"a": 1}', 'JSON_MALFORMED'],
    ['an HTML page', '<!doctype html><html><body>Not here</body></html>', 'UNREADABLE_CONTENT'],
  ])('fails the job for %s', async (_, content, code) => {
    expect(await readFailure(company, 'c.json', content)).toMatchObject({ code });
  });

  it('is refused by the upload of a multipart form', async () => {
    const form = new FormData();
    form.append('files', new File(['[{"a":1}]'], 'a.json'));
    const { status, body } = await company.as.post('/v1/managed-tables/upload', { body: form });
    expect(status).toBe(422);
    expect(body).toMatchObject({
      error_code: 'UPLOAD_FILE_TYPE',
      details: { file: 'a.json', accepted: ['.csv', '.xlsx', '.xls', '.zip'] },
    });
  });
});
