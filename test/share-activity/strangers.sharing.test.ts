import { describe, expect, it, vi } from 'vitest';
import { createEmbedClient, createEmbedToken } from '../embeds/support.ts';
import { createShareContext, readPortalCode, requestCode, verifyCode } from '../share-portal/support.ts';
import { createSalesDashboard, createShare, createShareClient } from '../shares/support.ts';
import { callApi } from '../support/api.ts';
import { advanceClock } from '../support/clock.ts';
import { createOwnedCompany } from '../support/companies.ts';

const EVENTS_PATH = '/api/v1/share-events';
const FOREIGN_ORIGIN = 'https://evil.test';

let createdCount = 0;
const company = await createOwnedCompany();
const dashboard = (await createSalesDashboard(company)).dashboard._id;

interface EventRecord {
  id: string;
  type: string;
  actor: { kind: string; id: string | null; email: string | null };
  share_id: string | null;
  details: Record<string, unknown>;
}

/** Returns all stored events, once the latest events have passed through the queue too. */
async function listAllEvents(): Promise<EventRecord[]> {
  createdCount += 1;
  const { id } = await createShareContext(company);
  await company.as.put(`/api/v1/share-contexts/${id}`, { json: { name: `Last ${createdCount}` } });
  return vi.waitFor(
    async () => {
      const { body } = await company.as.get(`${EVENTS_PATH}?per_page=100`);
      const isLastEvent = (event: { share_context_id: string; type: string }) => event.share_context_id === id;
      expect(body.records.filter(isLastEvent)).toHaveLength(2);
      return body.records;
    },
    { timeout: 10_000, interval: 250 },
  );
}
const listEventsSince = async (eventsBefore: EventRecord[]) => {
  const knownIds = new Set(eventsBefore.map(({ id }) => id));
  return (await listAllEvents()).filter(({ id, type }) => !knownIds.has(id) && !type.startsWith('context.'));
};
const repeatTimes = (count: number, work: () => Promise<unknown>) => Promise.all(Array.from({ length: count }, work));

describe('requests of unknown clients', () => {
  it('leave no event for unknown addresses, malformed tokens and preflights', async () => {
    const share = await createShare(company, dashboard, {
      embed_options: { allowed_origins: ['https://partner.test'] },
    });
    const embed = await createEmbedToken(company, 'dashboards', dashboard, {
      allowed_origins: ['https://partner.test'],
    });
    const eventsBefore = await listAllEvents();
    const sendPreflight = (path: string) =>
      callApi('OPTIONS', path, { headers: { origin: FOREIGN_ORIGIN, 'access-control-request-method': 'POST' } });
    await repeatTimes(5, () => requestCode(company, 'stranger@x.test'));
    await repeatTimes(5, () => verifyCode(company, 'stranger@x.test', '1234-5678'));
    await repeatTimes(5, () => createShareClient('A'.repeat(43)).execute());
    await repeatTimes(5, () => createEmbedClient('d', `${embed.slice(0, -6)}AAAAAA`).execute());
    await repeatTimes(5, () => sendPreflight(`/api/v1/public/shares/${share.token}/execute`));
    await repeatTimes(5, () => sendPreflight(`/api/embed/d/${embed}/execute`));
    expect(await listEventsSince(eventsBefore)).toEqual([]);
  });

  it('leave one refusal event a minute if their token has expired or been revoked', async () => {
    const share = await createShare(company, dashboard);
    await company.as.delete(`/api/v1/dashboard-shares/${share.id}`);
    const embed = await createEmbedToken(company, 'dashboards', dashboard, { expires_in: 60 });
    const eventsBefore = await listAllEvents();
    // The beginning of a minute, so that no other begins meanwhile.
    advanceClock(2 * 60_000 - (Date.now() % 60_000));
    await repeatTimes(10, () => createShareClient(share.token).execute());
    await repeatTimes(10, () => createEmbedClient('d', embed).execute());
    const storedEvents = (await listEventsSince(eventsBefore)).map(({ type, details }) => [type, details.reason]);
    expect(storedEvents.toSorted()).toEqual([
      ['embed.denied', 'token.invalid'],
      ['share.denied', 'token.invalid'],
    ]);
    advanceClock(3 * 60_000 - (Date.now() % 60_000));
    await createShareClient(share.token).execute();
    expect(await listEventsSince(eventsBefore)).toHaveLength(3);
  });

  it('leave an anonymous event for each code and counted attempt at the address of a member', async () => {
    const email = 'ana@partner.test';
    await createShareContext(company, [], [email]);
    const eventsBefore = await listAllEvents();
    advanceClock(2 * 60_000 - (Date.now() % 60_000));
    for (let requestCount = 0; requestCount < 8; requestCount++) await requestCode(company, email);
    const code = readPortalCode(email);
    const wrongCode = code === '0000-0000' ? '0000-0001' : '0000-0000';
    await repeatTimes(12, () => verifyCode(company, email, wrongCode));
    const storedEvents = (await listEventsSince(eventsBefore)).filter(({ actor }) => actor.email === email);
    const counts = Object.groupBy(storedEvents, ({ type }) => type);
    // Five codes an hour, five tries of a code, and one event for all tries without a code.
    expect([counts['auth.code_requested']?.length, counts['auth.failed']?.length]).toEqual([5, 6]);
    for (const { actor } of storedEvents)
      if (actor.kind !== 'user') expect(actor).toEqual({ kind: 'anonymous', id: null, email });
  });
});

it('requests with a valid token leave an event for each refusal, with the token of the request', async () => {
  const share = await createShare(company, dashboard);
  const eventsBefore = await listAllEvents();
  for (let round = 0; round < 3; round++) await createShareClient(share.token).execute({ least: 1 });
  const storedEvents = await listEventsSince(eventsBefore);
  expect(storedEvents.map(({ type, share_id }) => [type, share_id])).toEqual(Array(3).fill(['share.denied', share.id]));
});
