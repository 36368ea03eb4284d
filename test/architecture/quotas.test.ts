import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const FILES = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.startsWith('generated/'))
  .map((file) => ({ file: `src/${file}`, text: readFileSync(`src/${file}`, 'utf8') }));

const findFiles = (pattern: RegExp): string[] => FILES.filter(({ text }) => pattern.test(text)).map(({ file }) => file);

/**
 * Operations that count against a quota, with the only files that may do them: there, or in a trigger, the quota is checked.
 */
const ALLOWED_FILES: [title: string, pattern: RegExp, files: string[]][] = [
  ['users are created', /\.insert\(users\)|into "?users"?\b/i, ['src/modules/users/store.ts']],
  ['mails are sent off', /\bmailer\.send\(/, ['src/modules/mails/requests.ts', 'src/modules/schedules/delivery.ts']],
  ['mails are stored for sending', /(?:insert\(|insertWhen\(db, )mailRequests\b/, ['src/modules/mails/store.ts']],
  ['models are called', /\.completions\.create\(/, ['src/platform/ai.ts']],
  ['model settings are created', /baseUrl: config\.AI_BASE_URL/, ['src/modules/knowledge/suggestions/propose.ts']],
  ['changes of tables begin', /\bchangeData\(ctx,/, ['src/modules/managed-tables/changes.ts']],
  ['upload jobs are stored', /INSERT INTO console\.upload_jobs/, ['src/modules/uploads/store.ts']],
  [
    'resumable uploads are stored',
    /INSERT INTO console\.resumable_uploads/,
    ['src/modules/uploads/resumable-store.ts'],
  ],
  [
    'users’ SQL is run',
    /\bnew UserSqlRun\(/,
    ['src/modules/data-api/user-sql-stream.ts', 'src/tenant-sql/user-sql.ts'],
  ],
];

it.each(ALLOWED_FILES)('%s only in the files that enforce quotas and counts', (_, pattern, files) => {
  expect(findFiles(pattern).toSorted()).toEqual(files.toSorted());
});
