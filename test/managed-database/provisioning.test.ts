import { describe, expect, inject, it } from 'vitest';
import type { NeonFault } from '../../local/neon/faults.ts';
import { newId } from '../../src/kernel/ids.ts';
import { provision, type TenantConnection } from '../../src/modules/managed-database/provisioning.ts';
import type { NeonApi } from '../../src/platform/neon.ts';
import { NeonProblem } from '../../src/platform/neon.ts';
import { openTenantSql } from '../../src/tenant-sql/client.ts';
import { MemoryLedger, neon, tunnel } from '../support/tenant.ts';

const control = (path: string) => new URL(path, inject('neonApiUrl'));

/** A company, its ledger, and what Neon saw of it. */
function company() {
  const companyId = newId(Date.now());
  const project = `console-${companyId}`;
  const ledger = new MemoryLedger();
  return {
    ledger,
    project,
    lay: async (fault: Omit<NeonFault, 'project_name'>) => {
      const body = JSON.stringify({ ...fault, project_name: project });
      expect((await fetch(control('/_test/faults'), { method: 'POST', body })).status).toBe(200);
    },
    calls: async (): Promise<Record<string, number>> =>
      await (await fetch(control(`/_test/calls?project_name=${project}`))).json(),
    provision: (api: NeonApi = neon(), timeoutMs?: number) =>
      provision(ledger.record(), { companyId, neon: api, sql: tunnel(), timeoutMs }),
  };
}

async function works(connection: TenantConnection): Promise<void> {
  for (const url of [connection.ownerConnectionString, connection.readonlyConnectionString]) {
    const sql = openTenantSql(url, tunnel());
    try {
      expect(await sql.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    } finally {
      await sql.close();
    }
  }
}

describe('the provisioning of a company’s database', () => {
  it('creates one project when five calls come at once, and answers later calls with the same', async () => {
    const it = company();
    const answers = await Promise.all(Array.from({ length: 5 }, () => it.provision()));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(await it.provision()).toEqual(answers[0]);
    expect((await it.calls()).create_project).toBe(1);
    await works(answers[0] as TenantConnection);
  });

  it('takes over the project of a call that crashed before it recorded it', async () => {
    const it = company();
    const crashing: NeonApi = {
      ...neon(),
      waitUntilReady: () => {
        throw new RangeError('the isolate was evicted');
      },
    };
    await expect(it.provision(crashing)).rejects.toThrow('evicted');
    const connection = await it.provision();
    expect((await it.calls()).create_project).toBe(1);
    await works(connection);
  });

  it('keeps one password of the reader when an earlier call crashed before it was recorded', async () => {
    const it = company();
    const record = it.ledger.record();
    const crashing = {
      ...record,
      finish: () => {
        throw new RangeError('the isolate was evicted');
      },
    };
    const options = { companyId: it.project.slice('console-'.length), neon: neon(), sql: tunnel() };
    await expect(provision(crashing, options)).rejects.toThrow('evicted');
    await works(await it.provision());
  });

  it('lets a second call take over an expired lease, and refuses the late result of the first', async () => {
    const it = company();
    let overtaken: Promise<TenantConnection> | undefined;
    const slow: NeonApi = {
      ...neon(),
      connectionString: async (...args) => {
        it.ledger.expireLease();
        overtaken = it.provision();
        await overtaken;
        return neon().connectionString(...args);
      },
    };
    await expect(it.provision(slow)).rejects.toMatchObject({ reason: 'tenant_sql.provisioning_pending' });
    expect(await it.provision()).toEqual(await overtaken);
    await works((await overtaken) as TenantConnection);
  });

  it('finds the project again when the answer to its creation is lost', async () => {
    const it = company();
    await it.lay({ call: 'create_project', lose_answer: true });
    await works(await it.provision());
    expect((await it.calls()).create_project).toBe(1);
  });

  it('keeps the lease when it stays unclear whether a project was created', async () => {
    const it = company();
    const silent: NeonApi = {
      ...neon(),
      createProject: () => Promise.reject(new NeonProblem('create project: no answer', true)),
    };
    await expect(it.provision(silent)).rejects.toMatchObject({ reason: 'tenant_sql.provisioning_failed' });
    expect(it.ledger.leased).toBe(true);
    await expect(it.provision(neon(), 500)).rejects.toMatchObject({ reason: 'tenant_sql.provisioning_pending' });
    expect((await it.calls()).create_project).toBeUndefined();
    it.ledger.expireLease();
    await works(await it.provision());
  });

  for (const status of [423, 429, 503]) {
    it(`repeats every call after ${status}`, async () => {
      const it = company();
      for (const call of ['list_projects', 'create_project', 'list_operations', 'connection_uri'] as const) {
        await it.lay({ call, status, times: 2 });
      }
      await works(await it.provision());
      expect(await it.calls()).toEqual({
        list_projects: 3,
        create_project: 3,
        list_operations: 3,
        connection_uri: 3,
      });
    });
  }

  it('waits as long as Retry-After says', async () => {
    const it = company();
    await it.lay({ call: 'create_project', status: 429, retry_after: 1 });
    const started = Date.now();
    await it.provision();
    expect(Date.now() - started).toBeGreaterThanOrEqual(1_000);
  });

  it('waits for slow operations', async () => {
    const it = company();
    await it.lay({ call: 'create_project', operations_ms: 1_500 });
    const started = Date.now();
    await works(await it.provision());
    expect(Date.now() - started).toBeGreaterThanOrEqual(1_500);
    expect((await it.calls()).list_operations).toBeGreaterThan(1);
  });

  it('gives up after its time limit, and a later call continues', async () => {
    const it = company();
    await it.lay({ call: 'create_project', operations_ms: 3_000 });
    await expect(it.provision(neon(), 1_000)).rejects.toMatchObject({
      kind: 'unavailable',
      reason: 'tenant_sql.provisioning_failed',
    });
    expect(it.ledger.leased).toBe(false);
    await works(await it.provision());
    expect((await it.calls()).create_project).toBe(1);
  });

  it('creates no project with a wrong API key, and releases the lease', async () => {
    const it = company();
    await expect(it.provision(neon('wrong'))).rejects.toMatchObject({ reason: 'tenant_sql.provisioning_failed' });
    expect(it.ledger.leased).toBe(false);
    expect(await it.calls()).toEqual({});
    await works(await it.provision());
  });

  it('takes over the oldest of several projects of the same name, and none whose name only contains it', async () => {
    const it = company();
    const made = [];
    for (const suffix of ['a', 'b']) {
      const wanted = { name: it.project, database: `${suffix}_${it.project}`, role: `${suffix}_${it.project}` };
      made.push(await neon().createProject(wanted, Date.now() + 10_000));
    }
    const longer = `${it.project}0`;
    await neon().createProject({ name: longer, database: longer, role: longer }, Date.now() + 10_000);
    expect(await neon().findProject(it.project, Date.now() + 10_000)).toBe(made[0]);
    expect(await neon().findProject(it.project.slice(0, -1), Date.now() + 10_000)).toBeNull();
  });
});
