/** The names of variables that are maps from version to secret. */
const VERSION_MAP_NAMES = ['KEY_DERIVATION_SECRETS', 'EMBED_SECRETS', 'ENCRYPTION_KEYS'];
const JWT_KEYS_NAME = 'JWT_PRIVATE_KEYS';

/**
 * Gathers the versions of each secret. A secret of the platform cannot be read back and extended, so that each new version is a
 * variable of its own: `ENCRYPTION_KEYS_1795309380` holds the secret of that version, `JWT_PRIVATE_KEYS_1795309380` a JWK. A
 * version with the prefix `NEXT_` is used only to verify and decrypt: all isolates must know a version before the first one uses
 * it. @param env the Worker's environment @returns `env` with all versions under the names without version; a value that is not
 * JSON stays unchanged, for the parser to reject
 */
export function gatherVersions(env: object): Record<string, unknown> {
  const gatheredEnv: Record<string, unknown> = { ...env };
  for (const name of VERSION_MAP_NAMES) {
    const versions = listVersions(env, name);
    const baseSecrets = parseJson(gatheredEnv[name] ?? '{}');
    if (versions.length === 0 || typeof baseSecrets !== 'object') continue;
    const addedSecrets = versions.map(({ version, isNext, value }) => [isNext ? `-${version}` : version, value]);
    gatheredEnv[name] = JSON.stringify({ ...baseSecrets, ...Object.fromEntries(addedSecrets) });
  }
  const keys = listVersions(env, JWT_KEYS_NAME);
  const baseKeys = parseJson(gatheredEnv[JWT_KEYS_NAME] ?? '[]');
  if (keys.length > 0 && Array.isArray(baseKeys)) {
    const keysInUse = keys.filter(({ isNext }) => !isNext).map(({ value }) => parseJson(value));
    const nextKeys = keys.filter(({ isNext }) => isNext).map(({ value }) => parseJson(value));
    gatheredEnv[JWT_KEYS_NAME] = JSON.stringify([...keysInUse, ...baseKeys, ...nextKeys]);
  }
  return gatheredEnv;
}

/** Lists the versions that are variables of their own, the newest first. */
function listVersions(env: object, name: string): { version: string; isNext: boolean; value: string }[] {
  const foundVersions = Object.entries(env)
    .flatMap(([variable, value]) => {
      const [, nextPrefix, version] = variable.startsWith(`${name}_`)
        ? (/^(NEXT_)?([1-9]\d*)$/.exec(variable.slice(name.length + 1)) ?? [])
        : [];
      return version === undefined ? [] : [{ version, isNext: nextPrefix !== undefined, value: String(value) }];
    })
    .sort((a, b) => Number(b.version) - Number(a.version));
  const versionsInUse = new Set(foundVersions.flatMap(({ version, isNext }) => (isNext ? [] : [version])));
  return foundVersions.filter(({ version, isNext }) => !isNext || !versionsInUse.has(version));
}

function parseJson(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}
