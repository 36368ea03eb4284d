import { z } from 'zod';
import type { Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/clock.ts';
import { Failure } from '../../kernel/failure.ts';
import { displayName } from '../../kernel/fields.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { addressProblem } from '../../kernel/public-address.ts';
import { outboundFetch } from '../../platform/outbound.ts';
import { attempt, getCallerNetwork } from '../sign-in/service.ts';
import { invalidClientMetadata, invalidRedirectUri, registrationCounted } from './failures.ts';
import { getHost, isRedirect } from './redirects.ts';
import { putPublicClient, selectCompanyClient, selectPublicClient } from './store.ts';

/** An OAuth client that requests authorization. */
export interface Client {
  id: string;
  name: string;
  redirectUris: readonly string[];
  /** The company whose administrators registered the client for its users; null for other clients. */
  companyId: string | null;
  /** The host of a client with a metadata document. */
  host: string | null;
}

/** The time after its last use for which a client that registered itself is kept. */
export const CLIENT_RETENTION_MS = 30 * DAY_MS;
/** The time for which a metadata document is cached. */
const DOCUMENT_MS = HOUR_MS;
const MAX_REDIRECTS = 20;
const REGISTRATIONS_AN_HOUR = 10;

const COMPANY_CLIENT_ID = /^oc_([a-f0-9]{24})$/;
const REGISTERED_CLIENT_ID = /^od_[\w-]{43}$/;

export const formatCompanyClientId = (id: string): string => `oc_${id}`;

/** Finds a client by id, however it was registered; undefined if there is none, or its metadata document is invalid. */
export async function findClient(ctx: Context, clientId: string): Promise<Client | undefined> {
  const [, companys] = COMPANY_CLIENT_ID.exec(clientId) ?? [];
  if (companys !== undefined) {
    const [found] = await selectCompanyClient(ctx.db, companys);
    return found && { ...found, id: clientId, host: null };
  }
  const isDocument = isDocumentAddress(ctx, clientId);
  if (!isDocument && !REGISTERED_CLIENT_ID.test(clientId)) return undefined;
  const [known] = await selectPublicClient(ctx.db, clientId, ctx.now());
  if (!known && !isDocument) return undefined;
  const { name, redirectUris } = known ?? (await readDocument(ctx, clientId)) ?? {};
  if (name === undefined || redirectUris === undefined) return undefined;
  return { id: clientId, name, redirectUris, companyId: null, host: isDocument ? getHost(clientId) : null };
}

/** The verified host of the client; for a dynamically registered one, the host of its redirect URI. */
export const findClientHost = (
  { companyId, host, redirectUris }: Client,
  redirectUri = redirectUris[0],
): string | null => (companyId !== null ? null : (host ?? (redirectUri === undefined ? null : getHost(redirectUri))));

/** Whether a client's id is the URL of its metadata document; only the normalized spelling of a URL is accepted. */
function isDocumentAddress({ config }: Context, clientId: string): boolean {
  if (clientId.length > 1024 || addressProblem(clientId, config.ALLOW_PRIVATE_ISSUERS) !== null) return false;
  const url = new URL(clientId);
  return url.href === clientId && url.pathname !== '/' && url.hash === '' && url.search === '';
}

const redirectUris = z.array(z.string().max(2048)).max(MAX_REDIRECTS);

const document = z.object({
  client_id: z.string(),
  client_name: displayName.optional().catch(undefined),
  redirect_uris: redirectUris.min(1).refine((uris) => uris.every(isRedirect)),
  token_endpoint_auth_method: z.literal('none').optional(),
  client_secret: z.undefined().optional(),
});

/** Reads the metadata document of a client, and caches it for an hour (`DOCUMENT_MS`). */
async function readDocument(ctx: Context, address: string) {
  const read = async () => {
    const response = await outboundFetch(ctx.config.ALLOW_PRIVATE_ISSUERS)(address, {
      headers: { accept: 'application/json' },
    });
    return response.status === 200 ? await response.json().catch(() => null) : null;
  };
  const found = document.safeParse(
    await read().catch((error) => {
      if (error instanceof Failure) return null;
      throw error;
    }),
  ).data;
  if (found?.client_id !== address) return undefined;
  const now = ctx.now();
  const client = { name: found.client_name ?? getHost(address), redirectUris: found.redirect_uris };
  await commit(ctx.db, {
    kept: putPublicClient(ctx.db, { clientId: address, ...client, createdAt: now, expiresAt: now + DOCUMENT_MS }),
  });
  return client;
}

/** The body of a dynamic client registration (RFC 7591). */
export const registration = z
  .looseObject({
    redirect_uris: redirectUris.default([]),
    client_name: displayName.optional(),
    grant_types: z.array(z.string().max(100)).max(20).optional(),
  })
  .meta({ id: 'ClientRegistration' });

/** Counts a try to register: ten an hour from one address, whatever is sent. */
export async function countRegistration(ctx: Context): Promise<void> {
  const tries = {
    name: `oauth-registration:${getCallerNetwork(ctx)}`,
    wrong: registrationCounted,
    maxWrong: REGISTRATIONS_AN_HOUR,
    windowMs: HOUR_MS,
  };
  await attempt(ctx, tries, async () => {
    throw registrationCounted();
  }).catch((error) => {
    if (!registrationCounted.matches(error)) throw error;
  });
}

/**
 * Turns the failure of invalid client metadata into one with the error code that the protocol has for the field (RFC 7591,
 * section 3.2.2).
 */
export function toMetadataFailure({ detail: { problems = [] } }: Failure): Failure {
  const isOfRedirects = problems.some(({ field }) => field.split('.')[0] === 'redirect_uris');
  return (isOfRedirects ? invalidRedirectUri : invalidClientMetadata)(undefined, problems);
}

/** Registers a public client (without a secret) with the requested metadata. */
export async function registerClient(ctx: Context, sent: z.output<typeof registration>) {
  if (!sent.redirect_uris.every(isRedirect)) throw invalidRedirectUri();
  if (sent.redirect_uris.length === 0 && !sent.grant_types?.includes(DEVICE_GRANT)) {
    throw invalidClientMetadata('`redirect_uris` is needed, but for a program that only has the device flow.');
  }
  const now = ctx.now();
  const record = {
    clientId: `od_${newSecretToken()}`,
    name: sent.client_name ?? (sent.redirect_uris[0] === undefined ? 'A device' : getHost(sent.redirect_uris[0])),
    redirectUris: sent.redirect_uris,
    createdAt: now,
    expiresAt: now + CLIENT_RETENTION_MS,
  };
  await commit(ctx.db, { registered: putPublicClient(ctx.db, record) });
  return record;
}

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
