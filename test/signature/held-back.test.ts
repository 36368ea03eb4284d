import { afterEach, beforeAll, expect, it } from 'vitest';
import { type ApiResponse, call } from '../support/api.ts';
import { advanceClock, resetClock } from '../support/clock.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { signRequest, type WireRequest } from './support.ts';

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});
afterEach(resetClock);

const MINUTE = 60_000;

/** Sends a request whose headers come now and whose body comes `ms` later. */
function sendHeldBack({ method, path, headers, body }: WireRequest, ms: number): Promise<ApiResponse> {
  const bytes = new TextEncoder().encode(body);
  const held = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        advanceClock(ms);
        controller.enqueue(bytes);
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return call(method, path, {
    headers: { ...Object.fromEntries(headers), 'content-length': String(bytes.length) },
    body: held,
  });
}

const makeGroupInput = (name: string) =>
  signRequest(company.apiKey, { method: 'POST', path: '/groups', body: JSON.stringify({ name }) });

it('a request whose body arrives late is accepted while its date is valid', async () => {
  expect((await sendHeldBack(await makeGroupInput('In time'), 4 * MINUTE)).status).toBe(201);
});

it('a request whose body arrives late is refused once its date has expired', async () => {
  const { status, body } = await sendHeldBack(await makeGroupInput('Too late'), 6 * MINUTE);
  expect([status, body.details?.reason]).toEqual([401, 'clock_skew']);
});

it('a request whose body arrives late is refused for its date before its key is looked up', async () => {
  const wire = await makeGroupInput('Nobody');
  wire.headers.set('authorization', `HMAC sa_nobody:${'0'.repeat(64)}`);
  expect((await sendHeldBack(wire, 0)).body.details.reason).toBe('unknown_key');
  expect((await sendHeldBack(wire, 6 * MINUTE)).body.details.reason).toBe('clock_skew');
});

it('a request is accepted once, however late the body of its copy arrives', async () => {
  const wire = await makeGroupInput('Only once');
  expect((await sendHeldBack(wire, 0)).status).toBe(201);
  for (const minutes of [1, 4, 6, 21, 60]) {
    resetClock();
    expect((await sendHeldBack(wire, minutes * MINUTE)).status).toBe(401);
  }
});
