import type { Context, UserContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import { newSecretToken, randomBelow } from '../../kernel/ids.ts';
import { keyedDigest, keyedDigests } from '../../platform/keyed-digest.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import type { AskedView } from '../../presentation/letting-in.ts';
import { attempt, getCallerNetwork } from '../sign-in/service.ts';
import { findClient, findClientHost } from './clients.ts';
import { invalidClient, wrongUserCode } from './failures.ts';
import { makeConsentRequest, viewRequest } from './requests.ts';
import { parseScopes } from './scopes.ts';
import { insertDevice, selectWaitingDevice } from './store.ts';
import { findResource } from './tokens.ts';

/** The life of a device's codes, and the time between two polls of the device, in seconds. */
const DEVICE_SECONDS = 600;
const INTERVAL_SECONDS = 5;

/** The letters of a device's code. No vowels, so that no words come about, and nothing that looks like something else. */
const USER_CODE_LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const DEVICE_CODE_LABEL = 'device code';

const MAX_WRONG_CODES_PER_HOUR = 10;

/** Issues a user code and a device code to a client without a browser (RFC 8628). */
export async function beginDevice(
  ctx: Context,
  sent: { clientId: string; scope: string | undefined; resource: string | undefined },
) {
  const client = await findClient(ctx, sent.clientId);
  if (!client) throw invalidClient();
  const scopes = parseScopes(sent.scope);
  const resource = findResource(ctx, sent.resource);
  const letters = Array.from({ length: 8 }, () => USER_CODE_LETTERS[randomBelow(USER_CODE_LETTERS.length)]).join('');
  const deviceCode = newSecretToken();
  const now = ctx.now();
  await commit(ctx.db, {
    device: insertDevice(ctx.db, {
      digest: await sha256Hex(deviceCode),
      userCodeDigest: await keyedDigest(ctx.config.ENCRYPTION_KEYS, DEVICE_CODE_LABEL, letters),
      clientId: client.id,
      scopes,
      resource,
      interval: INTERVAL_SECONDS,
      pollableAt: now,
      expiresAt: now + DEVICE_SECONDS * 1000,
      deniedAt: null,
    }),
  });
  return {
    deviceCode,
    userCode: `${letters.slice(0, 4)}-${letters.slice(4)}`,
    expiresIn: DEVICE_SECONDS,
    interval: INTERVAL_SECONDS,
  };
}

/**
 * Returns the consent request of the device whose user code the caller has typed. After ten wrong codes within an hour, from
 * the user or from their network, further ones are rejected.
 */
export function findDeviceRequest(ctx: UserContext, typed: string): Promise<AskedView> {
  const { companyId, id } = ctx.actor;
  const guess = { wrong: wrongUserCode, maxWrong: MAX_WRONG_CODES_PER_HOUR, windowMs: HOUR_MS };
  return attempt(ctx, { ...guess, name: `device-code:${companyId}:${id}` }, () =>
    attempt(ctx, { ...guess, name: `device-code:${getCallerNetwork(ctx)}` }, () => readDeviceRequest(ctx, typed)),
  );
}

async function readDeviceRequest(ctx: UserContext, typed: string): Promise<AskedView> {
  const letters = typed.toUpperCase().replaceAll(/[^A-Z]/g, '');
  const digests = await keyedDigests(ctx.config.ENCRYPTION_KEYS, DEVICE_CODE_LABEL, letters);
  const [device] = await selectWaitingDevice(ctx.db, digests, ctx.now());
  const client = device && (await findClient(ctx, device.clientId));
  // One of another company's is for its people only: here it is as if it were not there.
  if (!client || (client.companyId !== null && client.companyId !== ctx.actor.companyId)) throw wrongUserCode();
  const { digest, expiresAt, scopes, resource } = device;
  return viewRequest(ctx, {
    ...makeConsentRequest(client, findClientHost(client), scopes, resource),
    jti: digest,
    redirect: null,
    device: { digest, expires_at: expiresAt },
  });
}
