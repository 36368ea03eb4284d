import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { accessFrom, CloudflareAccount } from '../cloudflare.ts';
import { type Database, localState, openLocal, openRemote } from '../database.ts';
import type { Environment } from '../environments.ts';
import { Problem } from '../problem.ts';

/** Where the secrets of a Worker are, by the names of their variables. They can be set, never read. */
export interface SecretStore {
  names(): Promise<string[]>;
  set(name: string, value: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** How long it takes until every isolate has what was set. Milliseconds. */
  settleMs: number;
  /** The control database of the same Worker. */
  openControlDb(): Promise<Database>;
}

/** That of a deployed Worker. Cloudflare deploys each change at once; its network has it within seconds. */
export async function deployedSecrets(environment: Environment, settleMs: number): Promise<SecretStore> {
  const account = new CloudflareAccount(await accessFrom(process.env));
  const { workerName } = environment;
  return {
    names: () => account.secretNames(workerName),
    set: (name, value) => account.putSecret(workerName, name, value),
    remove: (name) => account.deleteSecret(workerName, name),
    settleMs,
    openControlDb: () => openRemote('CONTROL_DB', environment),
  };
}

/** That of `npm start`, which reads it when it starts. */
export function localSecrets(): SecretStore {
  const file = join(localState(), 'secrets.json');
  const read = async (): Promise<Record<string, string>> => {
    const text = await readFile(file, 'utf8').catch(() => {
      throw new Problem(`There is no ${file}: run npm start first, set LOCAL_STATE_DIR, or say --env.`);
    });
    return JSON.parse(text);
  };
  const write = async (secrets: Record<string, string>) => {
    await writeFile(`${file}.new`, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
    await rename(`${file}.new`, file);
  };
  return {
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
