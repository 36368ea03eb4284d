/**
 * Exports a company's rows of the control database, and restores them: docs/operations.md, "Backup and restore".
 *
 *     npm run company -- export COMPANY_ID FILE [--env staging|production]
 *     npm run company -- import FILE [--tables dashboards,visualizations] [--access] [--env staging|production]
 *
 * An import restores what people made; with `--access` also users, groups, policies and shares, which decide who may do
 * and see what. Without `--env` it works on the local state (`LOCAL_STATE_DIR`). The file holds people's data: protect
 * it like a database.
 */
import { parseArgs } from 'node:util';
import { exportCompany, importRows, type Skipped, tablesFor } from './company/rows.ts';
import { openDatabase } from './database.ts';
import { Problem, runCommand } from './problem.ts';

const USAGE =
  'Usage: npm run company -- export COMPANY_ID FILE | import FILE [--tables NAME,NAME] [--access]' +
  '   [--env staging|production]';

/** Describes a skipped row and the conflict. */
const describeSkipped = ({ table, row, reason }: Skipped): string =>
  `  ${table} ${row.id ?? Object.values(row).join(' ')}: ${reason}`;

await runCommand(async () => {
  const { values, positionals } = parseArgs({
    options: { env: { type: 'string' }, tables: { type: 'string' }, access: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const [command, ...names] = positionals;
  const [id, file] = command === 'export' ? names : [undefined, names[0]];
  const isGood =
    command === 'export' ? names.length === 2 && values.tables === undefined && !values.access : names.length === 1;
  if (!isGood || file === undefined || (command !== 'export' && command !== 'import')) throw new Problem(USAGE);
  const tables = tablesFor(values.tables?.split(','), values.access);
  const database = await openDatabase('CONTROL_DB', values.env);
  try {
    if (id !== undefined) console.log(`${await exportCompany(database, id, file)} rows are in ${file}.`);
    else {
      const { written, skipped } = await importRows(database, file, tables);
      console.log(`${written} rows were put back.`);
      if (skipped.length > 0) {
        console.log(`${skipped.length} were skipped, since what is there now stands in their way:`);
        for (const row of skipped) console.log(describeSkipped(row));
      }
      if (values.access) {
        console.log(
          'Running Workers still hold the former permissions in memory. Restart them: npm run deploy, or npm start.',
        );
      }
    }
  } finally {
    await database.close();
  }
});
