import { setTimeout as sleep } from 'node:timers/promises';
import {
  formatVariable,
  KEY_NAMES,
  type KeptVersion,
  type KeyName,
  listVariableVersions,
  makeKey,
  makeVersion,
} from '../keys.ts';
import { Problem } from '../problem.ts';
import type { SecretStore } from './secret-store.ts';
import { findUses } from './uses.ts';

/** Prints progress for the operator. */
export type Report = (line: string) => void;

/** The versions of a key, oldest first. */
const listKeyVersions = async (store: SecretStore, key: KeyName): Promise<KeptVersion[]> =>
  listVariableVersions(await store.names()).filter((kept) => kept.key === key && !kept.isNext);

/**
 * Adds a version of a key. It is first set as readable only, and used once every isolate knows it, so that no isolate
 * meets data that it cannot read. After any interruption the command may be repeated.
 * @param keep receives the secret before it is set, for the operator's safe
 */
export async function addVersion(
  store: SecretStore,
  key: KeyName,
  options: { now: number; report: Report; keep(secret: Record<string, string>): Promise<void> },
): Promise<void> {
  const { report } = options;
  await store.requireChangeable();
  const left = listVariableVersions(await store.names()).filter((kept) => kept.key === key && kept.isNext);
  const newest = (await listKeyVersions(store, key)).at(-1)?.version ?? 0;
  const version = Math.max(makeVersion(options.now), newest + 1);
  const [next, used] = [formatVariable(key, version, { isNext: true }), formatVariable(key, version)];
  const secret = makeKey(key, version);
  await options.keep({ [used]: secret });
  await store.set(next, secret);
  report(`Version ${version} is set, to be read only.`);
  await sleep(store.settleMs);
  await store.set(used, secret);
  report(`Version ${version} is in use for all that is new; older ones go on being read.`);
  await sleep(store.settleMs);
  for (const { variable } of [{ variable: next }, ...left]) await store.remove(variable);
}

/** Removes a version of a key, ending what was made under it. @throws Problem naming what needs it, unless forced */
export async function removeVersion(
  store: SecretStore,
  key: KeyName,
  version: number,
  { now, report, isForced }: { now: number; report: Report; isForced: boolean },
): Promise<void> {
  await store.requireChangeable();
  const versions = await listKeyVersions(store, key);
  const at = versions.findIndex((kept) => kept.version === version);
  const kept = versions[at];
  if (!kept) throw new Problem(`${key} has no version ${version}: npm run rotate-keys -- list`);
  const successor = versions[at + 1]?.version;
  if (successor === undefined) {
    throw new Problem(`Version ${version} is what ${key} uses for all that is new: rotate it first.`);
  }
  const database = await store.openControlDb();
  const uses = await findUses(key, version, successor, database, now).finally(() => database.close());
  if (uses.length > 0 && !isForced) {
    const lines = uses.map(({ what, advice }) => `  ${what}: ${advice}`);
    throw new Problem(
      [
        `Version ${version} of ${key} is still needed by`,
        ...lines,
        'With --force it goes all the same, and they end.',
      ].join('\n'),
    );
  }
  await store.remove(kept.variable);
  report(`Version ${version} of ${key} is gone.`);
  for (const { what } of uses) report(`  Ended: ${what}`);
}

/** Lists the versions of all keys, and what needs them. */
export async function listVersions(
  store: SecretStore,
  { now, report }: { now: number; report: Report },
): Promise<void> {
  const database = await store.openControlDb();
  try {
    for (const key of KEY_NAMES) {
      report(key);
      const versions = await listKeyVersions(store, key);
      for (const [at, { version }] of versions.entries()) {
        const successor = versions[at + 1]?.version;
        const uses = successor === undefined ? [] : await findUses(key, version, successor, database, now);
        const needed = uses.map(({ what }) => what).join('; ') || 'nothing: it can be removed';
        report(`  ${version}  ${successor === undefined ? 'used for all that is new' : `needed by ${needed}`}`);
      }
    }
  } finally {
    await database.close();
  }
}
