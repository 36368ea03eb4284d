/**
 * Takes the control database of a deployed environment back to a time of the last 30 days, with every company's rows.
 *
 *     npm run restore -- --env staging|production --to TIME
 *
 * TIME is ISO 8601 (`2026-01-31T12:00:00Z`), or a bookmark that an earlier restore printed. The command prints a
 * bookmark of the present state too, so that a restore can be undone.
 */
import { parseArgs } from 'node:util';
import { CloudflareAccount, credentialsFrom } from './cloudflare.ts';
import { environmentName, environmentOf } from './environments.ts';
import { Problem, runCommand } from './problem.ts';

const USAGE = 'Usage: npm run restore -- --env staging|production --to TIME|BOOKMARK';
/** How long D1 remembers, in days. */
const REMEMBERED_DAYS = 30;

/** Bookmarks of D1: `0000000a-0000000b-00004d0c-…`. */
const BOOKMARK = /^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/;

/** Parses a time that D1 can restore. @throws Problem */
function parseTime(text: string, now: number): Date {
  const time = new Date(text);
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text) || Number.isNaN(time.getTime())) {
    throw new Problem(`"${text}" is neither a time such as 2026-01-31T12:00:00Z nor a bookmark.\n${USAGE}`);
  }
  const age = now - time.getTime();
  if (age < 0) throw new Problem(`${time.toISOString()} is yet to come.`);
  if (age > REMEMBERED_DAYS * 24 * 60 * 60 * 1000) {
    throw new Problem(`${time.toISOString()} is more than ${REMEMBERED_DAYS} days ago: D1 remembers no further.`);
  }
  return time;
}

await runCommand(async () => {
  const { env, to } = parseArgs({ options: { env: { type: 'string' }, to: { type: 'string' } } }).values;
  if (env === undefined || to === undefined) throw new Problem(USAGE);
  const time = BOOKMARK.test(to) ? undefined : parseTime(to, Date.now());
  const { name, databaseNames } = await environmentOf(environmentName(env));
  const databaseName = databaseNames.CONTROL_DB;
  const account = new CloudflareAccount(await credentialsFrom(process.env));
  const found = await account.database(databaseName);
  if (!found) throw new Problem(`There is no database ${databaseName} yet: npm run deploy -- --env ${name}`);
  const bookmark = time ? await account.bookmark(found.id, time) : to;
  const before = await account.restore(found.id, bookmark);
  console.log(
    `${databaseName} is as it was at ${time?.toISOString() ?? bookmark}. To come back to what was there before:`,
  );
  console.log(`  npm run restore -- --env ${name} --to ${before}`);
  console.log('Running Workers still hold the former permissions in memory. Restart them:');
  console.log(`  npm run deploy -- --env ${name}`);
});
