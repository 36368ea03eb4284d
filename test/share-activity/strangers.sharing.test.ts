import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createEmbed, makeEmbedRoutes } from '../embeds/support.ts';
import { aContext, portalCodeOf, requestCode, verifyCode } from '../share-portal/support.ts';
import { aSalesDashboard, aShare, linkOf } from '../shares/support.ts';
import { call } from '../support/api.ts';
import { advanceClock, resetClock } from '../support/clock.ts';
import { aCompany, type Company } from '../support/worlds.ts';

const EVENTS_PATH = '/api/v1/share-events';
const FOREIGN = 'https://evil.test';

let company: Company;
let dashboard: string;
let createdCount = 0;
beforeAll(async () => {
  company = await aCompany();
  dashboard = (await aSalesDashboard(company)).dashboard._id;
});
afterEach(resetClock);

interface Event {
  id: string;
  type: string;
  actor: { kind: string; id: string | null; email: string | null };
  share_id: string | null;
  details: Record<string, unknown>;
}

/** All events there are, once what happens now has come through the queue too. */
async function allEvents(): Promise<Event[]> {
  createdCount += 1;
  const { id } = await aContext(company);
  await company.as.put(`/api/v1/share-contexts/${id}`, { json: { name: `Last ${createdCount}` } });
  return vi.waitFor(
    async () => {
      const { body } = await company.as.get(`${EVENTS_PATH}?per_page=100`);
      const last = (event: { share_context_id: string; type: string }) => event.share_context_id === id;
      expect(body.records.filter(last)).toHaveLength(2);
      return body.records;
    },
    { timeout: 10_000, interval: 250 },
  );
}
const since = async (before: Event[]) => {
  const known = new Set(before.map(({ id }) => id));
  return (await allEvents()).filter(({ id, type }) => !known.has(id) && !type.startsWith('context.'));
};
const times = (count: number, work: () => Promise<unknown>) => Promise.all(Array.from({ length: count }, work));

describe('requests of unknown clients', () => {
  it('leave no event for unknown addresses, malformed tokens and preflights', async () => {
    const share = await aShare(company, dashboard, { embed_options: { allowed_origins: ['https://partner.test'] } });
    const embed = await createEmbed(company, 'dashboards', dashboard, { allowed_origins: ['https://partner.test'] });
    const before = await allEvents();
    const preflight = (path: string) =>
      call('OPTIONS', path, { headers: { origin: FOREIGN, 'access-control-request-method': 'POST' } });
    await times(5, () => requestCode(company, 'stranger@x.test'));
    await times(5, () => verifyCode(company, 'stranger@x.test', '1234-5678'));
    await times(5, () => linkOf('A'.repeat(43)).execute());
    await times(5, () => makeEmbedRoutes('d', `${embed.slice(0, -6)}AAAAAA`).execute());
    await times(5, () => preflight(`/api/v1/public/shares/${share.token}/execute`));
    await times(5, () => preflight(`/api/embed/d/${embed}/execute`));
    expect(await since(before)).toEqual([]);
  });

  it('leave one refusal event a minute if their token has ended', async () => {
    const share = await aShare(company, dashboard);
    await company.as.delete(`/api/v1/dashboard-shares/${share.id}`);
    const embed = await createEmbed(company, 'dashboards', dashboard, { expires_in: 60 });
    const before = await allEvents();
    // The beginning of a minute, so that no other begins meanwhile.
    advanceClock(2 * 60_000 - (Date.now() % 60_000));
    await times(10, () => linkOf(share.token).execute());
    await times(10, () => makeEmbedRoutes('d', embed).execute());
    const kept = (await since(before)).map(({ type, details }) => [type, details.reason]);
    expect(kept.toSorted()).toEqual([
      ['embed.denied', 'token.invalid'],
      ['share.denied', 'token.invalid'],
    ]);
    advanceClock(3 * 60_000 - (Date.now() % 60_000));
    await linkOf(share.token).execute();
    expect(await since(before)).toHaveLength(3);
  });

  it('leave an anonymous event for each code and counted attempt at the address of a member', async () => {
    const email = 'ana@partner.test';
    await aContext(company, [], [email]);
    const before = await allEvents();
    advanceClock(2 * 60_000 - (Date.now() % 60_000));
    for (let asked = 0; asked < 8; asked++) await requestCode(company, email);
    const code = portalCodeOf(email);
    const wrong = code === '0000-0000' ? '0000-0001' : '0000-0000';
    await times(12, () => verifyCode(company, email, wrong));
    const kept = (await since(before)).filter(({ actor }) => actor.email === email);
    const counts = Object.groupBy(kept, ({ type }) => type);
    // Five codes an hour, five tries of a code, and one event for all tries without a code.
    expect([counts['auth.code_requested']?.length, counts['auth.failed']?.length]).toEqual([5, 6]);
    for (const { actor } of kept)
      if (actor.kind !== 'user') expect(actor).toEqual({ kind: 'anonymous', id: null, email });
  });
});

describe('requests with a valid token', () => {
  it('leave an event for each refusal, with the token of the request', async () => {
    const share = await aShare(company, dashboard);
    const before = await allEvents();
    for (let round = 0; round < 3; round++) await linkOf(share.token).execute({ least: 1 });
    const kept = await since(before);
    expect(kept.map(({ type, share_id }) => [type, share_id])).toEqual(Array(3).fill(['share.denied', share.id]));
  });
});
