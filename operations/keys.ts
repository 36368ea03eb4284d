import { generateKeyPairSync, randomBytes } from 'node:crypto';

/** Variables that hold the Worker's versioned keys (`src/config.ts`), by the keys' names. */
export const KEY_VARIABLES = {
  jwt: 'JWT_PRIVATE_KEYS',
  'key-derivation': 'KEY_DERIVATION_SECRETS',
  encryption: 'ENCRYPTION_KEYS',
  embed: 'EMBED_SECRETS',
} as const;

export type KeyName = keyof typeof KEY_VARIABLES;
export const KEY_NAMES = Object.keys(KEY_VARIABLES) as KeyName[];

/** Makes a random secret of 256 bits, base64url. */
export const makeRandomSecret = (): string => randomBytes(32).toString('base64url');

/** Makes the number of a version created now: Unix time in seconds, so that the number shows the version's age. */
export const makeKeyVersion = (now: number): number => Math.floor(now / 1000);

/** Formats the variable of one version of a key, `ENCRYPTION_KEYS_1795309380`; a version with `NEXT` is readable only. */
export const formatVariable = (key: KeyName, version: number, { isNext = false } = {}): string =>
  `${KEY_VARIABLES[key]}_${isNext ? 'NEXT_' : ''}${version}`;

/** Generates a secret for a key, in the format of its variable. */
export function makeKey(key: KeyName, version: number): string {
  if (key !== 'jwt') return makeRandomSecret();
  const { privateKey } = generateKeyPairSync('ed25519');
  return JSON.stringify({ ...privateKey.export({ format: 'jwk' }), kid: String(version) });
}

/** Version of a key, found by the name of its variable. */
export interface KeyVersion {
  key: KeyName;
  variable: string;
  version: number;
  isNext: boolean;
}

/** Lists the versions of keys among these variables, oldest first. A variable without a version holds version 1. */
export function listVariableVersions(variables: readonly string[]): KeyVersion[] {
  const foundVersions = KEY_NAMES.flatMap((key) =>
    variables.flatMap((variable): KeyVersion[] => {
      if (variable === KEY_VARIABLES[key]) return [{ key, variable, version: 1, isNext: false }];
      if (!variable.startsWith(`${KEY_VARIABLES[key]}_`)) return [];
      const [, nextPrefix, version] = /^(NEXT_)?([1-9]\d*)$/.exec(variable.slice(KEY_VARIABLES[key].length + 1)) ?? [];
      return version === undefined
        ? []
        : [{ key, variable, version: Number(version), isNext: nextPrefix !== undefined }];
    }),
  );
  return foundVersions.sort((a, b) => a.version - b.version);
}

/** Lists the keys without any version in use. */
export const listMissingKeys = (variables: readonly string[]): KeyName[] =>
  KEY_NAMES.filter(
    (key) => !listVariableVersions(variables).some((keyVersion) => keyVersion.key === key && !keyVersion.isNext),
  );
