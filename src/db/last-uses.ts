import { sql } from 'drizzle-orm';
import type { ControlDb } from './client.ts';
import { oauthGrants } from './schema/oauth.ts';
import { apiKeys, serviceAccounts } from './schema/service-accounts.ts';
import { sessions } from './schema/sign-in.ts';

const CREDENTIAL_TABLES = { session: sessions, grant: oauthGrants, key: apiKeys, service_account: serviceAccounts };

/** Record whose last use is stored: a session, grant, key or service account. */
export interface UsedCredential {
  kind: keyof typeof CREDENTIAL_TABLES;
  companyId: string;
  id: string;
}

export type CredentialUse = UsedCredential & { at: number };

/** Makes the statements that record uses, one for each kind. A use before the recorded one changes nothing. */
export const recordUses = (db: ControlDb, allUses: readonly CredentialUse[]) =>
  Object.entries(CREDENTIAL_TABLES).flatMap(([kind, table]) => {
    const uses = allUses.filter((use) => use.kind === kind);
    if (uses.length === 0) return [];
    const usedRows = sql`(
    select value ->> 'id' as id, value ->> 'companyId' as company_id, max(value ->> 'at') as at
    from json_each(${JSON.stringify(uses)}) group by 1, 2) as used`;
    return db
      .update(table as typeof sessions)
      .set({ lastUsedAt: sql`max(coalesce(last_used_at, 0), used.at)` })
      .from(usedRows)
      .where(sql`${table.id} = used.id and ${table.companyId} = used.company_id`);
  });
