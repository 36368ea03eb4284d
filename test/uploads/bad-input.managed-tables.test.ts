import { describe, expect, it } from 'vitest';
import { createProvisionedCompany } from '../support/companies.ts';
import { loadFiles, makeFile, readRows } from './support.ts';

type FileBytes = Uint8Array<ArrayBuffer>;

const company = await createProvisionedCompany();

let tableCount = 0;

async function loadRows(content: string | FileBytes) {
  const job = await loadFiles(company, [makeFile('dados.csv', content)], { display_name: `entrada_${++tableCount}` });
  expect(job.error).toBeNull();
  return (await readRows(company, job.user_table_id)).map(({ id: _, ...values }) => values);
}

const CSV_TEXT = 'nome,preço\nAção,"1,5"\nÉrica – “fim”,"2,5"\n';
const EXPECTED_ROWS = [
  { nome: 'Ação', preco: 1.5 },
  { nome: 'Érica – “fim”', preco: 2.5 },
];

const encodeUtf16 = (text: string): FileBytes =>
  new Uint8Array(Uint16Array.from({ length: text.length }, (_, at) => text.charCodeAt(at)).buffer);

const encodeWindows1252 = (text: string): FileBytes => {
  const highBytes: Record<string, number> = { '–': 0x96, '“': 0x93, '”': 0x94 };
  return Uint8Array.from(text, (character) => highBytes[character] ?? character.charCodeAt(0));
};

describe('an uploaded CSV file', () => {
  it.each<[string, string | FileBytes]>([
    ['UTF-8', CSV_TEXT],
    ['UTF-8 with a byte order mark', `\ufeff${CSV_TEXT}`],
    ['UTF-16', encodeUtf16(`\ufeff${CSV_TEXT}`)],
    ['Windows-1252', encodeWindows1252(CSV_TEXT)],
  ])('is read in %s', async (_, content) => {
    expect(await loadRows(content)).toEqual(EXPECTED_ROWS);
  });

  it('may have byte order marks in the middle, as joined files do', async () => {
    const rows = await loadRows('n,nome\n1,Ana\n\ufeff2,Bia\n3,\ufeffCaio\n');
    expect(rows.map(({ n }) => n)).toEqual([1, 2, 3]);
  });

  it('may have 1,000 columns', async () => {
    const names = Array.from({ length: 1000 }, (_, n) => `coluna_${n}`);
    const rows = await loadRows(`${names.join(',')}\n${names.map((_, n) => n).join(',')}\n`);
    expect(rows).toEqual([Object.fromEntries(names.map((name, n) => [name, n]))]);
  });

  it('may have a value of 5 MB', async () => {
    const longValue = 'á"b\n'.repeat(1_000_000);
    const rows = await loadRows(`n,texto\n1,"${longValue.replaceAll('"', '""')}"\n2,curto\n`);
    expect(rows).toEqual([
      { n: 1, texto: longValue },
      { n: 2, texto: 'curto' },
    ]);
  });
});

it('headers of an uploaded CSV file may be SQL keywords', async () => {
  const keywords = ['select', 'from', 'where', 'table', 'order', 'group', 'user', 'desc', 'null', 'default', 'check'];
  const rows = await loadRows(`${keywords.join(',')}\n${keywords.map((_, n) => n).join(',')}\n`);
  expect(rows).toEqual([Object.fromEntries(keywords.map((word, n) => [word, n]))]);
});
