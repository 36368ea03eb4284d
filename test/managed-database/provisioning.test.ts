import { describe, expect, inject, it } from 'vitest';
import type { NeonFault } from '../../local/neon/faults.ts';
import { newId } from '../../src/kernel/ids.ts';
import { provisionTenant, type TenantConnection } from '../../src/modules/managed-database/provisioning.ts';
import type { NeonApi } from '../../src/platform/neon.ts';
import { NeonProblem } from '../../src/platform/neon.ts';
import { openTenantSql } from '../../src/tenant-sql/client.ts';
import { createLocalNeonApi, MemoryLedger, makeTunnelOptions } from '../support/tenant.ts';

const makeControlUrl = (path: string) => new URL(path, inject('neonApiUrl'));

/** Creates a company id and its ledger, with functions that provision it, set faults of Neon, and read Neon's calls. */
function makeCompany() {
  const companyId = newId(Date.now());
  const project = `console-${companyId}`;
  const ledger = new MemoryLedger();
  return {
    ledger,
    project,
    lay: async (fault: Omit<NeonFault, 'project_name'>) => {
      const body = JSON.stringify({ ...fault, project_name: project });
      expect((await fetch(makeControlUrl('/_test/faults'), { method: 'POST', body })).status).toBe(200);
    },
    calls: async (): Promise<Record<string, number>> =>
      await (await fetch(makeControlUrl(`/_test/calls?project_name=${project}`))).json(),
    provision: (api: NeonApi = createLocalNeonApi(), timeoutMs?: number) =>
      provisionTenant(ledger.record(), { companyId, neon: api, sql: makeTunnelOptions(), timeoutMs }),
  };
}

