import { env } from 'cloudflare:test';
import { getTableColumns, getTableName } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { TABLE_KINDS } from '../../src/db/shown-columns.ts';
import { EXPORTED_KINDS } from '../../src/modules/company-exports/control/store.ts';
import { DATABASE_KINDS } from '../../src/modules/company-exports/database-records.ts';
import { enrolAuthenticator } from '../support/second-factor.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { queryDatabase } from '../uploads/support.ts';
import { aStarted, downloadArchive, finish, getExport, type Unpacked } from './support.ts';

const all = async <Row>(sql: string, ...values: unknown[]): Promise<Row[]> =>
  (
    await env.CONTROL_DB.prepare(sql)
      .bind(...values)
      .all<Row>()
  ).results;

describe('the list of what a company export has', () => {
  it('names every table and column of the control database', async () => {
    const known = new Map(TABLE_KINDS.map(({ table, columns }) => [getTableName(table), { table, columns }]));
    const inPlace = await all<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name NOT LIKE 'd1%'",
    );
    expect(inPlace.map(({ name }) => name).toSorted()).toEqual([...known.keys()].toSorted());
    for (const [name, { table, columns }] of known) {
      const found = await all<{ name: string }>(`PRAGMA table_info(${name})`);
      const said = Object.entries(getTableColumns(table)).flatMap(([key, column]) => (columns[key] ? column.name : []));
      expect([name, said.toSorted()]).toEqual([name, found.map((column) => column.name).toSorted()]);
      expect(Object.keys(columns).filter((column) => !(column in getTableColumns(table)))).toEqual([]);
    }
  });

  it('names every table and column of the service’s schema in a company’s database', async () => {
    const found = await queryDatabase(await aProvisionedCompany(), (database) =>
      database.query<{ table: string; columns: string[] }>(
        `SELECT table_name AS table, array_agg(column_name::text) AS columns FROM information_schema.columns
         WHERE table_schema = 'console' GROUP BY table_name`,
      ),
    );
    expect(found.map(({ table }) => table).toSorted()).toEqual(Object.keys(DATABASE_KINDS).toSorted());
    for (const { table, columns } of found) {
      const kind = DATABASE_KINDS[table];
      if (typeof kind !== 'object') continue;
      const said = [...kind.shown, ...Object.keys(kind.hidden)];
      expect([table, said.toSorted()]).toEqual([table, columns.toSorted()]);
    }
  });
});

/** A time far ahead: nothing that is planted falls due. */
const LATE = 4_102_444_800_000;
const markOf = (table: string, column: string): string => `mark-of-${table}.${column}.`;

interface Info {
  name: string;
  type: string;
}

/** Puts a row into a table of which each text is a mark of its own, but for what refers to other rows. */
async function plant(table: string, companyId: string): Promise<void> {
  const columns = await all<Info>(`PRAGMA table_info(${table})`);
  const references = await all<{ from: string; table: string; to: string }>(`PRAGMA foreign_key_list(${table})`);
  const isJson = new Map(
    Object.values(
      getTableColumns(TABLE_KINDS.find((kind) => getTableName(kind.table) === table)?.table as SQLiteTable),
    ).map((column) => [column.name, column.dataType === 'json']),
  );
  const values = columns.map(({ name, type }) => {
    const reference = references.find(({ from }) => from === name);
    if (name === 'company_id') return companyId;
    if (reference) return markOf(reference.table, reference.to);
    if (isJson.get(name)) return JSON.stringify([markOf(table, name)]);
    return type.toLowerCase() === 'text' ? markOf(table, name) : LATE;
  });
  const names = columns.map(({ name }) => `"${name}"`).join(', ');
  await env.CONTROL_DB.prepare(`INSERT INTO ${table} (${names}) VALUES (${columns.map(() => '?').join(', ')})`)
    .bind(...values)
    .run();
}

describe('the archive of a company export', () => {
  let company: Company;
  let factor: Awaited<ReturnType<typeof enrolAuthenticator>>;
  let archive: Unpacked;
  let contents: string;
  beforeAll(async () => {
    company = await aProvisionedCompany();
    factor = await enrolAuthenticator(company.as);
    const { id, queue } = await aStarted(company);
    let left = TABLE_KINDS.map(({ table }) => getTableName(table)).filter(
      (name) => !['companies', 'spent_social_tokens', 'managed_databases', 'user_counts'].includes(name),
    );
    // What others refer to comes first.
    for (let before = 0; left.length !== before; ) {
      before = left.length;
      const failed: string[] = [];
      for (const table of left) await plant(table, company.id).catch(() => failed.push(table));
      left = failed;
    }
    // Triggers have made these.
    expect(left).toEqual([]);
    await finish(queue);
    archive = await downloadArchive((await getExport(company, id)).url);
    contents = [...archive.files.values()].map((bytes) => new TextDecoder('latin1').decode(bytes)).join('\n');
  });

  it('has every column that is listed as exported', () => {
    const missing = [...EXPORTED_KINDS].flatMap(([name, { table, columns }]) => {
      if (['companies', 'managed_databases'].includes(name)) return [];
      const planted = archive.text(`records/${name}.ndjson`);
      return Object.entries(getTableColumns(table)).flatMap(([key, column]) =>
        columns[key] !== true || column.dataType !== 'string' || column.name === 'company_id'
          ? []
          : planted.includes(markOf(name, column.name)) || planted.includes(`"${column.name}":"mark-of-`)
            ? []
            : `${name}.${column.name}`,
      );
    });
    expect(missing).toEqual([]);
    expect(archive.records('records/sessions.ndjson').at(-1)).toMatchObject({ expires_at: '2100-01-01T00:00:00.000Z' });
    expect(archive.records('records/users.ndjson')[0]).toMatchObject({ is_owner: true, teams: expect.any(Array) });
  });

  it('has no value of a column that is not listed as exported', () => {
    const leaked = TABLE_KINDS.flatMap(({ table, columns }) =>
      Object.entries(getTableColumns(table)).flatMap(([key, column]) => {
        const mark = markOf(getTableName(table), column.name);
        return columns[key] !== true && contents.includes(mark) ? mark : [];
      }),
    );
    expect(leaked).toEqual([]);
  });

  it('has no secret of the company', async () => {
    const rows = await Promise.all(
      TABLE_KINDS.map(async ({ table, columns }) => {
        const secrets = Object.entries(getTableColumns(table)).filter(([key]) =>
          columns[key]?.toString().includes('secret'),
        );
        const owner = getTableName(table) === 'companies' ? 'id' : 'company_id';
        if (secrets.length === 0 || getTableName(table) === 'spent_social_tokens') return [];
        const found = await all<Record<string, unknown>>(
          `SELECT * FROM ${getTableName(table)} WHERE ${owner} = ?`,
          company.id,
        );
        return found.flatMap((row) => secrets.map(([, { name }]) => row[name]));
      }),
    );
    // Ids of what is exported, and whose it is.
    const isSecret = (value: unknown): value is string =>
      typeof value === 'string' && value.length >= 16 && !/^[0-9a-f]{24}$|@|^mark-of-/.test(value);
    const known = [
      company.apiKey.secret_key,
      company.token,
      company.refreshToken,
      company.owner.password,
      factor.secret,
    ];
    const searched = [...rows.flat().filter(isSecret), ...known];
    expect(searched.length).toBeGreaterThan(15);
    expect(searched.filter((secret) => contents.includes(secret))).toEqual([]);
  });
});
