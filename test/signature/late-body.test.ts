import { expect, it } from 'vitest';
import { type ApiResponse, callApi } from '../support/api.ts';
import { advanceClock, resetClock } from '../support/clock.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { signRequest, type WireRequest } from './support.ts';

const company = await createOwnedCompany();

const MINUTE_MS = 60_000;

/** Sends a request whose headers are sent now and whose body is sent `ms` later. */
function sendDelayedBody({ method, path, headers, body }: WireRequest, ms: number): Promise<ApiResponse> {
  const bytes = new TextEncoder().encode(body);
  const delayedBody = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        advanceClock(ms);
        controller.enqueue(bytes);
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return callApi(method, path, {
    headers: { ...Object.fromEntries(headers), 'content-length': String(bytes.length) },
    body: delayedBody,
  });
}

const makeGroupInput = (name: string) =>
  signRequest(company.apiKey, { method: 'POST', path: '/groups', body: JSON.stringify({ name }) });

it('a request whose body arrives late is accepted while its date is valid', async () => {
  expect((await sendDelayedBody(await makeGroupInput('In time'), 4 * MINUTE_MS)).status).toBe(201);
});

it('a request whose body arrives late is refused once its date has expired', async () => {
  const { status, body } = await sendDelayedBody(await makeGroupInput('Too late'), 6 * MINUTE_MS);
  expect([status, body.details?.reason]).toEqual([401, 'clock_skew']);
});

it('a request whose body arrives late is refused for its date before its key is looked up', async () => {
  const signedRequest = await makeGroupInput('Nobody');
  signedRequest.headers.set('authorization', `HMAC sa_nobody:${'0'.repeat(64)}`);
  expect((await sendDelayedBody(signedRequest, 0)).body.details.reason).toBe('unknown_key');
  expect((await sendDelayedBody(signedRequest, 6 * MINUTE_MS)).body.details.reason).toBe('clock_skew');
});

it('a request is accepted once, however late the body of its copy arrives', async () => {
  const signedRequest = await makeGroupInput('Only once');
  expect((await sendDelayedBody(signedRequest, 0)).status).toBe(201);
  for (const minutes of [1, 4, 6, 21, 60]) {
    resetClock();
    expect((await sendDelayedBody(signedRequest, minutes * MINUTE_MS)).status).toBe(401);
  }
});
