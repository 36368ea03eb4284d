/** Variables that are maps from version to secret. */
const MAPS = ['KEY_DERIVATION_SECRETS', 'EMBED_SECRETS', 'ENCRYPTION_KEYS'];
const JWT_KEYS = 'JWT_PRIVATE_KEYS';

/**
 * Gathers the versions of each secret. A secret of the platform cannot be read back and extended, so that each new version
 * is a variable of its own: `ENCRYPTION_KEYS_1795309380` holds the secret of that version, `JWT_PRIVATE_KEYS_1795309380` a
 * JWK. A version with `NEXT_` before it is only verified and decrypted with: all isolates must know a version before the
 * first one uses it.
 *
 * @param env the Worker's environment
 * @returns `env` with all versions under the bare names; what is not JSON stays as it is, for the parser to refuse
 */
export function gatherVersions(env: object): Record<string, unknown> {
  const gathered: Record<string, unknown> = { ...env };
  for (const name of MAPS) {
    const versions = listVersions(env, name);
    const bare = parsed(gathered[name] ?? '{}');
    if (versions.length === 0 || typeof bare !== 'object') continue;
    const added = versions.map(({ version, isNext, value }) => [isNext ? `-${version}` : version, value]);
    gathered[name] = JSON.stringify({ ...bare, ...Object.fromEntries(added) });
  }
  const keys = listVersions(env, JWT_KEYS);
  const bare = parsed(gathered[JWT_KEYS] ?? '[]');
  if (keys.length > 0 && Array.isArray(bare)) {
    const inUse = keys.filter(({ isNext }) => !isNext).map(({ value }) => parsed(value));
    const next = keys.filter(({ isNext }) => isNext).map(({ value }) => parsed(value));
    gathered[JWT_KEYS] = JSON.stringify([...inUse, ...bare, ...next]);
  }
  return gathered;
}

/** The versions that are variables of their own, the newest first. */
function listVersions(env: object, name: string): { version: string; isNext: boolean; value: string }[] {
  const found = Object.entries(env)
    .flatMap(([variable, value]) => {
      const [, next, version] = variable.startsWith(`${name}_`)
        ? (/^(NEXT_)?([1-9]\d*)$/.exec(variable.slice(name.length + 1)) ?? [])
        : [];
      return version === undefined ? [] : [{ version, isNext: next !== undefined, value: String(value) }];
    })
    .sort((a, b) => Number(b.version) - Number(a.version));
  const inUse = new Set(found.flatMap(({ version, isNext }) => (isNext ? [] : [version])));
  return found.filter(({ version, isNext }) => !isNext || !inUse.has(version));
}

function parsed(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}