async function expectUsable(connection: TenantConnection): Promise<void> {
  for (const url of [connection.ownerConnectionString, connection.readonlyConnectionString]) {
    const sql = openTenantSql(url, makeTunnelOptions());
    try {
      expect(await sql.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    } finally {
      await sql.close();
    }
  }
}

describe('the provisioning of a company’s database', () => {
  it('creates one project when five calls come at once, and returns the same connection to later calls', async () => {
    const it = makeCompany();
    const answers = await Promise.all(Array.from({ length: 5 }, () => it.provision()));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(await it.provision()).toEqual(answers[0]);
    expect((await it.calls()).create_project).toBe(1);
    await expectUsable(answers[0] as TenantConnection);
  });

  it('takes over the project of a call that crashed before it recorded it', async () => {
    const it = makeCompany();
    const crashingApi: NeonApi = {
      ...createLocalNeonApi(),
      waitUntilReady: () => {
        throw new RangeError('the isolate was evicted');
      },
    };
    await expect(it.provision(crashingApi)).rejects.toThrow('evicted');
    const connection = await it.provision();
    expect((await it.calls()).create_project).toBe(1);
    await expectUsable(connection);
  });

  it('keeps one password of the reader when an earlier call crashed before it was recorded', async () => {
    const it = makeCompany();
    const record = it.ledger.record();
    const crashingApi = {
      ...record,
      storeConnection: () => {
        throw new RangeError('the isolate was evicted');
      },
    };
    const options = {
      companyId: it.project.slice('console-'.length),
      neon: createLocalNeonApi(),
      sql: makeTunnelOptions(),
    };
    await expect(provisionTenant(crashingApi, options)).rejects.toThrow('evicted');
    await expectUsable(await it.provision());
  });

  it('lets a second call take over an expired lease, and refuses the late result of the first', async () => {
    const it = makeCompany();
    let concurrentCall: Promise<TenantConnection> | undefined;
    const slowApi: NeonApi = {
      ...createLocalNeonApi(),
      getConnectionString: async (...args) => {
        it.ledger.expireLease();
        concurrentCall = it.provision();
        await concurrentCall;
        return createLocalNeonApi().getConnectionString(...args);
      },
    };
    await expect(it.provision(slowApi)).rejects.toMatchObject({ reason: 'tenant_sql.provisioning_pending' });
    expect(await it.provision()).toEqual(await concurrentCall);
    await expectUsable((await concurrentCall) as TenantConnection);
  });

  it('finds the project again when the answer to its creation is lost', async () => {
    const it = makeCompany();
    await it.lay({ call: 'create_project', lose_answer: true });
    await expectUsable(await it.provision());
    expect((await it.calls()).create_project).toBe(1);
  });

  it('keeps the lease when it stays unknown whether a project was created', async () => {
    const it = makeCompany();
    const silentApi: NeonApi = {
      ...createLocalNeonApi(),
      createProject: () => Promise.reject(new NeonProblem('create project: no answer', true)),
    };
    await expect(it.provision(silentApi)).rejects.toMatchObject({ reason: 'tenant_sql.provisioning_failed' });
    expect(it.ledger.isLeased).toBe(true);
    await expect(it.provision(createLocalNeonApi(), 500)).rejects.toMatchObject({
      reason: 'tenant_sql.provisioning_pending',
    });
    expect((await it.calls()).create_project).toBeUndefined();
    it.ledger.expireLease();
    await expectUsable(await it.provision());
  });

  it('repeats every call after 423, 429 and 503', async () => {
    const it = makeCompany();
    for (const [call, status] of [
      ['list_projects', 423],
      ['create_project', 429],
      ['list_operations', 503],
      ['connection_uri', 423],
    ] as const) {
      await it.lay({ call, status, times: 2 });
    }
    await expectUsable(await it.provision());
    expect(await it.calls()).toEqual({ list_projects: 3, create_project: 3, list_operations: 3, connection_uri: 3 });
  });

  it('waits as long as Retry-After says', async () => {
    const it = makeCompany();
    await it.lay({ call: 'create_project', status: 429, retry_after: 1 });
    const startedAt = Date.now();
    await it.provision();
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(1_000);
  });

  it('waits for slow operations', async () => {
    const it = makeCompany();
    await it.lay({ call: 'create_project', operations_ms: 1_500 });
    const startedAt = Date.now();
    await expectUsable(await it.provision());
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(1_500);
    expect((await it.calls()).list_operations).toBeGreaterThan(1);
  });

  it('gives up after its time limit, and a later call continues', async () => {
    const it = makeCompany();
    await it.lay({ call: 'create_project', operations_ms: 3_000 });
    await expect(it.provision(createLocalNeonApi(), 1_000)).rejects.toMatchObject({
      kind: 'unavailable',
      reason: 'tenant_sql.provisioning_failed',
    });
    expect(it.ledger.isLeased).toBe(false);
    await expectUsable(await it.provision());
    expect((await it.calls()).create_project).toBe(1);
  });

  it('creates no project with a wrong API key, and releases the lease', async () => {
    const it = makeCompany();
    await expect(it.provision(createLocalNeonApi('wrong'))).rejects.toMatchObject({
      reason: 'tenant_sql.provisioning_failed',
    });
    expect(it.ledger.isLeased).toBe(false);
    expect(await it.calls()).toEqual({});
    await expectUsable(await it.provision());
  });

  it('takes over the oldest of several projects of the same name, and no project whose name only contains that name', async () => {
    const it = makeCompany();
    const createdIds = [];
    for (const suffix of ['a', 'b']) {
      const projectInput = { name: it.project, database: `${suffix}_${it.project}`, role: `${suffix}_${it.project}` };
      createdIds.push(await createLocalNeonApi().createProject(projectInput, Date.now() + 10_000));
    }
    const longerName = `${it.project}0`;
    await createLocalNeonApi().createProject(
      { name: longerName, database: longerName, role: longerName },
      Date.now() + 10_000,
    );
    expect(await createLocalNeonApi().findProject(it.project, Date.now() + 10_000)).toBe(createdIds[0]);
    expect(await createLocalNeonApi().findProject(it.project.slice(0, -1), Date.now() + 10_000)).toBeNull();
  });
});
