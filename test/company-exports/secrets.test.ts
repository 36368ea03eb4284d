import { env } from 'cloudflare:test';
import { getTableColumns, getTableName } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { TABLE_KINDS } from '../../src/db/shown-columns.ts';
import { EXPORTED_KINDS } from '../../src/modules/company-exports/control/store.ts';
import { DATABASE_TABLE_EXPORTS } from '../../src/modules/company-exports/database-records.ts';
import { type Company, createProvisionedCompany } from '../support/companies.ts';
import { enrolAuthenticator } from '../support/second-factor.ts';
import { queryDatabase } from '../uploads/support.ts';
import { deliverUntilEmpty, downloadArchive, getExport, startExport, type UnpackedArchive } from './support.ts';

const selectRows = async <Row>(sql: string, ...values: unknown[]): Promise<Row[]> =>
  (
    await env.CONTROL_DB.prepare(sql)
      .bind(...values)
      .all<Row>()
  ).results;

describe('the list of what a company export has', () => {
  it('names every table and column of the control database', async () => {
    const listedTables = new Map(TABLE_KINDS.map(({ table, columns }) => [getTableName(table), { table, columns }]));
    const databaseTables = await selectRows<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name NOT LIKE 'd1%'",
    );
    expect(databaseTables.map(({ name }) => name).toSorted()).toEqual([...listedTables.keys()].toSorted());
    for (const [name, { table, columns }] of listedTables) {
      const databaseColumns = await selectRows<{ name: string }>(`PRAGMA table_info(${name})`);
      const listedColumns = Object.entries(getTableColumns(table)).flatMap(([key, column]) =>
        columns[key] ? column.name : [],
      );
      expect([name, listedColumns.toSorted()]).toEqual([name, databaseColumns.map((column) => column.name).toSorted()]);
      expect(Object.keys(columns).filter((column) => !(column in getTableColumns(table)))).toEqual([]);
    }
  });

  it('names every table and column of the service’s schema in a company’s database', async () => {
    const databaseTables = await queryDatabase(await createProvisionedCompany(), (database) =>
      database.query<{ table: string; columns: string[] }>(
        `SELECT table_name AS table, array_agg(column_name::text) AS columns FROM information_schema.columns
         WHERE table_schema = 'console' GROUP BY table_name`,
      ),
    );
    expect(databaseTables.map(({ table }) => table).toSorted()).toEqual(Object.keys(DATABASE_TABLE_EXPORTS).toSorted());
    for (const { table, columns } of databaseTables) {
      const kind = DATABASE_TABLE_EXPORTS[table];
      if (typeof kind !== 'object') continue;
      const listedColumns = [...kind.shownColumns, ...Object.keys(kind.hiddenColumns)];
      expect([table, listedColumns.toSorted()]).toEqual([table, columns.toSorted()]);
    }
  });
});

/** A time in the far future (ms), so that no planted row falls due. */
const FAR_FUTURE_MS = 4_102_444_800_000;
const makeMarker = (table: string, column: string): string => `mark-of-${table}.${column}.`;

interface ColumnInfo {
  name: string;
  type: string;
}

/** Inserts a row in which each text column has a unique mark; foreign keys have the mark of the column they refer to. */
async function insertMarkedRow(table: string, companyId: string): Promise<void> {
  const columns = await selectRows<ColumnInfo>(`PRAGMA table_info(${table})`);
  const references = await selectRows<{ from: string; table: string; to: string }>(`PRAGMA foreign_key_list(${table})`);
  const isJson = new Map(
    Object.values(
      getTableColumns(TABLE_KINDS.find((kind) => getTableName(kind.table) === table)?.table as SQLiteTable),
    ).map((column) => [column.name, column.dataType === 'json']),
  );
  const values = columns.map(({ name, type }) => {
    const reference = references.find(({ from }) => from === name);
    if (name === 'company_id') return companyId;
    if (reference) return makeMarker(reference.table, reference.to);
    if (isJson.get(name)) return JSON.stringify([makeMarker(table, name)]);
    return type.toLowerCase() === 'text' ? makeMarker(table, name) : FAR_FUTURE_MS;
  });
  const names = columns.map(({ name }) => `"${name}"`).join(', ');
  await env.CONTROL_DB.prepare(`INSERT INTO ${table} (${names}) VALUES (${columns.map(() => '?').join(', ')})`)
    .bind(...values)
    .run();
}

