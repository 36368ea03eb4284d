/**
 * Rotates the Worker's keys: jwt, key-derivation, encryption, embed.
 *
 *     npm run rotate-keys -- list
 *     npm run rotate-keys -- KEY [--copy-secrets-to FILE]         adds a version and uses it
 *     npm run rotate-keys -- remove KEY VERSION [--force]         removes an old version, once nothing needs it
 *
 * Each takes `--env staging|production`; without it, it works on the local state (`LOCAL_STATE_DIR`), which the next
 * `npm start` reads. docs/operations.md says what each key is for.
 */
import { parseArgs } from 'node:util';
import { copySecrets } from './deployment/secrets.ts';
import { parseEnvironmentName, readEnvironment } from './environments.ts';
import { KEY_NAMES, type KeyName } from './keys.ts';
import { Problem, runCommand } from './problem.ts';
import { addVersion, listVersions, removeVersion } from './rotation/rotate.ts';
import { openDeployedSecrets, openLocalSecrets } from './rotation/secret-store.ts';

const USAGE =
  `Usage: npm run rotate-keys -- list | ${KEY_NAMES.join('|')} | remove KEY VERSION [--force]` +
  '   [--env staging|production] [--settle SECONDS] [--copy-secrets-to FILE]';

/** Seconds that Cloudflare's network gets to distribute a secret, as the option's default. */
const SETTLE_SECONDS = '60';

const isKey = (argument: string | undefined): argument is KeyName => KEY_NAMES.some((key) => key === argument);

await runCommand(async () => {
  const { values, positionals } = parseArgs({
    options: {
      env: { type: 'string' },
      force: { type: 'boolean', default: false },
      settle: { type: 'string', default: SETTLE_SECONDS },
      'copy-secrets-to': { type: 'string' },
    },
    allowPositionals: true,
  });
  const [command, key, version, ...rest] = positionals;
  const settleMs = Number(values.settle) * 1000;
  if (rest.length > 0 || !(settleMs >= 0)) throw new Problem(USAGE);
  const store =
    values.env === undefined
      ? openLocalSecrets()
      : await openDeployedSecrets(await readEnvironment(parseEnvironmentName(values.env)), settleMs);
  const output = { now: Date.now(), report: (line: string) => console.log(line) };
  if (command === 'list' && key === undefined) return listVersions(store, output);
  if (command === 'remove' && isKey(key) && /^\d+$/.test(version ?? '')) {
    return removeVersion(store, key, Number(version), { ...output, isForced: values.force });
  }
  if (!isKey(command) || key !== undefined) throw new Problem(USAGE);
  const file = values['copy-secrets-to'];
  const storeSecret = async (secret: Record<string, string>) =>
    file === undefined ? undefined : copySecrets(file, secret);
  await addVersion(store, command, { ...output, keepSecret: storeSecret });
});
