import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CloudflareAccount, readCredentials } from '../cloudflare.ts';
import { type Database, findLocalState, openLocal, openRemote } from '../database.ts';
import type { Environment } from '../environments.ts';
import { Problem } from '../problem.ts';
import { writeSecretFile } from '../secret-file.ts';

/** The secrets of a Worker, by the names of their variables. They can be set, never read. */
export interface SecretStore {
  /** @throws Problem with the remedy, if secrets cannot be changed now */
  requireChangeable(): Promise<void>;
  names(): Promise<string[]>;
  set(name: string, value: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** How long it takes until every isolate has a new secret. Milliseconds. */
  settleMs: number;
  /** Opens the control database of the same Worker. */
  openControlDb(): Promise<Database>;
}

/** The secrets of a deployed Worker. Cloudflare deploys each change at once; its network has it within seconds. */
export async function openDeployedSecrets(environment: Environment, settleMs: number): Promise<SecretStore> {
  const account = new CloudflareAccount(await readCredentials(process.env));
  const { workerName, name: environmentName } = environment;
  return {
    async requireChangeable() {
      const { running, isNewest } = await account.runningVersion(workerName);
      if (!isNewest) throw makeRollbackProblem(environmentName, running);
    },
    names: () => account.secretNames(workerName),
    set: (name, value) => account.putSecret(workerName, name, value),
    remove: (name) => account.deleteSecret(workerName, name),
    settleMs,
    openControlDb: () => openRemote('CONTROL_DB', environment),
  };
}

/** Cloudflare changes only secrets of the newest version: if another one runs, it refuses (10215). */
function makeRollbackProblem(environment: string, running: string | undefined): Problem {
  const commit = /\+([0-9a-f]+)$/.exec(running ?? '')?.[1];
  return new Problem(
    `The version that runs (${running ?? 'of an unknown commit'}) is not the one that was uploaded last: somebody rolled back, ` +
      'and until it is uploaded anew Cloudflare changes no secret. Upload it with the secrets that are set, and rotate then:\n' +
      `  git checkout ${commit ?? 'COMMIT'} && npm ci && npm run deploy -- --env ${environment}`,
  );
}

/** The secrets of `npm start`, which reads them when it starts. */
export function openLocalSecrets(): SecretStore {
  const file = join(findLocalState(), 'secrets.json');
  const read = async (): Promise<Record<string, string>> => {
    const text = await readFile(file, 'utf8').catch(() => {
      throw new Problem(`There is no ${file}: run npm start first, set LOCAL_STATE_DIR, or say --env.`);
    });
    return JSON.parse(text);
  };
  const write = async (secrets: Record<string, string>) => {
    await writeSecretFile(file, `${JSON.stringify(secrets, null, 2)}\n`);
  };
  return {
    requireChangeable: async () => undefined,
    names: async () => Object.keys(await read()),
    set: async (name, value) => write({ ...(await read()), [name]: value }),
    async remove(name) {
      const { [name]: _gone, ...others } = await read();
      await write(others);
    },
    settleMs: 0,
    openControlDb: () => openLocal('CONTROL_DB'),
  };
}
