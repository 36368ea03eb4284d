import { z } from 'zod';
import type { Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/clock.ts';
import { Failure } from '../../kernel/failure.ts';
import { displayNameSchema } from '../../kernel/fields.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { findUrlProblem } from '../../kernel/public-address.ts';
import { createOutboundFetch } from '../../platform/outbound.ts';
import { attemptGuess, getCallerNetwork } from '../sign-in/service.ts';
import { invalidClientMetadata, invalidRedirectUri, registrationCounted } from './failures.ts';
import { getRedirectHost, isAllowedRedirect } from './redirects.ts';
import { selectCompanyClient, selectPublicClient, upsertPublicClient } from './store.ts';

/** An OAuth client that requests authorization. */
export interface OAuthClient {
  id: string;
  name: string;
  redirectUris: readonly string[];
  /** The company whose administrators registered the client for its users; null for other clients. */
  companyId: string | null;
  /** The host of a client with a metadata document. */
  host: string | null;
}

/** The time after its last use for which a dynamically registered client is kept. */
export const CLIENT_RETENTION_MS = 30 * DAY_MS;
/** The time for which a metadata document is cached. */
const DOCUMENT_CACHE_MS = HOUR_MS;
const MAX_REDIRECTS = 20;
const MAX_REGISTRATIONS_PER_HOUR = 10;

const COMPANY_CLIENT_ID_PATTERN = /^oc_([a-f0-9]{24})$/;
const REGISTERED_CLIENT_ID_PATTERN = /^od_[\w-]{43}$/;

export const formatCompanyClientId = (id: string): string => `oc_${id}`;

/** Finds a client by id, however it was registered; undefined if there is none, or its metadata document is invalid. */
export async function findClient(ctx: Context, clientId: string): Promise<OAuthClient | undefined> {
  const [, companys] = COMPANY_CLIENT_ID_PATTERN.exec(clientId) ?? [];
  if (companys !== undefined) {
    const [found] = await selectCompanyClient(ctx.db, companys);
    return found && { ...found, id: clientId, host: null };
  }
  const isDocument = isDocumentAddress(ctx, clientId);
  if (!isDocument && !REGISTERED_CLIENT_ID_PATTERN.test(clientId)) return undefined;
  const [knownClient] = await selectPublicClient(ctx.db, clientId, ctx.now());
  if (!knownClient && !isDocument) return undefined;
  const { name, redirectUris } = knownClient ?? (await readDocument(ctx, clientId)) ?? {};
  if (name === undefined || redirectUris === undefined) return undefined;
  return { id: clientId, name, redirectUris, companyId: null, host: isDocument ? getRedirectHost(clientId) : null };
}

/** Returns the verified host of the client; for a dynamically registered client, the host of its redirect URI. */
export const findClientHost = (
  { companyId, host, redirectUris }: OAuthClient,
  redirectUri = redirectUris[0],
): string | null =>
  companyId !== null ? null : (host ?? (redirectUri === undefined ? null : getRedirectHost(redirectUri)));

/** Tells whether a client's id is the URL of its metadata document; only the normalized spelling of a URL is accepted. */
function isDocumentAddress({ config }: Context, clientId: string): boolean {
  if (clientId.length > 1024 || findUrlProblem(clientId, config.ALLOW_PRIVATE_ISSUERS) !== null) return false;
  const url = new URL(clientId);
  return url.href === clientId && url.pathname !== '/' && url.hash === '' && url.search === '';
}

const redirectUris = z.array(z.string().max(2048)).max(MAX_REDIRECTS);

const document = z.object({
  client_id: z.string(),
  client_name: displayNameSchema.optional().catch(undefined),
  redirect_uris: redirectUris.min(1).refine((uris) => uris.every(isAllowedRedirect)),
  token_endpoint_auth_method: z.literal('none').optional(),
  client_secret: z.undefined().optional(),
});

/** Reads the metadata document of a client, and caches it for an hour (`DOCUMENT_CACHE_MS`). */
async function readDocument(ctx: Context, url: string) {
  const fetchDocument = async () => {
    const response = await createOutboundFetch(ctx.config.ALLOW_PRIVATE_ISSUERS)(url, {
      headers: { accept: 'application/json' },
    });
    return response.status === 200 ? await response.json().catch(() => null) : null;
  };
  const parsedDocument = document.safeParse(
    await fetchDocument().catch((error) => {
      if (error instanceof Failure) return null;
      throw error;
    }),
  ).data;
  if (parsedDocument?.client_id !== url) return undefined;
  const now = ctx.now();
  const client = {
    name: parsedDocument.client_name ?? getRedirectHost(url),
    redirectUris: parsedDocument.redirect_uris,
  };
  await commit(ctx.db, {
    kept: upsertPublicClient(ctx.db, {
      clientId: url,
      ...client,
      createdAt: now,
      expiresAt: now + DOCUMENT_CACHE_MS,
    }),
  });
  return client;
}

/** The schema of the body of a dynamic client registration (RFC 7591). */
export const registration = z
  .looseObject({
    redirect_uris: redirectUris.default([]),
    client_name: displayNameSchema.optional(),
    grant_types: z.array(z.string().max(100)).max(20).optional(),
  })
  .meta({ id: 'ClientRegistration' });

/** Counts an attempt to register: ten an hour from one address are allowed, whatever is sent. */
export async function countRegistration(ctx: Context): Promise<void> {
  const attempts = {
    name: `oauth-registration:${getCallerNetwork(ctx)}`,
    wrongGuessFailure: registrationCounted,
    maxWrongGuesses: MAX_REGISTRATIONS_PER_HOUR,
    windowMs: HOUR_MS,
  };
  await attemptGuess(ctx, attempts, async () => {
    throw registrationCounted();
  }).catch((error) => {
    if (!registrationCounted.matches(error)) throw error;
  });
}

/** Converts the failure of invalid metadata into one with the protocol's code for the field (RFC 7591, section 3.2.2). */
export function toMetadataFailure({ detail: { problems = [] } }: Failure): Failure {
  const isRedirectProblem = problems.some(({ field }) => field.split('.')[0] === 'redirect_uris');
  return (isRedirectProblem ? invalidRedirectUri : invalidClientMetadata)(undefined, problems);
}

/** Registers a public client (without a secret) with the requested metadata. */
export async function registerClient(ctx: Context, metadata: z.output<typeof registration>) {
  if (!metadata.redirect_uris.every(isAllowedRedirect)) throw invalidRedirectUri();
  if (metadata.redirect_uris.length === 0 && !metadata.grant_types?.includes(DEVICE_GRANT_TYPE)) {
    throw invalidClientMetadata('`redirect_uris` is needed, but for a program that only has the device flow.');
  }
  const now = ctx.now();
  const record = {
    clientId: `od_${newSecretToken()}`,
    name:
      metadata.client_name ??
      (metadata.redirect_uris[0] === undefined ? 'A device' : getRedirectHost(metadata.redirect_uris[0])),
    redirectUris: metadata.redirect_uris,
    createdAt: now,
    expiresAt: now + CLIENT_RETENTION_MS,
  };
  await commit(ctx.db, { registered: upsertPublicClient(ctx.db, record) });
  return record;
}

export const DEVICE_GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';
