import { inject } from 'vitest';
import {
  type ProvisioningRecord,
  provision,
  type TenantConnection,
} from '../../src/modules/managed-database/provisioning.ts';
import { type NeonApi, neonApi } from '../../src/platform/neon.ts';
import { openTenantSql, type TenantSql } from '../../src/tenant-sql/client.ts';

/** The local Neon's management API, as production code calls it. */
export const neon = (apiKey = inject('neonApiKey')): NeonApi =>
  neonApi({ apiUrl: inject('neonApiUrl'), apiKey, organization: inject('neonOrganization') });

export const tunnel = () => ({ wsProxy: inject('neonWsProxy') });

/** What the control database keeps of one company's provisioning, in memory: shared by all calls for that company. */
export class MemoryLedger {
  connection: TenantConnection | null = null;
  #password: string | undefined;
  #lease: { token: object; until: number } | undefined;

  /** The record as one call reads and writes it. */
  record(): ProvisioningRecord {
    const token = {};
    return {
      finished: async () => this.connection,
      acquireLease: async (milliseconds) => {
        if (this.#lease !== undefined && this.#lease.until > Date.now()) return false;
        this.#lease = { token, until: Date.now() + milliseconds };
        return true;
      },
      keepReaderPassword: async (candidate) => {
        this.#password ??= candidate;
        return this.#password;
      },
      finish: async (connection) => {
        if (this.#lease?.token !== token) return false;
        this.connection = connection;
        return true;
      },
      releaseLease: async () => {
        if (this.#lease?.token === token) this.#lease = undefined;
      },
    };
  }

  /** As if so much time had passed that whoever holds the lease has lost it. */
  expireLease(): void {
    this.#lease = undefined;
  }

  get leased(): boolean {
    return this.#lease !== undefined;
  }
}

/** A company's freshly provisioned Postgres with both its logins. Close what you open. */
export async function aTenant(companyId: string): Promise<{
  connection: TenantConnection;
  owner(): TenantSql;
  reader(): TenantSql;
}> {
  const connection = await provision(new MemoryLedger().record(), { companyId, neon: neon(), sql: tunnel() });
  return {
    connection,
    owner: () => openTenantSql(connection.ownerConnectionString, tunnel()),
    reader: () => openTenantSql(connection.readonlyConnectionString, tunnel()),
  };
}
