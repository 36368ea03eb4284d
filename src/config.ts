import { z } from 'zod';
import { DEFAULT_RETENTION_DAYS } from './logs/log.ts';
import type { AttemptLimiter } from './objects/attempt-limiter.ts';
import type { CompanyLog } from './objects/company-log.ts';
import type { IpLimiter } from './objects/ip-limiter.ts';
import type { OrganizationGate } from './objects/organization-gate.ts';
import type { TokenLimiter } from './objects/token-limiter.ts';
import type { ViewerGate } from './objects/viewer-gate.ts';
import type { WebhookSender } from './objects/webhook-sender.ts';
import { gatherVersions } from './platform/key-versions.ts';
import { DEFAULT_DISABLE_AFTER_SECONDS, DEFAULT_RETRY_SECONDS, retrySecondsField } from './platform/webhooks.ts';

/** Bindings and variables that the platform gives the Worker: see wrangler.toml. */
export interface Bindings {
  CONTROL_DB: D1Database;
  FILES: R2Bucket;
  JOBS: Queue;
  MODEL_JOBS: Queue;
  RECHECKS: Queue;
  DATA_JOBS: Queue;
  SCHEDULES: Queue;
  AUDIT: Queue;
  SHARE_EVENTS: Queue;
  WEBHOOKS: Queue;
  ORGANIZATION_GATE: DurableObjectNamespace<OrganizationGate>;
  IP_LIMITER: DurableObjectNamespace<IpLimiter>;
  TOKEN_LIMITER: DurableObjectNamespace<TokenLimiter>;
  ATTEMPT_LIMITER: DurableObjectNamespace<AttemptLimiter>;
  VIEWER_GATE: DurableObjectNamespace<ViewerGate>;
  COMPANY_LOG: DurableObjectNamespace<CompanyLog>;
  WEBHOOK_SENDER: DurableObjectNamespace<WebhookSender>;
  EMAIL: SendEmail;
  /** Assets that `src/web/build.ts` wrote. */
  PAGES: Fetcher;
}

/** Schema of secrets by version: `{"1":"…"}`. The highest version is used for new data, negative ones not yet. */
const versionedSecretsSchema = z
  .string()
  .transform((text, context) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      context.addIssue('must be JSON such as {"1":"a long random secret"}');
      return z.NEVER;
    }
  })
  .pipe(z.record(z.string().regex(/^-?[1-9]\d*$/), z.string().min(32)))
  .refine((secrets) => Object.keys(secrets).some((version) => Number(version) > 0), 'must hold at least one version');

