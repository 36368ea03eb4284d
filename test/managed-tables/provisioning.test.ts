import { env } from 'cloudflare:test';
import { describe, expect, inject, it } from 'vitest';
import type { NeonFault } from '../../local/neon/faults.ts';
import { openControlDb } from '../../src/db/client.ts';
import { ensureDatabase, takeLease } from '../../src/modules/managed-database/store.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { countRows, runSql, selectRow, sendDuringRace } from '../support/race.ts';
import { createTable, makeColumn } from './support.ts';

const PROVISION_PATH = '/v1/managed-tables/provision';

const requestNeon = async (path: string) =>
  (
    await fetch(`${inject('neonApiUrl')}${path}`, { headers: { authorization: `Bearer ${inject('neonApiKey')}` } })
  ).json();

/** Lists the projects of a company in the local Neon. */
async function listProjects(companyId: string): Promise<{ id: string }[]> {
  const query = `search=console-${companyId}&org_id=${inject('neonOrganization')}`;
  const { projects } = (await requestNeon(`/projects?${query}`)) as { projects: { id: string }[] };
  return projects;
}

/** Sets a fault for the local Neon's next calls that concern a company. */
async function setFault(fault: NeonFault): Promise<void> {
  const url = new URL('/_test/faults', inject('neonApiUrl'));
  expect((await fetch(url, { method: 'POST', body: JSON.stringify(fault) })).status).toBe(200);
}

