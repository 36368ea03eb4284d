import { inject } from 'vitest';
import {
  type ProvisioningRecord,
  provisionTenant,
  type TenantConnection,
} from '../../src/modules/managed-database/provisioning.ts';
import { buildNeonApi, type NeonApi } from '../../src/platform/neon.ts';
import { openTenantSql, type TenantSql } from '../../src/tenant-sql/client.ts';

/** Creates a client of the local Neon's management API, as production code calls it. */
export const createLocalNeonApi = (apiKey = inject('neonApiKey')): NeonApi =>
  buildNeonApi({ apiUrl: inject('neonApiUrl'), apiKey, organization: inject('neonOrganization') });

export const makeTunnelOptions = () => ({ wsProxy: inject('neonWsProxy') });

/** The provisioning record of one company, in memory instead of in the control database: shared by all calls for that company. */
export class MemoryLedger {
  connection: TenantConnection | null = null;
  #password: string | undefined;
  #lease: { token: object; endsAt: number } | undefined;

  /** Returns the record for one call of the provisioning, which holds the lease under a token of its own. */
  record(): ProvisioningRecord {
    const token = {};
    return {
      readFinishedConnection: async () => this.connection,
      acquireLease: async (milliseconds) => {
        if (this.#lease !== undefined && this.#lease.endsAt > Date.now()) return false;
        this.#lease = { token, endsAt: Date.now() + milliseconds };
        return true;
      },
      storeReaderPassword: async (candidate) => {
        this.#password ??= candidate;
        return this.#password;
      },
      storeConnection: async (connection) => {
        if (this.#lease?.token !== token) return false;
        this.connection = connection;
        return true;
      },
      releaseLease: async () => {
        if (this.#lease?.token === token) this.#lease = undefined;
      },
    };
  }

  /** Ends the lease, as if enough time had passed that its holder has lost it. */
  expireLease(): void {
    this.#lease = undefined;
  }

  get isLeased(): boolean {
    return this.#lease !== undefined;
  }
}

/** Creates a provisioned Postgres for a company, with both its logins. Callers close what they open. */
export async function createTenant(companyId: string): Promise<{
  connection: TenantConnection;
  openOwnerSql(): TenantSql;
  openReaderSql(): TenantSql;
}> {
  const connection = await provisionTenant(new MemoryLedger().record(), {
    companyId,
    neon: createLocalNeonApi(),
    sql: makeTunnelOptions(),
  });
  return {
    connection,
    openOwnerSql: () => openTenantSql(connection.ownerConnectionString, makeTunnelOptions()),
    openReaderSql: () => openTenantSql(connection.readonlyConnectionString, makeTunnelOptions()),
  };
}
