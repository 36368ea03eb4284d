import { afterAll, beforeAll, expect, it } from 'vitest';
import { type System, startSystem } from '../../bench/system.ts';
import { type Client, createClient, type Key, withKey, withToken } from '../../client/client.ts';

let system: System;
beforeAll(async () => {
  system = await startSystem(undefined, {}, 'local/limits/background.ts');
}, 180_000);
afterAll(() => system?.stop(), 180_000);

/**
 * Publishes SQL as a Data API endpoint.
 * @returns functions that begin a job of the endpoint, and read a job's status
 */
async function publishEndpoint(person: Client, key: Key, sql: string) {
  const { _id } = await person.post('/v1/visualizations', { body: { name: 'Published', sql } });
  const body = { name: 'Published', slug: 'published', visualization_id: _id };
  await person.post('/v1/viz-api-endpoints', { body });
  const keyClient = createClient({ baseUrl: system.baseUrl, credential: withKey(key) });
  const params = { slug: body.slug };
  return {
    begin: async () => (await keyClient.post('/data/{slug}/jobs', { params, body: {} })).job_id,
    statusOf: async (id: string) => (await keyClient.get('/data/jobs/{job_id}', { params: { job_id: id } })).status,
  };
}

it('jobs of one company do not hold up those of another, though a queue hands over one message after another', async () => {
  const { baseUrl } = system;
  const owner = { email: 'owner@other.test', name: 'Other', password: 'correct-horse-battery' };
  const operator = createClient({ baseUrl, credential: withToken(system.operatorToken) });
  const { api_key } = await operator.post('/admin/organizations', { body: { name: 'Other', slug: 'other', owner } });
  const signIn = async (email: string, company_slug: string) => {
    const login = { company_slug, email, password: owner.password };
    const answer = await createClient({ baseUrl }).post('/v1/auth/login', { body: login });
    return createClient({ baseUrl, credential: withToken((answer as { token: string }).token) });
  };
  const other = await signIn(owner.email, 'other');
  await other.post('/v1/managed-tables/provision');
  const fastEndpoint = await publishEndpoint(other, api_key, 'SELECT 1 AS one');
  const busyClient = await signIn(system.owner.email, system.owner.company_slug);
  const slowEndpoint = await publishEndpoint(
    busyClient,
    system.serviceAccountKey,
    'SELECT pg_sleep(60)::text AS slept',
  );

  const running = [await slowEndpoint.begin(), await slowEndpoint.begin(), await slowEndpoint.begin()];
  const statuses = async () => Promise.all(running.map(slowEndpoint.statusOf));
  await expect
    .poll(async () => (await statuses()).toSorted(), { timeout: 30_000 })
    .toEqual(['queued', 'running', 'running']);
  const id = await fastEndpoint.begin();
  await expect.poll(() => fastEndpoint.statusOf(id), { timeout: 30_000 }).toBe('succeeded');
  expect((await statuses()).toSorted()).toEqual(['queued', 'running', 'running']);
}, 120_000);
