import { formatVariable, listMissingKeys, makeKey, makeVersion } from '../keys.ts';
import { Problem } from '../problem.ts';
import { appendSecretFile } from '../secret-file.ts';

/** Secrets that other services issue, or that people must know: they come from the command's environment. */
const GIVEN_SECRETS = [
  { name: 'NEON_API_KEY', isNeeded: true, hint: 'an API key of Neon: https://console.neon.tech/app/settings/api-keys' },
  { name: 'PLATFORM_ADMIN_TOKEN', isNeeded: false, hint: 'without it no organization can be created' },
  { name: 'MAIL_API_KEY', isNeeded: false, hint: 'only another MAIL_PROVIDER than Cloudflare needs it' },
  { name: 'AI_API_KEY', isNeeded: false, hint: 'without it no model is asked for suggestions' },
];

/** The shortest operator's token that the Worker accepts. */
const TOKEN_LENGTH = 16;

/** The secrets that a Worker lacks, and notes on those that are not set. */
export interface MissingSecrets {
  toSet: Record<string, string>;
  notes: string[];
}

/** Makes the keys that are missing, and takes other secrets from `env`. @throws Problem naming a missing secret */
export function makeMissingSecrets(present: readonly string[], env: NodeJS.ProcessEnv, now: number): MissingSecrets {
  const toSet: Record<string, string> = {};
  const notes: string[] = [];
  const version = makeVersion(now);
  for (const key of listMissingKeys(present)) toSet[formatVariable(key, version)] = makeKey(key, version);
  for (const { name, isNeeded, hint } of GIVEN_SECRETS) {
    const given = env[name];
    if (present.includes(name)) {
      if (given) notes.push(`${name} is set already and stays: \`npx wrangler secret put ${name}\` replaces it.`);
    } else if (given) toSet[name] = given;
    else if (isNeeded) throw new Problem(`Set ${name} in the environment of this command: ${hint}`);
    else notes.push(`${name} is not set: ${hint}.`);
  }
  if ((toSet.PLATFORM_ADMIN_TOKEN?.length ?? TOKEN_LENGTH) < TOKEN_LENGTH) {
    throw new Problem(`PLATFORM_ADMIN_TOKEN must have at least ${TOKEN_LENGTH} characters: openssl rand -base64 32`);
  }
  return { toSet, notes };
}

/** Appends secrets to a file that only this user may read: Cloudflare never shows them again. */
export async function copySecrets(file: string, secrets: Record<string, string>): Promise<void> {
  const lines = Object.entries(secrets).map(([name, value]) => `${JSON.stringify({ [name]: value })}\n`);
  await appendSecretFile(file, lines.join(''));
}
