import type { Context, UserContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import { generateRandomBelow, newSecretToken } from '../../kernel/ids.ts';
import { computeKeyedDigest, computeKeyedDigests } from '../../platform/keyed-digest.ts';
import { computeSha256Hex } from '../../platform/secrets.ts';
import type { AuthorizationRequestView } from '../../presentation/authorization.ts';
import { attemptGuess, getCallerNetwork } from '../sign-in/service.ts';
import { findClient, findClientHost } from './clients.ts';
import { invalidClient, wrongUserCode } from './failures.ts';
import { makeConsentRequest, viewConsentRequest } from './requests.ts';
import { parseScopes } from './scopes.ts';
import { insertDevice, selectPendingDevice } from './store.ts';
import { findResource, type TokenRequest } from './tokens.ts';

/** The lifetime of a device's codes. */
const DEVICE_CODE_LIFETIME_SECONDS = 600;
/** The minimum time between two polls of a device. */
const POLL_INTERVAL_SECONDS = 5;

/** The letters of a user code. No vowels, so that they form no words, and no letters that look alike. */
const USER_CODE_LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const DEVICE_CODE_LABEL = 'device code';

const MAX_WRONG_CODES_PER_HOUR = 10;

/** Issues a user code and a device code to a client without a browser (RFC 8628). */
export async function startDeviceAuthorization(
  ctx: Context,
  clientId: string,
  request: Pick<TokenRequest, 'scope' | 'resource'>,
) {
  const client = await findClient(ctx, clientId);
  if (!client) throw invalidClient();
  const scopes = parseScopes(request.scope);
  const resource = findResource(ctx, request.resource);
  const letters = Array.from(
    { length: 8 },
    () => USER_CODE_LETTERS[generateRandomBelow(USER_CODE_LETTERS.length)],
  ).join('');
  const deviceCode = newSecretToken();
  const now = ctx.now();
  await commit(ctx.db, {
    device: insertDevice(ctx.db, {
      digest: await computeSha256Hex(deviceCode),
      userCodeDigest: await computeKeyedDigest(ctx.config.ENCRYPTION_KEYS, DEVICE_CODE_LABEL, letters),
      clientId: client.id,
      scopes,
      resource,
      interval: POLL_INTERVAL_SECONDS,
      pollableAt: now,
      expiresAt: now + DEVICE_CODE_LIFETIME_SECONDS * 1000,
      deniedAt: null,
    }),
  });
  return {
    deviceCode,
    userCode: `${letters.slice(0, 4)}-${letters.slice(4)}`,
    expiresIn: DEVICE_CODE_LIFETIME_SECONDS,
    interval: POLL_INTERVAL_SECONDS,
  };
}

/**
 * Returns the consent request of the device whose user code the caller has typed. After ten wrong codes within an hour, from
 * the user or from their network, further ones are rejected.
 */
export function findDeviceRequest(ctx: UserContext, typedCode: string): Promise<AuthorizationRequestView> {
  const { companyId, id } = ctx.actor;
  const guessLimit = { wrongGuessFailure: wrongUserCode, maxWrongGuesses: MAX_WRONG_CODES_PER_HOUR, windowMs: HOUR_MS };
  return attemptGuess(ctx, { ...guessLimit, name: `device-code:${companyId}:${id}` }, () =>
    attemptGuess(ctx, { ...guessLimit, name: `device-code:${getCallerNetwork(ctx)}` }, () =>
      readDeviceRequest(ctx, typedCode),
    ),
  );
}

async function readDeviceRequest(ctx: UserContext, typedCode: string): Promise<AuthorizationRequestView> {
  const letters = typedCode.toUpperCase().replaceAll(/[^A-Z]/g, '');
  const digests = await computeKeyedDigests(ctx.config.ENCRYPTION_KEYS, DEVICE_CODE_LABEL, letters);
  const [device] = await selectPendingDevice(ctx.db, digests, ctx.now());
  const client = device && (await findClient(ctx, device.clientId));
  // One of another company's is for its people only: here it is as if it were not there.
  if (!client || (client.companyId !== null && client.companyId !== ctx.actor.companyId)) throw wrongUserCode();
  const { digest, expiresAt, scopes, resource } = device;
  return viewConsentRequest(ctx, {
    ...makeConsentRequest(client, findClientHost(client), scopes, resource),
    jti: digest,
    redirect: null,
    device: { digest, expires_at: expiresAt },
  });
}
