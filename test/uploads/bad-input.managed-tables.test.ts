import { beforeAll, describe, expect, it } from 'vitest';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { aFile, cancel, load, rowsOf, upload, waiting } from './support.ts';

type Bytes = Uint8Array<ArrayBuffer>;

let company: Company;
beforeAll(async () => {
  company = await aProvisionedCompany();
});

let tableCount = 0;

async function rowsFrom(content: string | Bytes) {
  const job = await load(company, [aFile('dados.csv', content)], { display_name: `entrada_${++tableCount}` });
  expect(job.error).toBeNull();
  return (await rowsOf(company, job.user_table_id)).map(({ id: _, ...values }) => values);
}

async function look(content: string | Bytes) {
  const jobId = await upload(company, [aFile('dados.csv', content)]);
  const job = await waiting(company, jobId);
  if (job.status !== 'failed') await cancel(company, jobId);
  return job;
}

const namesOf = async (content: string): Promise<string[]> =>
  (await look(content)).inferred_schema.columns.map(({ name }: { name: string }) => name);

const TEXT = 'nome,preço\nAção,"1,5"\nÉrica – “fim”,"2,5"\n';
const EXPECTED_ROWS = [
  { nome: 'Ação', preco: 1.5 },
  { nome: 'Érica – “fim”', preco: 2.5 },
];

const utf16 = (text: string, littleEndian: boolean): Bytes => {
  const view = new DataView(new ArrayBuffer(text.length * 2));
  for (let index = 0; index < text.length; index++) view.setUint16(index * 2, text.charCodeAt(index), littleEndian);
  return new Uint8Array(view.buffer);
};

const windows1252 = (text: string): Bytes => {
  const high: Record<string, number> = { '–': 0x96, '“': 0x93, '”': 0x94 };
  return Uint8Array.from(text, (sign) => high[sign] ?? sign.charCodeAt(0));
};