describe('the archive of a company export', () => {
  let company: Company;
  let secondFactor: Awaited<ReturnType<typeof enrolAuthenticator>>;
  let archive: UnpackedArchive;
  let contents: string;
  beforeAll(async () => {
    company = await createProvisionedCompany();
    secondFactor = await enrolAuthenticator(company.as);
    const { id, queue } = await startExport(company);
    let remainingTables = TABLE_KINDS.map(({ table }) => getTableName(table)).filter(
      (name) => !['companies', 'spent_social_tokens', 'managed_databases', 'user_counts'].includes(name),
    );
    // What others refer to comes first.
    for (let tableCountBefore = 0; remainingTables.length !== tableCountBefore; ) {
      tableCountBefore = remainingTables.length;
      const failedTables: string[] = [];
      for (const table of remainingTables)
        await insertMarkedRow(table, company.id).catch(() => failedTables.push(table));
      remainingTables = failedTables;
    }
    // Triggers have made these.
    expect(remainingTables).toEqual([]);
    await deliverUntilEmpty(queue);
    archive = await downloadArchive((await getExport(company, id)).url);
    contents = [...archive.files.values()].map((bytes) => new TextDecoder('latin1').decode(bytes)).join('\n');
  });

  it('has every column that is listed as exported', () => {
    const missingColumns = [...EXPORTED_KINDS].flatMap(([name, { table, columns }]) => {
      if (['companies', 'managed_databases'].includes(name)) return [];
      const exportedText = archive.readText(`records/${name}.ndjson`);
      return Object.entries(getTableColumns(table)).flatMap(([key, column]) =>
        columns[key] !== true || column.dataType !== 'string' || column.name === 'company_id'
          ? []
          : exportedText.includes(makeMarker(name, column.name)) || exportedText.includes(`"${column.name}":"mark-of-`)
            ? []
            : `${name}.${column.name}`,
      );
    });
    expect(missingColumns).toEqual([]);
    expect(archive.readRecords('records/sessions.ndjson').at(-1)).toMatchObject({
      expires_at: '2100-01-01T00:00:00.000Z',
    });
    expect(archive.readRecords('records/users.ndjson')[0]).toMatchObject({ is_owner: true, teams: expect.any(Array) });
  });

  it('has no value of a column that is not listed as exported', () => {
    const leakedMarkers = TABLE_KINDS.flatMap(({ table, columns }) =>
      Object.entries(getTableColumns(table)).flatMap(([key, column]) => {
        const mark = makeMarker(getTableName(table), column.name);
        return columns[key] !== true && contents.includes(mark) ? mark : [];
      }),
    );
    expect(leakedMarkers).toEqual([]);
  });

  it('has no secret of the company', async () => {
    const rows = await Promise.all(
      TABLE_KINDS.map(async ({ table, columns }) => {
        const secrets = Object.entries(getTableColumns(table)).filter(([key]) =>
          columns[key]?.toString().includes('secret'),
        );
        const owner = getTableName(table) === 'companies' ? 'id' : 'company_id';
        if (secrets.length === 0 || getTableName(table) === 'spent_social_tokens') return [];
        const secretRows = await selectRows<Record<string, unknown>>(
          `SELECT * FROM ${getTableName(table)} WHERE ${owner} = ?`,
          company.id,
        );
        return secretRows.flatMap((row) => secrets.map(([, { name }]) => row[name]));
      }),
    );
    // Ids of what is exported, and whose it is.
    const isSecretValue = (value: unknown): value is string =>
      typeof value === 'string' && value.length >= 16 && !/^[0-9a-f]{24}$|@|^mark-of-/.test(value);
    const knownSecrets = [
      company.apiKey.secret_key,
      company.token,
      company.refreshToken,
      company.owner.password,
      secondFactor.secret,
    ];
    const searchedSecrets = [...rows.flat().filter(isSecretValue), ...knownSecrets];
    expect(searchedSecrets.length).toBeGreaterThan(15);
    expect(searchedSecrets.filter((secret) => contents.includes(secret))).toEqual([]);
  });
});
