/** A recorded request with its answer. */
export interface Example {
  params?: Record<string, unknown>;
  query?: Record<string, string>;
  body?: unknown;
  answer: unknown;
}

/** Names of members whose value is a credential. */
const SECRET_NAME_PATTERN =
  /^(password|token|secret|secret_key|.*_token|otpauth_url|backup_codes?|code|device_code|user_code|client_secret|exchange_secret|idp_certificates)$/;

/** Returns the placeholder for a secret; a secret that routes require in a certain form gets one of that form. */
function hideSecret(secret: string, name: string): string {
  if (name === 'password') return 'a-password-of-yours';
  if (name === 'user_code') return 'WDJB-MJHT';
  return /^[\d-]{6,}$/.test(secret) ? secret.replaceAll(/\d/g, '0') : '…';
}

/** Patterns of values that differ from run to run, with their replacements. Equal ids get equal replacements. */
const REPLACEMENTS: readonly [RegExp, (index: number, text: string) => string][] = [
  [/(?<![0-9a-f])[0-9a-f]{24}(?![0-9a-f])/g, (index) => `65b9c0de0000${toHexId(index)}`],
  [/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, (index) => `0194c0de-0000-7000-8000-${toHexId(index)}`],
  [/(?<=sa_[a-z0-9-]+_[0-9a-f]{24}_)[a-z2-7]{20}/g, () => 'k3q7mpa2xw5dz4jt6rbn'],
  [/\bod_[\w-]{43}/g, () => 'od_2xw5dz4jt6rbnk3q7mpa2xw5dz4jt6rbnk3q7mpa2xw'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, () => '2026-01-31T12:00:00.000Z'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+\d\d:\d\d/g, () => '2026-01-31T12:00:00+00:00'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, () => '…'],
  // An id of a user, as passkeys know people by it, and one of a passkey.
  [/^(?:[MNOYZ][A-Za-z0-9]{3}){8}$/g, () => 'NjViOWMwZGUwMDAwMDAwMDAwMDAwMDAx'],
  [/^[\w-]{43}$/g, () => 'cGFzc2tleS1vZi1hLXdvcmstbGFwdG9wLXNob3duLWE'],
  [/"[0-9a-f]{32}"/g, () => '"3c59dc048e8850243be8079a5c74d079"'],
  [/http:\/\/127\.0\.0\.1:\d+/g, () => 'https://id.example.com'],
  [/https:\/\/api\.test/g, () => 'https://api.example.com'],
];
const NUMBER_REPLACEMENTS: Record<string, number> = { duration_ms: 12, client_id_issued_at: 1_769_860_800 };
/** Replacements of the random values that browsers and authenticators create, in base64url. */
const BYTES_REPLACEMENTS: Record<string, string> = {
  challenge: 'YS1jaGFsbGVuZ2UtdGhhdC1pcy1nb29kLW9uY2U',
  clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoi4oCmIn0',
  attestationObject: 'o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YQ',
  signature: 'MEUCIQDrE0_signature_of_an_authenticator',
};
const MAX_LIST_LENGTH = 3;

const toHexId = (index: number): string => index.toString(16).padStart(12, '0');

/** Collects examples of routes; secrets are left out, and values that differ from run to run are replaced by fixed ones. */
export class ExampleCollection {
  readonly #examplesByRoute: Record<string, Example> = {};
  readonly #knownReplacements = REPLACEMENTS.map(() => new Map<string, string>());
  /** The placeholder of each secret, which also replaces it within other texts. */
  readonly #secrets = new Map<string, string>();

  add(route: string, example: Example): void {
    this.#examplesByRoute[route] ??= this.#toShownValue(example) as Example;
  }

  /** Returns all examples as JSON. */
  toJson(): string {
    return `${JSON.stringify(this.#examplesByRoute, null, 1)}\n`;
  }

  #toShownValue(value: unknown, name = ''): unknown {
    if (Array.isArray(value)) return value.slice(0, MAX_LIST_LENGTH).map((entry) => this.#toShownValue(entry, name));
    if (typeof value === 'object' && value !== null) {
      // A key's own bytes differ from run to run.
      const shownObject = 'kty' in value && 'x' in value ? { ...value, x: '…' } : value;
      // SCIM's `$ref` would be taken for a reference within the document.
      const members = Object.entries(shownObject).filter(([key]) => key !== '$ref');
      return Object.fromEntries(members.map(([key, member]) => [key, this.#toShownValue(member, key)]));
    }
    if (typeof value === 'number') return NUMBER_REPLACEMENTS[name] ?? value;
    return typeof value === 'string' ? this.#toShownText(value, name) : value;
  }

  #toShownText(text: string, name: string): string {
    if (SECRET_NAME_PATTERN.test(name) && text !== '') {
      const placeholder = hideSecret(text, name);
      this.#secrets.set(text, placeholder);
      return placeholder;
    }
    let shownText = BYTES_REPLACEMENTS[name] ?? text;
    for (const [secret, as] of this.#secrets) shownText = shownText.replaceAll(secret, as);
    REPLACEMENTS.forEach(([pattern, makeReplacement], kind) => {
      const replacements = this.#knownReplacements[kind] as Map<string, string>;
      shownText = shownText.replaceAll(pattern, (match) => {
        if (!replacements.has(match)) replacements.set(match, makeReplacement(replacements.size + 1, match));
        return replacements.get(match) as string;
      });
    });
    return shownText;
  }
}