describe('an uploaded CSV file', () => {
  it.each<[string, string | Bytes]>([
    ['UTF-8', TEXT],
    ['UTF-8 with a byte order mark', `\ufeff${TEXT}`],
    ['UTF-16 in little-endian order', utf16(`\ufeff${TEXT}`, true)],
    ['UTF-16 in big-endian order', utf16(`\ufeff${TEXT}`, false)],
    ['UTF-16 without a byte order mark', utf16(TEXT, true)],
    ['Windows-1252', windows1252(TEXT)],
  ])('is read in %s', async (_, content) => {
    expect(await rowsFrom(content)).toEqual(EXPECTED_ROWS);
  });

  it.each<[string, string | Bytes, Record<string, unknown>[]]>([
    [
      'times in UTC',
      'k,d\nx,31/12/2024 10:00:00 UTC\ny,1/2/2024 10:00 UTC\n',
      [
        { k: 'x', d: '2024-12-31T10:00:00.000Z' },
        { k: 'y', d: '2024-02-01T10:00:00.000Z' },
      ],
    ],
    [
      'control characters in Windows-1252',
      windows1252('cidade;valor\nS\u0083o\u0001;1\nRio\u0081;2\n\xe9;3\n'),
      [
        { cidade: 'Sƒo\u0001', valor: 1 },
        { cidade: 'Rio\u0081', valor: 2 },
        { cidade: 'é', valor: 3 },
      ],
    ],
    [
      'escaped delimiters',
      'nome,valor\nSilva\\, Ana,12\\,5\nBia,7\n',
      [
        { nome: 'Silva, Ana', valor: 12.5 },
        { nome: 'Bia', valor: 7 },
      ],
    ],
    [
      'last rows with nothing but a name',
      'nome,email,fone\nAna,a@x.com,1\nCarla Maria,,\n',
      [
        { nome: 'Ana', email: 'a@x.com', fone: 1 },
        { nome: 'Carla Maria', email: null, fone: null },
      ],
    ],
    ['decimal commas in its only column', 'preço\n12,50\n8,00\n', [{ preco: 12.5 }, { preco: 8 }]],
  ])('may have %s', async (_, content, rows) => {
    expect(await rowsFrom(content)).toEqual(rows);
  });

  it('may have byte order marks in the middle, as joined files do', async () => {
    const rows = await rowsFrom('n,nome\n1,Ana\n\ufeff2,Bia\n3,\ufeffCaio\n');
    expect(rows.map(({ n }) => n)).toEqual([1, 2, 3]);
  });

  it('is refused with a NUL byte', async () => {
    const job = await look('a,b\n1,2\n3,\u00004\n');
    expect(job).toMatchObject({ status: 'failed', error: { code: 'NUL_BYTE', file: 'dados.csv', line: 3 } });
    const late = `a,b\n${'1,2\n'.repeat(200_000)}\u0000,4\n`;
    expect(await look(late)).toMatchObject({ status: 'failed', error: { code: 'NUL_BYTE', line: 200_002 } });
  });

  it('is refused with a byte that is not UTF-8 after a byte order mark of UTF-8', async () => {
    const bytes = new Uint8Array([...new TextEncoder().encode('\ufeffa,b\n1,2\n'), 0xff, 0xfe, 0x2c, 0x31, 0x0a]);
    expect(await look(bytes)).toMatchObject({ status: 'failed', error: { code: 'UNREADABLE_BYTES', line: 3 } });
  });

  it('may have 1,000 columns', async () => {
    const names = Array.from({ length: 1000 }, (_, n) => `coluna_${n}`);
    const rows = await rowsFrom(`${names.join(',')}\n${names.map((_, n) => n).join(',')}\n`);
    expect(rows).toEqual([Object.fromEntries(names.map((name, n) => [name, n]))]);
  });

  it('is refused with more columns than a Postgres table can have', async () => {
    const wide = Array.from({ length: 1600 }, (_, n) => `c${n}`).join(',');
    expect(await look(`${wide}\n${wide}\n`)).toMatchObject({ status: 'failed', error: { code: 'TOO_MANY_COLUMNS' } });
  });

  it('may have a value of 5 MB', async () => {
    const long = 'á"b\n'.repeat(1_000_000);
    const rows = await rowsFrom(`n,texto\n1,"${long.replaceAll('"', '""')}"\n2,curto\n`);
    expect(rows).toEqual([
      { n: 1, texto: long },
      { n: 2, texto: 'curto' },
    ]);
  });

  it('is refused with the line of a quote that is never closed, if it cannot be read without quotes', async () => {
    const job = await look(`a,b\n1,"2, 3"\n2,"4\n${'x,y\n'.repeat(1000)}`);
    expect(job).toMatchObject({ status: 'failed', error: { code: 'UNCLOSED_QUOTE', line: 3 } });
    const bare = await look(`a,b\n1,"2\n${'x,y\n'.repeat(1000)}`);
    expect(bare).toMatchObject({ error: null, inferred_schema: { total_row_count_estimate: 1001 } });
  });
});

describe('headers of an uploaded CSV file', () => {
  it('make column names that are cut to the 63 bytes of Postgres and stay distinct', async () => {
    const long = 'a'.repeat(63);
    const names = await namesOf(`${long},${long}b,${long}c,${'é'.repeat(80)}\n1,2,3,4\n`);
    expect(names).toEqual([long, `${'a'.repeat(61)}_2`, `${'a'.repeat(61)}_3`, 'e'.repeat(63)]);
  });

  it('stay as display names, and get an ASCII name for SQL, when they are in non-Latin scripts', async () => {
    const job = await look('名前,цена,Ηλικία,naïve\n太郎,1,2,x\n');
    const { columns } = job.inferred_schema;
    expect(columns.map(({ display_name }: { display_name: string }) => display_name)).toEqual([
      '名前',
      'цена',
      'Ηλικία',
      'naïve',
    ]);
    expect(columns.map(({ name }: { name: string }) => name)).toEqual(['column_1', 'column_2', 'column_3', 'naive']);
  });

  it('may be SQL keywords', async () => {
    const words = ['select', 'from', 'where', 'table', 'order', 'group', 'user', 'desc', 'null', 'default', 'check'];
    const rows = await rowsFrom(`${words.join(',')}\n${words.map((_, n) => n).join(',')}\n`);
    expect(rows).toEqual([Object.fromEntries(words.map((word, n) => [word, n]))]);
  });

  it('make distinct column names when they repeat or are reserved', async () => {
    expect(await namesOf('id,Nome,nome,NOME ,ctid\n1,a,b,c,d\n2,a,b,c,d\n')).toEqual([
      'source_id',
      'nome',
      'nome_2',
      'nome_3',
      'source_ctid',
    ]);
  });
});
