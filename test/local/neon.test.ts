import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { neon as driver, neonConfig } from '@neondatabase/serverless';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalNeon, startLocalNeon } from '../../local/neon/server.ts';
import { type LocalPostgres, startPostgres } from '../../local/postgres.ts';
import { buildNeonApi, type NeonApi } from '../../src/platform/neon.ts';
import { openTenantSql } from '../../src/tenant-sql/client.ts';

describe('the local Neon', () => {
  const apiKey = 'key-of-a-person';
  const organizationKey = 'key-of-the-organization';
  const projectInput = { name: 'project-a', database: 'database_a', role: 'role_a' };
  const getDeadline = () => Date.now() + 10_000;
  let folder: string;
  let postgres: LocalPostgres;
  let neon: LocalNeon;
  let api: NeonApi;

  async function openNeon(): Promise<void> {
    neon = await startLocalNeon({
      stateDir: join(folder, 'neon'),
      apiKey,
      organizationKey,
      plan: 'launch',
      postgres,
    });
    api = buildNeonApi({ apiUrl: neon.apiUrl, apiKey, organization: neon.organization });
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'data-console-test-'));
    postgres = await startPostgres({ stateDir: join(folder, 'postgres'), password: 'secret', isThrowaway: true });
    await openNeon();
  });
  afterAll(async () => {
    await neon?.close();
    await postgres?.stop();
    for (const path of [folder, ...(postgres?.folders ?? [])]) await rm(path, { recursive: true, force: true });
  });

  async function request(method: string, path: string, headers: Record<string, string> = {}): Promise<Response> {
    return await fetch(`${neon.apiUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, ...headers },
    });
  }

  it('closes no idle connection, which a client could be about to use', async () => {
    expect((await request('GET', '/projects')).headers.get('keep-alive')).toBeNull();
  });

  it('keeps projects, their connection strings and their databases over a restart', async () => {
    const id = await api.createProject(projectInput, getDeadline());
    const url = await api.getConnectionString(id, projectInput.database, projectInput.role, getDeadline());
    await neon.close();
    await openNeon();
    expect(await api.findProject(projectInput.name, getDeadline())).toBe(id);
    expect(await api.getConnectionString(id, projectInput.database, projectInput.role, getDeadline())).toBe(url);
    const sql = openTenantSql(url, { wsProxy: neon.wsProxy });
    try {
      expect(await sql.query('SELECT current_database() AS db')).toEqual([{ db: projectInput.database }]);
    } finally {
      await sql.close();
    }
  });

  it('runs statements over HTTP as the driver sends them, and several as one transaction', async () => {
    const id = (await api.findProject(projectInput.name, getDeadline())) as string;
    const url = await api.getConnectionString(id, projectInput.database, projectInput.role, getDeadline());
    neonConfig.fetchEndpoint = () => neon.sqlUrl;
    const sql = driver(url);
    expect(await sql`SELECT ${7}::int AS seven, ${'a'} AS a, NULL AS nothing, true AS yes`).toEqual([
      { seven: 7, a: 'a', nothing: null, yes: true },
    ]);
    await expect(sql`SELECT 1/0`).rejects.toMatchObject({ code: '22012' });
    await sql`CREATE TABLE kept (n int)`;
    await expect(sql.transaction([sql`INSERT INTO kept VALUES (1)`, sql`SELECT 1/0`])).rejects.toThrow();
    await sql.transaction([sql`INSERT INTO kept VALUES (2)`], { isolationLevel: 'Serializable' });
    expect(await sql`SELECT n FROM kept`).toEqual([{ n: 2 }]);
    await expect(driver(url.replace(/@[^/:]+/, '@elsewhere.neon.tech'))`SELECT 1`).rejects.toThrow();
  });

  it('creates owners that are not superusers, as Neon does', async () => {
    const directClient = new Client({ connectionString: neon.directUrl(projectInput.name) });
    await directClient.connect();
    try {
      const { rows } = await directClient.query(
        `SELECT rolsuper, rolcreaterole, pg_has_role(current_user, 'neon_superuser', 'MEMBER') AS member
         FROM pg_roles WHERE rolname = current_user`,
      );
      expect(rows).toEqual([{ rolsuper: false, rolcreaterole: true, member: true }]);
    } finally {
      await directClient.end();
    }
  });

  it('refuses wrong keys, unknown projects and taken names, as Neon does', async () => {
    expect((await request('GET', '/projects', { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await request('GET', '/projects', { authorization: '' })).status).toBe(401);
    expect((await request('GET', '/projects/none')).status).toBe(404);
    expect((await request('GET', '/elsewhere')).status).toBe(404);
    await expect(api.createProject(projectInput, getDeadline())).rejects.toThrow('409');
  });

  it('refuses an upgrade at an address that is none', async () => {
    const { hostname, port } = new URL(neon.apiUrl);
    const headers = { connection: 'Upgrade', upgrade: 'websocket' };
    const upgrade = httpRequest({ hostname, port, path: '//', headers }).end();
    const [{ statusCode }] = await once(upgrade, 'response');
    expect(statusCode).toBe(404);
  });

  const other = { name: 'project-o', database: 'database_o', role: 'role_o' };

  it('needs org_id with a personal key, but not with a key of the organization', async () => {
    const { apiUrl, organization } = neon;
    const personalApi = buildNeonApi({ apiUrl, apiKey });
    const requiredError = '400 org_id is required, you can find it on your organization settings page';
    await expect(personalApi.findProject(projectInput.name, getDeadline())).rejects.toThrow(requiredError);
    await expect(personalApi.createProject(other, getDeadline())).rejects.toThrow(requiredError);
    const foreignApi = buildNeonApi({ apiUrl, apiKey, organization: 'org-of-others' });
    await expect(foreignApi.findProject(projectInput.name, getDeadline())).rejects.toThrow('404');
    await expect(foreignApi.createProject(other, getDeadline())).rejects.toThrow('404');
    for (const organizationOption of [{ organization }, {}]) {
      const organizationApi = buildNeonApi({ apiUrl, apiKey: organizationKey, ...organizationOption });
      expect(await organizationApi.findProject(projectInput.name, getDeadline())).toBe(
        await api.findProject(projectInput.name, getDeadline()),
      );
    }
  });

  it('creates projects in the region and of the size requested, within the plan', async () => {
    const { apiUrl } = neon;
    const requestedOptions = {
      region: 'aws-eu-central-1',
      historySeconds: 604_800,
      computeUnits: { min: 0.5, max: 4 },
    };
    const projectId = await buildNeonApi({ apiUrl, apiKey: organizationKey, ...requestedOptions }).createProject(
      other,
      getDeadline(),
    );
    const { project } = (await (await request('GET', `/projects/${projectId}`)).json()) as { project: object };
    expect(project).toMatchObject({
      region_id: 'aws-eu-central-1',
      history_retention_seconds: 604_800,
      default_endpoint_settings: { autoscaling_limit_min_cu: 0.5, autoscaling_limit_max_cu: 4 },
    });
    await request('DELETE', `/projects/${projectId}`);
    for (const [beyond, message] of [
      [{ region: 'aws-moon-1' }, '400 unknown region'],
      [{ historySeconds: 604_801 }, '400 history_retention_seconds'],
      [{ computeUnits: { min: 1, max: 17 } }, '400 autoscaling_limit_max_cu'],
    ] as const) {
      const organizationApi = buildNeonApi({ apiUrl, apiKey: organizationKey, ...beyond });
      await expect(organizationApi.createProject(other, getDeadline())).rejects.toThrow(message);
    }
  });

  it('has no test routes unless it is started with them', async () => {
    const faultsUrl = new URL('/_test/faults', neon.apiUrl);
    expect((await fetch(faultsUrl, { method: 'POST', body: '{}' })).status).toBe(404);
  });

  it('lists projects in pages', async () => {
    for (const letter of ['b', 'c']) {
      const names = { name: `project-${letter}`, database: `database_${letter}`, role: `role_${letter}` };
      await api.createProject(names, getDeadline());
    }
    const names: string[] = [];
    for (let cursor = ''; ; ) {
      const page = (await (
        await request('GET', `/projects?org_id=${neon.organization}&search=project-&limit=1&cursor=${cursor}`)
      ).json()) as {
        projects: { id: string; name: string }[];
        pagination?: { cursor: string };
      };
      names.push(...page.projects.map(({ name }) => name));
      if (page.pagination === undefined) break;
      cursor = page.pagination.cursor;
    }
    expect(names).toEqual(['project-c', 'project-b', 'project-a']);
  });

  it('deletes a project with its database and all its roles', async () => {
    const id = (await api.findProject(projectInput.name, getDeadline())) as string;
    const owner = new Client({ connectionString: neon.directUrl(projectInput.name) });
    await owner.connect();
    await owner.query('CREATE ROLE role_a_reader');
    await owner.end();
    expect((await request('DELETE', `/projects/${id}`)).status).toBe(200);
    expect(await api.findProject(projectInput.name, getDeadline())).toBeNull();
    const superuserClient = new Client({ connectionString: postgres.url });
    await superuserClient.connect();
    try {
      const remainingDatabases = await superuserClient.query(
        `SELECT datname AS name FROM pg_database WHERE datname = 'database_a'
         UNION ALL SELECT rolname FROM pg_roles WHERE rolname LIKE 'role\\_a%'`,
      );
      expect(remainingDatabases.rows).toEqual([]);
    } finally {
      await superuserClient.end();
    }
  });
});
