import { generateKeyPairSync, randomBytes } from 'node:crypto';

/** The Worker's keys that have versions: their names, and the variables that hold them (`src/config.ts`). */
export const KEY_VARIABLES = {
  jwt: 'JWT_PRIVATE_KEYS',
  'key-derivation': 'KEY_DERIVATION_SECRETS',
  encryption: 'ENCRYPTION_KEYS',
  embed: 'EMBED_SECRETS',
} as const;

export type KeyName = keyof typeof KEY_VARIABLES;
export const KEY_NAMES = Object.keys(KEY_VARIABLES) as KeyName[];

/** A random secret of 256 bits, base64url. */
export const makeRandomSecret = (): string => randomBytes(32).toString('base64url');

/** The number of a version created now: Unix time in seconds, so that a version tells its age. */
export const makeVersion = (now: number): number => Math.floor(now / 1000);

/** The variable of one version of a key, `ENCRYPTION_KEYS_1795309380`; with `NEXT` it makes nothing new yet. */
export const formatVariable = (key: KeyName, version: number, { isNext = false } = {}): string =>
  `${KEY_VARIABLES[key]}_${isNext ? 'NEXT_' : ''}${version}`;

/** Generates a secret for a key, in the format of its variable. */
export function makeKey(key: KeyName, version: number): string {
  if (key !== 'jwt') return makeRandomSecret();
  const { privateKey } = generateKeyPairSync('ed25519');
  return JSON.stringify({ ...privateKey.export({ format: 'jwk' }), kid: String(version) });
}

/** A version of a key, found by its variable's name. */
export interface KeptVersion {
  key: KeyName;
  variable: string;
  version: number;
  isNext: boolean;
}

/** The versions of keys among these variables, oldest first. A variable without a version holds version 1. */
export function listVariableVersions(variables: readonly string[]): KeptVersion[] {
  const found = KEY_NAMES.flatMap((key) =>
    variables.flatMap((variable): KeptVersion[] => {
      if (variable === KEY_VARIABLES[key]) return [{ key, variable, version: 1, isNext: false }];
      if (!variable.startsWith(`${KEY_VARIABLES[key]}_`)) return [];
      const [, next, version] = /^(NEXT_)?([1-9]\d*)$/.exec(variable.slice(KEY_VARIABLES[key].length + 1)) ?? [];
      return version === undefined ? [] : [{ key, variable, version: Number(version), isNext: next !== undefined }];
    }),
  );
  return found.sort((a, b) => a.version - b.version);
}

/** The keys without any version. */
export const listMissingKeys = (variables: readonly string[]): KeyName[] =>
  KEY_NAMES.filter((key) => !listVariableVersions(variables).some((kept) => kept.key === key && !kept.isNext));
