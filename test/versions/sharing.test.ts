import { expect, it } from 'vitest';
import { must } from '../support/signed.ts';
import { aCompany } from '../support/worlds.ts';
import { aDashboard } from '../visualizations/support.ts';
import { describeVersions } from './held.ts';
import { SHARING } from './kinds.ts';

describeVersions(SHARING);

it('is of the context where its grants are replaced', async () => {
  const { as } = await aCompany();
  const path = `/api/v1/share-contexts/${(await must(as.post('/api/v1/share-contexts', { json: { name: 'Circle' } }))).id}`;
  const grants = [{ target_type: 'dashboard', target_id: (await aDashboard(as, []))._id }];
  const tag = (await as.get(path)).headers.get('etag') as string;
  const replace = () => as.put(`${path}/grants`, { json: { grants }, headers: { 'If-Match': tag } });
  expect((await replace()).status).toBe(200);
  expect((await replace()).status).toBe(412);
  await must(as.post(`${path}/members`, { json: { member_type: 'external_email', email: 'one@more.test' } }));
  const granted = (await as.get(path)).headers.get('etag');
  expect(granted).not.toBe(tag);
  await must(as.post(`${path}/members`, { json: { member_type: 'external_email', email: 'and@another.test' } }));
  expect((await as.get(path)).headers.get('etag')).toBe(granted);
});