describe('the provisioning of a company’s database', () => {
  it('is required before a table can be created, and until then no table is found', async () => {
    const { as } = await createOwnedCompany();
    expect((await as.get('/v1/managed-tables/status')).body).toStrictEqual({ provisioned: false, connection_id: null });
    expect((await as.get('/v1/managed-tables')).body).toStrictEqual({ total: 0, quantity: 0, records: [] });
    const id = 'a'.repeat(24);
    for (const answer of [
      await as.get(`/v1/managed-tables/${id}`),
      await as.get(`/v1/managed-tables/${id}/data`),
      await as.delete(`/v1/managed-tables/${id}`),
      await as.post(`/v1/managed-tables/${id}/truncate`),
    ]) {
      expect(answer.status).toBe(404);
      expect(answer.body.error).toBe('Tabela não encontrada.');
    }
    const created = await as.post('/v1/managed-tables', {
      json: { display_name: 'sales', columns: [makeColumn('a')] },
    });
    expect(created.status).toBe(400);
    expect(created.body.error_code).toBe('MANAGED_DATABASE_NOT_PROVISIONED');
    expect(created.body.error).toMatch(/não está provisionado/);
  });

  it('creates one database when five calls come at once, and returns the same from then on', async () => {
    const company = await createOwnedCompany();
    // In whatever order they come: those that decide are brought about below.
    const answers = await Promise.all(Array.from({ length: 5 }, () => company.as.post(PROVISION_PATH)));
    const ids = new Set(answers.map(({ body }) => body.connection_id));
    expect(answers.map(({ status }) => status)).toStrictEqual([200, 200, 200, 200, 200]);
    expect(ids.size).toBe(1);
    expect([...ids][0]).toMatch(/^[a-f0-9]{24}$/);
    expect(await listProjects(company.id)).toHaveLength(1);

    const [made] = await listProjects(company.id);
    expect(await requestNeon(`/projects/${made?.id}`)).toMatchObject({
      project: {
        history_retention_seconds: 7 * 24 * 60 * 60,
        default_endpoint_settings: { autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 2 },
      },
    });

    const status = await company.as.get('/v1/managed-tables/status');
    expect(status.body).toStrictEqual({ provisioned: true, connection_id: [...ids][0] });
    expect((await company.as.post(PROVISION_PATH)).body).toStrictEqual(status.body);
  });

  it('has one record for a company, however many calls insert it', async () => {
    const { id: companyId } = await createOwnedCompany();
    const insertRecord = (id: string) => ensureDatabase(openControlDb(env.CONTROL_DB), { id, companyId, now: 1 });
    await insertRecord('a'.repeat(24));
    await insertRecord('b'.repeat(24));
    expect(await countRows('managed_databases where company_id = ?', companyId)).toBe(1);
  });

  it('creates nothing when another call creates the database first', async () => {
    const company = await createOwnedCompany();
    const provisionCompany = (env: Record<string, string> = {}) => company.as.post(PROVISION_PATH, { env });
    const first: unknown[] = [];
    const answer = await sendDuringRace(
      /^insert into "managed_databases"/,
      async () => first.push((await provisionCompany()).body),
      provisionCompany,
    );
    expect([answer.status, [answer.body]]).toStrictEqual([200, first]);
    expect(await listProjects(company.id)).toHaveLength(1);
    expect(await countRows('managed_databases where company_id = ?', company.id)).toBe(1);
  });

  it('does not let another call take its lease until it ends', async () => {
    const company = await createOwnedCompany();
    const leaseResults: boolean[] = [];
    const tryLease = async () => {
      const now = Date.now();
      const db = openControlDb(env.CONTROL_DB);
      leaseResults.push(await takeLease(db, company.id, { token: 'of another', now, leaseUntil: now + 60_000 }));
    };
    const answer = await sendDuringRace(/"neon_project_id" = \?/, tryLease, (env) =>
      company.as.post(PROVISION_PATH, { env }),
    );
    expect([answer.status, leaseResults]).toStrictEqual([200, [false]]);
    await tryLease();
    expect(leaseResults).toStrictEqual([false, true]);
  });

  it('records nothing, and does not release the lease, when another call has taken over', async () => {
    const company = await createOwnedCompany();
    const takeOverLease = () =>
      runSql("UPDATE managed_databases SET lease_token = 'of another' WHERE company_id = ?", company.id);
    const answer = await sendDuringRace(/"neon_project_id" = \?/, takeOverLease, (env) =>
      company.as.post(PROVISION_PATH, { env }),
    );
    expect(answer.status).toBe(503);
    expect(
      await selectRow('SELECT status, lease_token FROM managed_databases WHERE company_id = ?', company.id),
    ).toStrictEqual({ status: 'provisioning', lease_token: 'of another' });
  });

  it('continues after a crash between creating the database and recording it', async () => {
    const company = await createOwnedCompany();
    const first = await company.as.post(PROVISION_PATH);
    // What such a crash leaves: the project is there, the record knows nothing of it, the lease has run out.
    await runSql(
      `UPDATE managed_databases SET status = 'provisioning', neon_project_id = NULL, owner_connection = NULL,
         readonly_connection = NULL, lease_token = 'of the dead', lease_until = 1 WHERE company_id = ?`,
      company.id,
    );
    expect((await company.as.get('/v1/managed-tables/status')).body.provisioned).toBe(false);
    const selectPassword = () =>
      selectRow('SELECT reader_password FROM managed_databases WHERE company_id = ?', company.id);
    const storedPassword = await selectPassword();
    const secondAnswer = await company.as.post(PROVISION_PATH);
    // The call that crashed may be alive still, and set it once more.
    expect(await selectPassword()).toStrictEqual(storedPassword);
    expect(secondAnswer.body).toStrictEqual(first.body);
    expect(await listProjects(company.id)).toHaveLength(1);
    await createTable(company.as, 'works', [makeColumn('a')]);
  });

  it('answers 503 in Portuguese while Neon fails, and succeeds afterwards', async () => {
    const company = await createOwnedCompany();
    await setFault({ call: 'create_project', project_name: `console-${company.id}`, status: 400 });
    const refusedAnswer = await company.as.post(PROVISION_PATH);
    expect(refusedAnswer.status).toBe(503);
    expect(refusedAnswer.body.error).toMatch(/banco de dados/);
    expect((await company.as.post(PROVISION_PATH)).status).toBe(200);
    expect(await listProjects(company.id)).toHaveLength(1);
  });

  it('stores connection strings encrypted', async () => {
    const company = await createOwnedCompany();
    await company.as.post(PROVISION_PATH);
    const row = await selectRow('SELECT * FROM managed_databases WHERE company_id = ?', company.id);
    expect(row?.owner_connection).toMatch(/^v1:/);
    expect(JSON.stringify(row)).not.toMatch(/postgres(ql)?:\/\//);
  });

  it('cannot decrypt the connection string of another company', async () => {
    const [mine, theirs] = [await createOwnedCompany(), await createOwnedCompany()];
    for (const { as } of [mine, theirs]) await as.post(PROVISION_PATH);
    await runSql(
      `UPDATE managed_databases SET owner_connection = (SELECT owner_connection FROM managed_databases WHERE company_id = ?)
       WHERE company_id = ?`,
      theirs.id,
      mine.id,
    );
    expect((await mine.as.get('/v1/managed-tables')).status).toBe(500);
  });
});
