import { and, desc, eq, gt, isNotNull, isNull, lt, ne, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { companies } from '../../db/schema/companies.ts';
import { oauthClients, oauthDevices, oauthGrants, oauthPublicClients } from '../../db/schema/oauth.ts';
import { users } from '../../db/schema/users.ts';
import { existsSql, insertWhen, makeIdListSql, matchesId, matchesUndeletedId } from '../../db/statements.ts';
import { isCompanyActive } from '../companies/queries.ts';

export type CompanyClient = typeof oauthClients.$inferSelect;
export type Grant = typeof oauthGrants.$inferSelect;
export type Device = typeof oauthDevices.$inferSelect;
export type Resource = Grant['resource'];

/** Selects a client by its id alone: the request names the client before its company is known. */
export const selectCompanyClient = (db: ControlDb, id: string) =>
  db
    .select({ name: oauthClients.name, redirectUris: oauthClients.redirectUris, companyId: oauthClients.companyId })
    .from(oauthClients)
    .where(eq(oauthClients.id, id));

export const selectClientOfCompany = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(oauthClients)
    .where(matchesId(oauthClients, companyId, id));

const MAX_CLIENTS_PER_COMPANY = 200;

export const selectClientsOfCompany = (db: ControlDb, companyId: string) =>
  db
    .select()
    .from(oauthClients)
    .where(eq(oauthClients.companyId, companyId))
    .orderBy(desc(oauthClients.createdAt), desc(oauthClients.id))
    .limit(MAX_CLIENTS_PER_COMPANY);

/** Registers a client, unless its company has the maximum number of clients. */
export const insertClient = (db: ControlDb, record: CompanyClient) =>
  insertWhen(
    db,
    oauthClients,
    record,
    sql`(select count(*) from ${oauthClients} where ${oauthClients.companyId} = ${record.companyId}) < ${MAX_CLIENTS_PER_COMPANY}`,
  );

export const deleteClient = (db: ControlDb, companyId: string, id: string) =>
  db
    .delete(oauthClients)
    .where(matchesId(oauthClients, companyId, id))
    .returning({ id: oauthClients.id });

export const selectPublicClient = (db: ControlDb, clientId: string, now: number) =>
  db
    .select()
    .from(oauthPublicClients)
    .where(and(eq(oauthPublicClients.clientId, clientId), gt(oauthPublicClients.expiresAt, now)));

export const upsertPublicClient = (db: ControlDb, record: typeof oauthPublicClients.$inferInsert) =>
  db
    .insert(oauthPublicClients)
    .values(record)
    .onConflictDoUpdate({
      target: oauthPublicClients.clientId,
      set: { name: record.name, redirectUris: record.redirectUris, expiresAt: record.expiresAt },
    });

/**
 * Sets the end of the retention of a dynamically registered client to `expiresAt` (ms), as the client was used. Clients with a
 * metadata document are not extended: their document is read again.
 */
export const extendClientRetention = (
  db: ControlDb,
  clientId: string,
  { now, expiresAt }: { now: number; expiresAt: number },
) =>
  db
    .update(oauthPublicClients)
    .set({ expiresAt })
    .where(
      and(
        eq(oauthPublicClients.clientId, clientId),
        sql`${oauthPublicClients.clientId} like 'od_%'`,
        gt(oauthPublicClients.expiresAt, now),
      ),
    );

const isActiveUser = (companyId: string, userId: string): SQL =>
  existsSql(users, matchesUndeletedId(users, companyId, userId), eq(users.isActive, true));

/** Returns the SQL condition that the client of a grant is still registered, or is not one that administrators register. */
const isClientStillRegistered = ({ companyId, clientId }: Pick<Grant, 'companyId' | 'clientId'>): SQL =>
  sql`(${clientId} not like 'oc_%' or ${existsSql(oauthClients, eq(oauthClients.companyId, companyId), sql`'oc_' || ${oauthClients.id} = ${clientId}`)})`;

/**
 * Stores a consent as a grant, if its user is active and its client is still registered.
 * @param options.deviceDigest digest of a device code: nothing is stored if the code has expired or was denied
 */
export const insertGrant = (
  db: ControlDb,
  record: Grant,
  { deviceDigest, now }: { deviceDigest: string | null; now: number },
) =>
  insertWhen(
    db,
    oauthGrants,
    record,
    and(
      isActiveUser(record.companyId, record.userId),
      isClientStillRegistered(record),
      deviceDigest === null ? undefined : existsSql(oauthDevices, isOpenDevice(deviceDigest, now)),
    ) as SQL,
  );

/** Marks an unexpired code as used and returns its grant; no row if it was used before, or the company is suspended. */
export const markCodeUsed = (db: ControlDb, digest: string, now: number) =>
  db
    .update(oauthGrants)
    .set({ codeUsedAt: now })
    .where(
      and(
        eq(oauthGrants.codeDigest, digest),
        isNull(oauthGrants.codeUsedAt),
        gt(oauthGrants.codeExpiresAt, now),
        isCompanyActive(oauthGrants.companyId),
      ),
    )
    .returning();

/** Selects the grant of a code, with the state of its company. */
export const selectGrantByCode = (db: ControlDb, digest: string) =>
  db
    .select({
      id: oauthGrants.id,
      companyId: oauthGrants.companyId,
      userId: oauthGrants.userId,
      suspendedAt: companies.suspendedAt,
    })
    .from(oauthGrants)
    .innerJoin(companies, eq(companies.id, oauthGrants.companyId))
    .where(eq(oauthGrants.codeDigest, digest));

const isActiveGrant = (now: number) =>
  and(isNotNull(oauthGrants.begunAt), isNull(oauthGrants.endedAt), gt(oauthGrants.expiresAt, now));

/** Activates a grant whose code was exchanged, unless it has ended; it replaces the client's earlier grants. */
export const activateGrant = (
  db: ControlDb,
  { id, companyId, userId, clientId }: Grant,
  { refreshDigest, now, expiresAt }: { refreshDigest: string; now: number; expiresAt: number },
) => {
  const isStillValid = and(
    matchesId(oauthGrants, companyId, id),
    isNull(oauthGrants.endedAt),
    isNull(oauthGrants.begunAt),
    isActiveUser(companyId, userId),
    isClientStillRegistered({ companyId, clientId }),
    isCompanyActive(oauthGrants.companyId),
  );
  return {
    replaced: db
      .update(oauthGrants)
      .set({ endedAt: now })
      .where(
        and(
          eq(oauthGrants.companyId, companyId),
          eq(oauthGrants.userId, userId),
          eq(oauthGrants.clientId, clientId),
          isNotNull(oauthGrants.begunAt),
          isNull(oauthGrants.endedAt),
          existsSql(oauthGrants, isStillValid),
        ),
      ),
    begun: db.update(oauthGrants).set({ begunAt: now, refreshDigest, lastUsedAt: now, expiresAt }).where(isStillValid),
  };
};

/** Selects an earlier grant of the user to the same client, active or ended, if one is still stored. */
export const selectFormerGrants = (db: ControlDb, { id, companyId, userId, clientId }: Grant) =>
  db
    .select({ id: oauthGrants.id })
    .from(oauthGrants)
    .where(
      and(
        eq(oauthGrants.companyId, companyId),
        eq(oauthGrants.userId, userId),
        eq(oauthGrants.clientId, clientId),
        ne(oauthGrants.id, id),
        isNotNull(oauthGrants.begunAt),
      ),
    )
    .limit(1);

/** Selects an active grant, with its user and the state of the company. */
export const selectActiveGrant = (
  db: ControlDb,
  key: { companyId: string; userId: string; grantId: string },
  now: number,
) =>
  db
    .select({
      user: users,
      companySlug: companies.slug,
      suspendedAt: companies.suspendedAt,
      clientId: oauthGrants.clientId,
      scopes: oauthGrants.scopes,
      resource: oauthGrants.resource,
      lastUsedAt: oauthGrants.lastUsedAt,
      previousDigest: oauthGrants.previousDigest,
      previousUntil: oauthGrants.previousUntil,
      expiresAt: oauthGrants.expiresAt,
    })
    .from(oauthGrants)
    .innerJoin(users, and(eq(users.id, oauthGrants.userId), eq(users.companyId, oauthGrants.companyId)))
    .innerJoin(companies, eq(companies.id, oauthGrants.companyId))
    .where(
      and(
        matchesId(oauthGrants, key.companyId, key.grantId),
        eq(oauthGrants.userId, key.userId),
        isActiveGrant(now),
        eq(users.isActive, true),
        isNull(users.deletedAt),
      ),
    );

/** Exchanges the refresh token that was presented for the next one, if it is the newest, and the company is not suspended. */
export const rotateGrant = (
  db: ControlDb,
  key: { companyId: string; sessionId: string },
  digests: { presentedDigest: string; nextDigest: string },
  { now, retryUntil, expiresAt }: { now: number; retryUntil: number; expiresAt: number },
) =>
  db
    .update(oauthGrants)
    .set({
      refreshDigest: digests.nextDigest,
      previousDigest: digests.presentedDigest,
      previousUntil: retryUntil,
      lastUsedAt: now,
      expiresAt,
    })
    .where(
      and(
        matchesId(oauthGrants, key.companyId, key.sessionId),
        eq(oauthGrants.refreshDigest, digests.presentedDigest),
        isCompanyActive(oauthGrants.companyId),
      ),
    );

export const endGrant = (db: ControlDb, companyId: string, id: string, now: number) =>
  db
    .update(oauthGrants)
    .set({ endedAt: now })
    .where(and(matchesId(oauthGrants, companyId, id), isNull(oauthGrants.endedAt)));

/** Ends an active grant of a user; returns a row if it was active. */
export const endUserGrant = (db: ControlDb, owner: { companyId: string; userId: string }, id: string, now: number) =>
  db
    .update(oauthGrants)
    .set({ endedAt: now })
    .where(and(matchesId(oauthGrants, owner.companyId, id), eq(oauthGrants.userId, owner.userId), isActiveGrant(now)))
    .returning({ id: oauthGrants.id });

export const endGrantsOfClient = (db: ControlDb, companyId: string, clientId: string, now: number) =>
  db
    .update(oauthGrants)
    .set({ endedAt: now })
    .where(and(eq(oauthGrants.companyId, companyId), eq(oauthGrants.clientId, clientId), isNull(oauthGrants.endedAt)));

const MAX_LISTED_GRANTS = 500;

/** Selects a user's active grants, the newest first. */
export const selectUserGrants = (
  db: ControlDb,
  { companyId, userId }: { companyId: string; userId: string },
  now: number,
) =>
  db
    .select()
    .from(oauthGrants)
    .where(and(eq(oauthGrants.companyId, companyId), eq(oauthGrants.userId, userId), isActiveGrant(now)))
    .orderBy(desc(oauthGrants.createdAt), desc(oauthGrants.id))
    .limit(MAX_LISTED_GRANTS);

export const insertDevice = (db: ControlDb, record: Device) => db.insert(oauthDevices).values(record);

const isOpenDevice = (digest: string, now: number): SQL =>
  and(eq(oauthDevices.digest, digest), isNull(oauthDevices.deniedAt), gt(oauthDevices.expiresAt, now)) as SQL;

const isDeviceAnswered = existsSql(oauthGrants, eq(oauthGrants.codeDigest, oauthDevices.digest));

/** Selects the pending device authorization with this user code. */
export const selectPendingDevice = (db: ControlDb, userCodeDigests: readonly string[], now: number) =>
  db
    .select()
    .from(oauthDevices)
    .where(
      and(
        sql`${oauthDevices.userCodeDigest} in ${makeIdListSql(userCodeDigests)}`,
        isNull(oauthDevices.deniedAt),
        gt(oauthDevices.expiresAt, now),
        sql`not ${isDeviceAnswered}`,
      ),
    );

/** Denies a device, unless a user has answered its request before. */
export const denyDevice = (db: ControlDb, digest: string, now: number) =>
  db
    .update(oauthDevices)
    .set({ deniedAt: now })
    .where(and(isOpenDevice(digest, now), sql`not ${isDeviceAnswered}`));

/** Records that a device polls for its authorization. A device that polls too early gets a longer interval (`slow_down`). */
export const pollDevice = (db: ControlDb, digest: string, now: number) =>
  db
    .update(oauthDevices)
    .set({
      interval: sql`${oauthDevices.interval} + iif(${oauthDevices.pollableAt} > ${now}, 5, 0)`,
      pollableAt: sql`${now} + 1000 * (${oauthDevices.interval} + iif(${oauthDevices.pollableAt} > ${now}, 5, 0))`,
    })
    .where(eq(oauthDevices.digest, digest))
    .returning();

export const selectDevice = (db: ControlDb, digest: string) =>
  db.select().from(oauthDevices).where(eq(oauthDevices.digest, digest));

/** Deletes expired grants, device codes and public clients. */
export const deleteExpiredRows = (db: ControlDb, now: number) =>
  [
    db.delete(oauthGrants).where(lt(oauthGrants.expiresAt, now)),
    db.delete(oauthDevices).where(lt(oauthDevices.expiresAt, now)),
    db.delete(oauthPublicClients).where(lt(oauthPublicClients.expiresAt, now)),
  ] as const;

export const selectGrant = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(oauthGrants)
    .where(matchesId(oauthGrants, companyId, id));
