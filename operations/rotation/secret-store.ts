import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CloudflareAccount, readCredentials } from '../cloudflare.ts';
import { type Database, findLocalState, openLocalDatabase, openRemoteDatabase } from '../database.ts';
import type { Environment } from '../environments.ts';
import { Problem } from '../problem.ts';
import { writeSecretFile } from '../secret-file.ts';

/** Store of a Worker's secrets, by the names of their variables. They can be set, never read. */
export interface SecretStore {
  /** Checks that secrets can be changed now. @throws Problem with the remedy if not */
  requireChangeable(): Promise<void>;
  listNames(): Promise<string[]>;
  setSecret(name: string, value: string): Promise<void>;
  removeSecret(name: string): Promise<void>;
  /** Milliseconds until every isolate has a new secret. */
  propagationMs: number;
  /** Opens the control database of the same Worker. */
  openControlDb(): Promise<Database>;
}

/** Opens the secrets of a deployed Worker. Cloudflare deploys each change at once; its network has it within seconds. */
export async function openDeployedSecrets(environment: Environment, settleMs: number): Promise<SecretStore> {
  const account = new CloudflareAccount(await readCredentials(process.env));
  const { workerName, name: environmentName } = environment;
  return {
    async requireChangeable() {
      const { runningVersion, isNewest } = await account.readRunningVersion(workerName);
      if (!isNewest) throw makeRollbackProblem(environmentName, runningVersion);
    },
    listNames: () => account.listSecretNames(workerName),
    setSecret: (name, value) => account.putSecret(workerName, name, value),
    removeSecret: (name) => account.deleteSecret(workerName, name),
    propagationMs: settleMs,
    openControlDb: () => openRemoteDatabase('CONTROL_DB', environment),
  };
}

/** Makes the problem of a rollback: Cloudflare refuses to change secrets unless the newest version runs (10215). */
function makeRollbackProblem(environment: string, runningVersion: string | undefined): Problem {
  const commit = /\+([0-9a-f]+)$/.exec(runningVersion ?? '')?.[1];
  return new Problem(
    `The version that runs (${runningVersion ?? 'of an unknown commit'}) is not the one that was uploaded last: somebody rolled back, ` +
      'and until it is uploaded anew Cloudflare changes no secret. Upload it with the secrets that are set, and rotate then:\n' +
      `  git checkout ${commit ?? 'COMMIT'} && npm ci && npm run deploy -- --env ${environment}`,
  );
}

/** Opens the secrets of `npm start`, which reads them when it starts. */
export function openLocalSecrets(): SecretStore {
  const file = join(findLocalState(), 'secrets.json');
  const readAllSecrets = async (): Promise<Record<string, string>> => {
    const text = await readFile(file, 'utf8').catch(() => {
      throw new Problem(`There is no ${file}: run npm start first, set LOCAL_STATE_DIR, or say --env.`);
    });
    return JSON.parse(text);
  };
  const writeAllSecrets = async (secrets: Record<string, string>) => {
    await writeSecretFile(file, `${JSON.stringify(secrets, null, 2)}\n`);
  };
  return {
    requireChangeable: async () => undefined,
    listNames: async () => Object.keys(await readAllSecrets()),
    setSecret: async (name, value) => writeAllSecrets({ ...(await readAllSecrets()), [name]: value }),
    async removeSecret(name) {
      const { [name]: _removed, ...others } = await readAllSecrets();
      await writeAllSecrets(others);
    },
    propagationMs: 0,
    openControlDb: () => openLocalDatabase('CONTROL_DB'),
  };
}
