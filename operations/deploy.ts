/**
 * Deploys the system to a Cloudflare account, the first time or a new version.
 *
 *     npm run deploy -- --env staging|production [--dry-run] [--copy-secrets-to FILE]
 *
 * Creates what is missing, migrates the database, deploys both Workers, waits until the new version works, and moves records of
 * earlier versions to where this one has them. It may be repeated at any time: whatever exists stays unchanged. `--dry-run`
 * prints each step, without sending any request.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readCredentials } from './cloudflare.ts';
import { deploy, describeDeployment } from './deployment/deploy.ts';
import { PROJECT, parseEnvironmentName, readEnvironment } from './environments.ts';
import { Problem, runCommand } from './problem.ts';

const USAGE = 'Usage: npm run deploy -- --env staging|production [--dry-run] [--copy-secrets-to FILE]';

/** Reads the package's version and the commit: `0.1.0+d7363db`, with `.changed` if files differ from the commit. */
function readVersion(): string {
  const { version } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8'));
  try {
    const runGit = (...options: string[]) => execFileSync('git', options, { cwd: PROJECT, encoding: 'utf8' }).trim();
    const changedSuffix = runGit('status', '--porcelain', '--untracked-files=no') === '' ? '' : '.changed';
    return `${version}+${runGit('rev-parse', '--short', 'HEAD')}${changedSuffix}`;
  } catch {
    return version;
  }
}

await runCommand(async () => {
  const { values } = parseArgs({
    options: {
      env: { type: 'string' },
      'dry-run': { type: 'boolean', default: false },
      'copy-secrets-to': { type: 'string' },
    },
  });
  if (values.env === undefined) throw new Problem(USAGE);
  const deployment = {
    environment: await readEnvironment(parseEnvironmentName(values.env)),
    version: readVersion(),
    env: process.env,
    ...(values['copy-secrets-to'] !== undefined && { copyTo: values['copy-secrets-to'] }),
    report: (line: string) => console.log(line),
  };
  if (values['dry-run']) await describeDeployment(deployment);
  else await deploy(deployment, await readCredentials(process.env));
});