const flagSchema = z
  .enum(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true');

/** Schema of comma-separated origins as browsers send them: `https://console.example.com`, without path or final slash. */
const originsSchema = z
  .string()
  .default('')
  .transform((text) => text.split(',').flatMap((origin) => origin.trim() || []))
  .refine(
    (list) => list.every((origin) => origin === '*' || URL.parse(origin)?.origin === origin),
    'must be origins such as https://console.example.com, separated by commas',
  );

/** Schema of a variable that may be left empty. */
const optionalTextSchema = z
  .string()
  .optional()
  .transform((text) => (text === '' ? undefined : text));

const makeLimitSchema = (defaultValue: number) => z.coerce.number().int().positive().default(defaultValue);

const makeComputeUnitsSchema = (defaultValue: number) => z.coerce.number().min(0.25).max(56).default(defaultValue);

const variablesSchema = z
  .object({
    /** True on a developer's machine, where requests from any origin are allowed. */
    DEVELOPMENT: flagSchema,
    /** Jurisdiction that the data of Durable Objects does not leave. After it changes, all Durable Objects start empty. */
    DATA_JURISDICTION: z.enum(['eu', 'fedramp']).optional(),
    /** Version of the deployment, named in answers of /health. */
    VERSION: z.string().default('0.1.0'),
    /**
     * The address of the console, for links in mails; `PUBLIC_URL` when left out. If this is the address of this API,
     * there is no separate console, and the API serves the pages that the links lead to, `/accept-invitation` and
     * `/reset-password`, which do not exist otherwise.
     */
    CONSOLE_URL: optionalTextSchema.pipe(z.url().optional()),
    /** Domain of passkeys: by default the host of `CONSOLE_URL`. After it changes, existing passkeys do not work. */
    RP_ID: optionalTextSchema,
    /** Public address of this API; the address of the request when not set. */
    PUBLIC_URL: z.url().optional(),
    MAIL_FROM: z.string().default('Data Console <no-reply@example.com>'),
    /** Sender of mails: Cloudflare's `send_email` binding, or a service with the API of Resend. */
    MAIL_PROVIDER: optionalTextSchema.pipe(z.enum(['cloudflare', 'resend']).default('cloudflare')),
    /** Address of the mail service's API. */
    MAIL_API_URL: optionalTextSchema.pipe(z.url().default('https://api.resend.com')),
    /** Key of the mail service's API; required for `resend`. */
    MAIL_API_KEY: optionalTextSchema,
    /** Comma-separated origins from which browsers may send requests; `*` for any, in development only. */
    ALLOWED_ORIGINS: originsSchema,
    /** Bearer secret of the operator, who creates organizations. Without it the operator's routes do not exist. */
    PLATFORM_ADMIN_TOKEN: optionalTextSchema.pipe(z.string().min(16).optional()),
    /** Ed25519 private keys as a JSON array of JWKs with `kid`; the first signs, all verify. */
    JWT_PRIVATE_KEYS: z.string(),
    /** Secrets from which the secrets of API keys are derived. */
    KEY_DERIVATION_SECRETS: versionedSecretsSchema,
    /** Keys that sign embed tokens. Removing a version invalidates the tokens signed under it. */
    EMBED_SECRETS: versionedSecretsSchema,
    /** Keys that encrypt connection strings and secrets of identity providers. */
    ENCRYPTION_KEYS: versionedSecretsSchema,
    NEON_API_URL: z.url().default('https://console.neon.tech/api/v2'),
    /**
     * Key of Neon's API, preferably an organization's: a personal key stops working when its owner leaves, and also needs
     * `NEON_ORG_ID`.
     */
    NEON_API_KEY: z.string(),
    /** The organization at Neon that companies' projects are made in: `org-…`. A key of an organization needs none. */
    NEON_ORG_ID: optionalTextSchema,
    NEON_WS_PROXY: z.string().optional(),
    /** The region of companies' new databases, such as `aws-eu-central-1`; existing ones stay where they are. */
    NEON_REGION: optionalTextSchema,
    /** Seconds of history to restore databases from. Neon allows 6 hours (Free), 7 days (Launch), 30 (Scale). */
    NEON_HISTORY_SECONDS: makeLimitSchema(7 * 24 * 60 * 60),
    /** Minimum size to which a company's compute is scaled: 1 is 4 GB of memory. */
    NEON_MIN_CU: makeComputeUnitsSchema(0.25),
    /** Maximum size to which a company's compute is scaled: 1 is 4 GB of memory. */
    NEON_MAX_CU: makeComputeUnitsSchema(2),
    RATE_LIMIT_ORGANIZATION_PER_MINUTE: makeLimitSchema(1000),
    RATE_LIMIT_PRINCIPAL_PER_MINUTE: makeLimitSchema(100),
    RATE_LIMIT_IP_PER_SECOND: makeLimitSchema(10),
    RATE_LIMIT_TOKEN_PER_MINUTE: makeLimitSchema(600),
    /** Maximum number of one principal's questions per minute that are sent to a model. */
    RATE_LIMIT_QUESTIONS_PER_MINUTE: makeLimitSchema(60),
    /** Days for which audit records and share events stay in their company's log; then they move to R2, below `log/`. */
    AUDIT_RETENTION_DAYS: makeLimitSchema(DEFAULT_RETENTION_DAYS),
    /** Development only: allows providers, fetched files and webhook endpoints on this machine, also by plain http. */
    ALLOW_PRIVATE_ISSUERS: flagSchema,
    /** Key of the provider that suggests domain knowledge; without it the routes that ask for suggestions answer 503. */
    AI_API_KEY: optionalTextSchema,
    /** Base address of an API with OpenAI's chat completions and JSON schemas; ends in `/v1`. */
    AI_BASE_URL: optionalTextSchema.pipe(z.url().default('https://api.openai.com/v1')),
    AI_MODEL: optionalTextSchema.pipe(z.string().default('gpt-5-mini')),
    /** The longest time for one request to the provider. */
    AI_TIMEOUT_MS: makeLimitSchema(60_000),
    /** Pause before the second try; the pause before the third try is four times as long. */
    AI_BACKOFF_MS: makeLimitSchema(2_000),
    /** Seconds that a webhook waits before each further try, separated by commas; there is one try more than entries. */
    WEBHOOK_RETRY_SECONDS: optionalTextSchema.pipe(retrySecondsField.default(DEFAULT_RETRY_SECONDS)),
    /** Time without a single success after which a webhook endpoint is disabled. */
    WEBHOOK_DISABLE_AFTER_SECONDS: makeLimitSchema(DEFAULT_DISABLE_AFTER_SECONDS),
    /** Bytes of uploaded files that one queue message processes before the next message continues: sized for 30 s of CPU. */
    UPLOAD_MESSAGE_BYTES: makeLimitSchema(32 * 1024 * 1024),
  })
  .refine(({ DEVELOPMENT, ALLOWED_ORIGINS }) => DEVELOPMENT || !ALLOWED_ORIGINS.includes('*'), {
    path: ['ALLOWED_ORIGINS'],
    message: '`*` is for development: name the origins, or set DEVELOPMENT=true',
  })
  .refine(({ MAIL_PROVIDER, MAIL_API_KEY }) => MAIL_PROVIDER === 'cloudflare' || MAIL_API_KEY !== undefined, {
    path: ['MAIL_API_KEY'],
    message: 'is needed where MAIL_PROVIDER is `resend`',
  });

const configurationSchema = variablesSchema.transform(({ CONSOLE_URL, RP_ID, ...rest }, context) => {
  const url = CONSOLE_URL ?? rest.PUBLIC_URL;
  if (url === undefined) {
    context.addIssue({ code: 'custom', path: ['CONSOLE_URL'], message: 'is needed where PUBLIC_URL is not set' });
    return z.NEVER;
  }
  const host = new URL(url).hostname;
  const domain = RP_ID ?? host;
  if (host !== domain && !host.endsWith(`.${domain}`)) {
    context.addIssue({
      code: 'custom',
      path: ['RP_ID'],
      message: 'must be the host of CONSOLE_URL, or a domain above it',
    });
    return z.NEVER;
  }
  return { ...rest, CONSOLE_URL: url, RP_ID: domain };
});

/** The Worker's variables, parsed once per isolate; their names and meaning are in `variablesSchema`. */
export type Config = z.output<typeof configurationSchema>;

/** Names of all variables and secrets that the Worker reads, for programs that set them (`npm start`, deployment). */
export const VARIABLE_NAMES = Object.keys(variablesSchema.shape) as (keyof Config)[];

const parsedConfigs = new WeakMap<object, Config>();

/** Returns the typed configuration, parsed on first use. @throws Error that names every invalid variable, never a value */
export function readConfig(env: object): Config {
  const knownConfig = parsedConfigs.get(env);
  if (knownConfig) return knownConfig;
  const result = configurationSchema.safeParse(gatherVersions(env));
  if (!result.success) {
    const problems = result.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new Error(`The Worker is not configured: ${problems.join('; ')}`);
  }
  parsedConfigs.set(env, result.data);
  return result.data;
}
