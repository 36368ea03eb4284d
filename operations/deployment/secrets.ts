import { formatVariable, listMissingKeys, makeKey, makeKeyVersion } from '../keys.ts';
import { Problem } from '../problem.ts';
import { appendSecretFile } from '../secret-file.ts';

/** Names of secrets that other services issue, or that people must know: they come from the command's environment. */
const GIVEN_SECRETS = [
  { name: 'NEON_API_KEY', isNeeded: true, hint: 'an API key of Neon: https://console.neon.tech/app/settings/api-keys' },
  { name: 'PLATFORM_ADMIN_TOKEN', isNeeded: false, hint: 'without it no organization can be created' },
  { name: 'MAIL_API_KEY', isNeeded: false, hint: 'only another MAIL_PROVIDER than Cloudflare needs it' },
  { name: 'AI_API_KEY', isNeeded: false, hint: 'without it no model is asked for suggestions' },
];

/** Minimum length of the operator's token that the Worker accepts. */
const MIN_TOKEN_LENGTH = 16;

/** Secrets that a Worker lacks and that can be set, and notes on the others. */
export interface MissingSecrets {
  secretsToSet: Record<string, string>;
  notes: string[];
}

/** Makes the keys that are missing, and takes other secrets from `env`. @throws Problem naming a missing secret */
export function makeMissingSecrets(
  presentNames: readonly string[],
  env: NodeJS.ProcessEnv,
  now: number,
): MissingSecrets {
  const secretsToSet: Record<string, string> = {};
  const notes: string[] = [];
  const version = makeKeyVersion(now);
  for (const key of listMissingKeys(presentNames)) secretsToSet[formatVariable(key, version)] = makeKey(key, version);
  for (const { name, isNeeded, hint } of GIVEN_SECRETS) {
    const givenSecret = env[name];
    if (presentNames.includes(name)) {
      if (givenSecret) notes.push(`${name} is set already and stays: \`npx wrangler secret put ${name}\` replaces it.`);
    } else if (givenSecret) secretsToSet[name] = givenSecret;
    else if (isNeeded) throw new Problem(`Set ${name} in the environment of this command: ${hint}`);
    else notes.push(`${name} is not set: ${hint}.`);
  }
  if ((secretsToSet.PLATFORM_ADMIN_TOKEN?.length ?? MIN_TOKEN_LENGTH) < MIN_TOKEN_LENGTH) {
    throw new Problem(
      `PLATFORM_ADMIN_TOKEN must have at least ${MIN_TOKEN_LENGTH} characters: openssl rand -base64 32`,
    );
  }
  return { secretsToSet, notes };
}

/** Appends secrets to a file that only this user may read: Cloudflare never shows them again. */
export async function copySecrets(file: string, secrets: Record<string, string>): Promise<void> {
  const lines = Object.entries(secrets).map(([name, value]) => `${JSON.stringify({ [name]: value })}\n`);
  await appendSecretFile(file, lines.join(''));
}
