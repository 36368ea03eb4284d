import { setTimeout as sleep } from 'node:timers/promises';
import {
  formatVariable,
  KEY_NAMES,
  type KeyName,
  type KeyVersion,
  listVariableVersions,
  makeKey,
  makeKeyVersion,
} from '../keys.ts';
import { Problem } from '../problem.ts';
import { findUses } from './key-uses.ts';
import type { SecretStore } from './secret-store.ts';

/** Function that prints progress for the operator. */
export type ReportLine = (line: string) => void;

/** Lists the versions of a key that are in use, oldest first. */
const listKeyVersions = async (store: SecretStore, key: KeyName): Promise<KeyVersion[]> =>
  listVariableVersions(await store.listNames()).filter((keyVersion) => keyVersion.key === key && !keyVersion.isNext);

/**
 * Adds a version of a key. It is first set as readable only, and used once every isolate knows it, so that no isolate meets data
 * that it cannot read. After any interruption the command may be repeated. @param options.keepSecret receives the secret before it is set, for
 * the operator's safe storage
 */
export async function addVersion(
  store: SecretStore,
  key: KeyName,
  options: { now: number; report: ReportLine; keepSecret(secret: Record<string, string>): Promise<void> },
): Promise<void> {
  const { report } = options;
  await store.requireChangeable();
  const remainingVersions = listVariableVersions(await store.listNames()).filter(
    (keyVersion) => keyVersion.key === key && keyVersion.isNext,
  );
  const newestVersion = (await listKeyVersions(store, key)).at(-1)?.version ?? 0;
  const version = Math.max(makeKeyVersion(options.now), newestVersion + 1);
  const [nextVariable, usedVariable] = [formatVariable(key, version, { isNext: true }), formatVariable(key, version)];
  const secret = makeKey(key, version);
  await options.keepSecret({ [usedVariable]: secret });
  await store.setSecret(nextVariable, secret);
  report(`Version ${version} is set, to be read only.`);
  await sleep(store.propagationMs);
  await store.setSecret(usedVariable, secret);
  report(`Version ${version} is in use for all that is new; older ones go on being read.`);
  await sleep(store.propagationMs);
  for (const { variable } of [{ variable: nextVariable }, ...remainingVersions]) await store.removeSecret(variable);
}

/** Removes a version of a key, which ends everything made under it. @throws Problem naming the uses, unless forced */
export async function removeVersion(
  store: SecretStore,
  key: KeyName,
  version: number,
  { now, report, isForced }: { now: number; report: ReportLine; isForced: boolean },
): Promise<void> {
  await store.requireChangeable();
  const versions = await listKeyVersions(store, key);
  const at = versions.findIndex((keyVersion) => keyVersion.version === version);
  const removedVersion = versions[at];
  if (!removedVersion) throw new Problem(`${key} has no version ${version}: npm run rotate-keys -- list`);
  const successor = versions[at + 1]?.version;
  if (successor === undefined) {
    throw new Problem(`Version ${version} is what ${key} uses for all that is new: rotate it first.`);
  }
  const database = await store.openControlDb();
  const uses = await findUses(key, version, successor, database, now).finally(() => database.close());
  if (uses.length > 0 && !isForced) {
    const lines = uses.map(({ description, advice }) => `  ${description}: ${advice}`);
    throw new Problem(
      [
        `Version ${version} of ${key} is still needed by`,
        ...lines,
        'With --force it goes all the same, and they end.',
      ].join('\n'),
    );
  }
  await store.removeSecret(removedVersion.variable);
  report(`Version ${version} of ${key} is gone.`);
  for (const { description } of uses) report(`  Ended: ${description}`);
}

/** Lists the versions of all keys, and their remaining uses. */
export async function listVersions(
  store: SecretStore,
  { now, report }: { now: number; report: ReportLine },
): Promise<void> {
  const database = await store.openControlDb();
  try {
    for (const key of KEY_NAMES) {
      report(key);
      const versions = await listKeyVersions(store, key);
      for (const [at, { version }] of versions.entries()) {
        const successor = versions[at + 1]?.version;
        const uses = successor === undefined ? [] : await findUses(key, version, successor, database, now);
        const neededBy = uses.map(({ description }) => description).join('; ') || 'nothing: it can be removed';
        report(`  ${version}  ${successor === undefined ? 'used for all that is new' : `needed by ${neededBy}`}`);
      }
    }
  } finally {
    await database.close();
  }
}
