/**
 * Keeps what a company has in the control database, and puts it back: docs/operations.md, "Backup and restore".
 *
 *     npm run company -- export COMPANY_ID FILE [--env staging|production]
 *     npm run company -- import FILE [--tables dashboards,visualizations] [--env staging|production]
 *
 * Without `--env` it works on the local state (`LOCAL_STATE_DIR`). The file holds people's data: keep it like a database.
 */
import { parseArgs } from 'node:util';
import { exportCompany, importRows, RESTORABLE } from './company/rows.ts';
import { openDatabase } from './database.ts';
import { Problem, runCommand } from './problem.ts';

const USAGE =
  'Usage: npm run company -- export COMPANY_ID FILE | import FILE [--tables NAME,NAME]   [--env staging|production]';

await runCommand(async () => {
  const { values, positionals } = parseArgs({
    options: { env: { type: 'string' }, tables: { type: 'string' } },
    allowPositionals: true,
  });
  const [command, ...names] = positionals;
  const [id, file] = command === 'export' ? names : [undefined, names[0]];
  const isGood = command === 'export' ? names.length === 2 && values.tables === undefined : names.length === 1;
  if (!isGood || file === undefined || (command !== 'export' && command !== 'import')) throw new Problem(USAGE);
  const database = await openDatabase('CONTROL_DB', values.env);
  try {
    if (id !== undefined) console.log(`${await exportCompany(database, id, file)} rows are in ${file}.`);
    else
      console.log(`${await importRows(database, file, values.tables?.split(',') ?? RESTORABLE)} rows were put back.`);
  } finally {
    await database.close();
  }
});
