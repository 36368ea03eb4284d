import { env } from 'cloudflare:test';
import { Hono } from 'hono';
import { beforeEach, describe, expect, it } from 'vitest';
import { makeVectors } from '../../examples/signing/make-vectors.ts';
import { sign } from '../../examples/signing/sign.ts';
import type { Vectors } from '../../examples/signing/vectors/vector.ts';
import vectors from '../../examples/signing/vectors.json' with { type: 'json' };
import type { PresentedCredential } from '../../src/access/known-principals.ts';
import { openContext } from '../../src/context.ts';
import { type HttpEnv, readOrigin } from '../../src/http/mount.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { deriveSecret } from '../../src/modules/service-accounts/keys.ts';
import { authenticateSignature } from '../../src/modules/service-accounts/signature.ts';
import { computeSha256Hex } from '../../src/platform/secrets.ts';
import { callApi } from '../support/api.ts';
import { stopClockAt } from '../support/clock.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { alterRows } from './support.ts';

const { key, now, valid, invalid } = vectors as unknown as Vectors;

/** The master secret from which, with `SECRET_SALT`, the secret of the test vectors is derived. */
const MASTER_SECRET = 'master secret of the test vectors, 1';
/** The salt from which, with `MASTER_SECRET`, the secret of the test vectors is derived. */
const SECRET_SALT = 'salt-of-the-vectors-00';
const DERIVATION_VERSION = 7;

/** An app that only authenticates signed requests: it answers who signed the request, or why it is refused. */
const vectorApp = new Hono<HttpEnv>().all('*', async (c) => {
  c.set('facts', { route: null, owner: null } as never);
  const { context } = openContext(readOrigin(c), { kind: 'anonymous' });
  try {
    const presentedCredential = (await authenticateSignature(context, c.req)) as PresentedCredential;
    const { actor } = await presentedCredential.readPrincipal();
    return c.json({ serviceAccountId: actor.id, nonce: presentedCredential.nonce });
  } catch (error) {
    if (error instanceof Failure) return c.json({ kind: error.kind, ...error.detail }, 401);
    throw error;
  }
});

const bindings = { ...env, KEY_DERIVATION_SECRETS: JSON.stringify({ [DERIVATION_VERSION]: MASTER_SECRET }) };
const executionContext = { waitUntil: () => undefined, passThroughOnException: () => undefined, props: {} };

/** Parses header lines as HTTP writes them; lines of one name are joined as HTTP joins them. */
function parseHeaders(lines: string[]): Record<string, string> {
  const headers = new Headers();
  for (const line of lines) headers.append(...(line.split(/: ?(.*)/s).slice(0, 2) as [string, string]));
  return Object.fromEntries(headers);
}

async function sendVector(method: string, url: string, headers: Record<string, string>, body: string) {
  const request = new Request(url, { method, headers, ...(body !== '' && { body }) });
  const response = await vectorApp.fetch(request, bindings, executionContext as unknown as ExecutionContext);
  return { status: response.status, body: await response.json<Record<string, unknown>>() };
}

const { apiKey } = await createOwnedCompany();
const derivedSecret = await deriveSecret(MASTER_SECRET, key.access_key, SECRET_SALT);
expect(derivedSecret).toBe(key.secret_key);
await alterRows(
  'UPDATE api_keys SET access_key = ?, salt = ?, derivation_version = ?, secret_digest = ? WHERE access_key = ?',
  ...[key.access_key, SECRET_SALT, DERIVATION_VERSION, await computeSha256Hex(derivedSecret), apiKey.access_key],
);

beforeEach(() => stopClockAt(Date.parse(now)));

describe('the published test vectors', () => {
  it('are equal to the output of their generator', async () => {
    expect(await makeVectors()).toEqual(vectors);
  });

  it('have unique names', () => {
    const names = [...valid, ...invalid].map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it.each(valid)('equal what the client signs: $name', async ({ method, url, body, headers }) => {
    const dateAndNonce = { date: headers['x-date'], nonce: headers['x-nonce'] };
    expect(await sign(key, method, url, body, dateAndNonce)).toEqual(headers);
  });

  it.each(valid)('are accepted: $name', async ({ method, url, body, headers }) => {
    const answer = await sendVector(method, url, { ...headers }, body);
    expect(answer).toEqual({
      status: 200,
      body: {
        serviceAccountId: expect.any(String),
        nonce: {
          accessKey: key.access_key,
          value: headers['x-nonce'],
          goodUntil: Date.parse(headers['x-date']) + 300_000,
        },
      },
    });
  });

  it.each(invalid)('are refused: $name', async ({ method, url, body, headers, reason, string_to_sign }) => {
    const answer = await callApi(method, url.slice(new URL(url).origin.length), {
      headers: parseHeaders(headers),
      ...(body !== '' && { body }),
      env: { KEY_DERIVATION_SECRETS: bindings.KEY_DERIVATION_SECRETS },
    });
    expect(answer.status).toBe(401);
    expect(answer.body).toEqual({
      error: 'Unauthorized',
      message: expect.stringMatching(/\.$/),
      details: expect.objectContaining({ field: expect.any(String), reason }),
    });
    expect(answer.body.details.string_to_sign).toBe(string_to_sign);
  });
});
