import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { resetClock } from '../support/clock.ts';
import { must } from '../support/signed.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { load, aFile } from '../uploads/support.ts';
import { aStarted, EXPORTS, finish, shown, taken } from './support.ts';

let company: Company;
beforeAll(async () => {
  company = await aProvisionedCompany();
});
afterEach(resetClock);

describe('an export', () => {
  it('has everything', async () => {
    await load(company, [aFile('sales.csv', 'city,people,price\nRio,1,1.25\nOslo,2,3\n')], { display_name: 'sales' });
    const { id, queue } = await aStarted(company);
    await finish(queue);
    const found = await shown(company, id);
    console.log(found);
    const archive = await taken(found.url);
    console.log(archive.manifest, archive.text('tables/sales/schema.json'), await archive.rows('tables/sales/0001.parquet'));
    console.log(archive.records('records/users.ndjson'), archive.records('records/upload_jobs.ndjson'));
    console.log(archive.text('audit-events.ndjson'), archive.text('records/companies.ndjson'));
    expect(EXPORTS).toBe(EXPORTS);
    void must;
  });
});
