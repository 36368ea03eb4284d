/**
 * Takes the control database of a deployed environment back to a time of the last 30 days, with every company's rows;
 * or puts back what one company had then: docs/operations.md, "Backup and restore".
 *
 *     npm run restore -- --env staging|production --to TIME
 *     npm run restore -- save COMPANY_ID FILE [--env staging|production]
 *     npm run restore -- put-back FILE [--tables dashboards,visualizations] [--access] [--env staging|production]
 *
 * TIME is ISO 8601 (`2026-01-31T12:00:00Z`), or a bookmark that an earlier restore printed. The command prints a
 * bookmark of the present state too, so that a restore can be undone.
 *
 * `save` writes the rows of a company as they are, including values that no route may return, such as digests;
 * `put-back` restores what people made, with `--access` also users, groups, policies and shares, which decide who may
 * do and see what. Without `--env` these two work on the local state (`LOCAL_STATE_DIR`). The file holds people's data:
 * protect it like a database.
 */
import { parseArgs } from 'node:util';
import { CloudflareAccount, readCredentials } from './cloudflare.ts';
import { type Database, openDatabase } from './database.ts';
import { parseEnvironmentName, readEnvironment } from './environments.ts';
import { Problem, runCommand } from './problem.ts';
import { listTables, putBackRows, type SkippedRow, saveCompany } from './restore/rows.ts';

const USAGE = `Usage: npm run restore -- --env staging|production --to TIME|BOOKMARK
       npm run restore -- save COMPANY_ID FILE [--env staging|production]
       npm run restore -- put-back FILE [--tables NAME,NAME] [--access] [--env staging|production]`;
/** Days for which D1 keeps earlier states. */
const HISTORY_DAYS = 30;

/** Pattern of D1's bookmarks: `0000000a-0000000b-00004d0c-…`. */
const BOOKMARK_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/;

/** Parses a time to which D1 can be restored. @throws Problem */
function parseTime(text: string, now: number): Date {
  const time = new Date(text);
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text) || Number.isNaN(time.getTime())) {
    throw new Problem(`"${text}" is neither a time such as 2026-01-31T12:00:00Z nor a bookmark.\n${USAGE}`);
  }
  const ageMs = now - time.getTime();
  if (ageMs < 0) throw new Problem(`${time.toISOString()} is yet to come.`);
  if (ageMs > HISTORY_DAYS * 24 * 60 * 60 * 1000) {
    throw new Problem(`${time.toISOString()} is more than ${HISTORY_DAYS} days ago: D1 remembers no further.`);
  }
  return time;
}

const RESTART_NOTE = 'Running Workers still hold the former permissions in memory. Restart them:';

async function restoreEnvironment(env: string, to: string): Promise<void> {
  const time = BOOKMARK_PATTERN.test(to) ? undefined : parseTime(to, Date.now());
  const { name, databaseNames } = await readEnvironment(parseEnvironmentName(env));
  const databaseName = databaseNames.CONTROL_DB;
  const account = new CloudflareAccount(await readCredentials(process.env));
  const foundDatabase = await account.findDatabase(databaseName);
  if (!foundDatabase) throw new Problem(`There is no database ${databaseName} yet: npm run deploy -- --env ${name}`);
  const bookmark = time ? await account.readBookmark(foundDatabase.id, time) : to;
  // Before it takes place: the answer may be lost, and that to a repeated request would name what the first one has restored.
  console.log(`To come back to what is in ${databaseName} now:`);
  console.log(`  npm run restore -- --env ${name} --to ${await account.readBookmark(foundDatabase.id)}`);
  await account.restoreDatabase(foundDatabase.id, bookmark);
  console.log(`${databaseName} is as it was at ${time?.toISOString() ?? bookmark}.`);
  console.log(RESTART_NOTE);
  console.log(`  npm run deploy -- --env ${name}`);
}

async function runWithDatabase(env: string | undefined, work: (database: Database) => Promise<void>): Promise<void> {
  const database = await openDatabase('CONTROL_DB', env);
  try {
    await work(database);
  } finally {
    await database.close();
  }
}

const makeSaveWork = (companyId: string, file: string) => async (database: Database) =>
  console.log(`${await saveCompany(database, companyId, file)} rows are in ${file}.`);

/** Describes a skipped row and the conflict that prevented it. */
const describeSkippedRow = ({ table, row, reason }: SkippedRow): string =>
  `  ${table} ${row.id ?? Object.values(row).join(' ')}: ${reason}`;

const makePutBackWork =
  (file: string, tables: readonly string[], includesAccess: boolean) => async (database: Database) => {
    const { writtenCount, skippedRows } = await putBackRows(database, file, tables);
    console.log(`${writtenCount} rows were put back.`);
    if (skippedRows.length > 0) {
      console.log(`${skippedRows.length} were skipped, since what is there now stands in their way:`);
      for (const row of skippedRows) console.log(describeSkippedRow(row));
    }
    if (includesAccess) console.log(`${RESTART_NOTE} npm run deploy, or npm start.`);
  };

await runCommand(async () => {
  const { values, positionals } = parseArgs({
    options: {
      env: { type: 'string' },
      to: { type: 'string' },
      tables: { type: 'string' },
      access: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  const { env, to, tables, access } = values;
  const [command, first, second, ...more] = positionals;
  const hasPutBackOptions = tables !== undefined || access;
  if (more.length > 0) throw new Problem(USAGE);
  if (command === undefined && env !== undefined && to !== undefined && !hasPutBackOptions)
    return restoreEnvironment(env, to);
  if (to !== undefined || first === undefined) throw new Problem(USAGE);
  if (command === 'save' && second !== undefined && !hasPutBackOptions)
    return runWithDatabase(env, makeSaveWork(first, second));
  if (command !== 'put-back' || second !== undefined) throw new Problem(USAGE);
  return runWithDatabase(env, makePutBackWork(first, listTables(tables?.split(','), access), access));
});
