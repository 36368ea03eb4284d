import { commitAccess, makeAffectedEverybody } from '../../../access/commit-access.ts';
import { peopleOnly } from '../../../access/failures.ts';
import { requireAdministrator } from '../../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../../context.ts';
import { readTogether } from '../../../db/client.ts';
import { isPersonNamedIn, type Person } from '../../../logs/redaction.ts';
import { callObject } from '../../../platform/objects.ts';
import { hideRevokedIds } from '../../embeds/service.ts';
import { userActive } from '../failures.ts';
import { type PersonalRecord, pseudonymizeWaitingMessages } from './people-records.ts';
import * as store from './person-erasure-store.ts';
import { DATA_STORES, eraseDeliveries } from './stores.ts';

/** Reads a person of the company, by their address, with the names that their users have had. */
async function readPerson(ctx: CompanyContext, address: string) {
  const { companyId } = ctx.actor;
  const email = address.toLowerCase();
  const { users, outsiders } = await readTogether(ctx.db, {
    users: store.selectUsersOfAddress(ctx.db, companyId, email),
    outsiders: store.selectOutsider(ctx.db, companyId, email),
  });
  const pseudonym = await callObject(ctx.bindings.COMPANY_LOG, companyId, async (log) => log.makePseudonym(email));
  const ids = [...users, ...outsiders].map(({ id }) => id);
  const signInRows = await store.selectSignInIps(ctx.db, companyId, ids);
  const ips = signInRows.flatMap(({ ip }) => ip ?? []);
  const person: Person = { ids, email, pseudonym, ips };
  return { person, users, outsiderIds: outsiders.map(({ id }) => id) };
}

/**
 * Yields JSON with all data about a person (a user, outsider, recipient or invited user): from each store the records
 * about the person, and the records that name the person. Rows of managed tables are not searched. @throws
 * administratorsOnly unless it is the caller's own data
 */
export async function readPersonalData(ctx: PrincipalContext, email: string): Promise<AsyncGenerator<string>> {
  const { actor } = ctx;
  if (actor.kind !== 'user' || actor.email !== email.toLowerCase()) requireAdministrator(actor);
  const { person } = await readPerson(ctx, email);
  const stores = DATA_STORES.flatMap(({ personData }) => (typeof personData === 'string' ? [] : personData));
  const earlyRecords: PersonalRecord[] = [];
  for (const personDataStore of stores) {
    if (personDataStore.readTiming === 'early')
      earlyRecords.push(...(await Array.fromAsync(personDataStore.readRecords(ctx, person))));
  }
  const readRecords = async function* () {
    yield* earlyRecords;
    for (const personDataStore of stores)
      if (personDataStore.readTiming !== 'early') yield* personDataStore.readRecords(ctx, person);
  };
  return writeJson(person, readRecords());
}

/** Yields all data about the caller. @throws peopleOnly */
export async function readOwnPersonalData(ctx: PrincipalContext): Promise<AsyncGenerator<string>> {
  const { actor } = ctx;
  if (actor.kind !== 'user') throw peopleOnly();
  return readPersonalData(ctx, actor.email);
}

async function* writeJson({ email }: Person, records: AsyncGenerator<PersonalRecord>): AsyncGenerator<string> {
  yield `{"email":${JSON.stringify(email)},"records":[`;
  let separator = '';
  for await (const foundRecord of records) {
    yield separator + JSON.stringify(foundRecord);
    separator = ',';
  }
  yield ']}';
}

/**
 * Erases a person from all data of a company: records about them are deleted, and where other data relies on their actions, a
 * pseudonym replaces their ids and address. It can be interrupted and repeated at any point, as their identity is deleted last.
 * @returns the number of deleted or changed records by kind @throws userActive while they can sign in
 */
export async function erasePerson(ctx: PrincipalContext, address: string): Promise<Record<string, number>> {
  const { companyId } = ctx.actor;
  const { person, users, outsiderIds } = await readPerson(ctx, address);
  const isActiveUser = (user: (typeof users)[number]) => user.isActive && user.deletedAt === null;
  if (users.some(isActiveUser)) throw userActive();
  const now = ctx.now();
  const { left } = await commitAccess(ctx, makeAffectedEverybody(companyId), {
    deleted: store.deleteInactiveUsers(ctx.db, companyId, person.email, now),
    ended: store.endSessions(ctx.db, companyId, person.ids, now),
    left: store.selectUsersOfAddress(ctx.db, companyId, person.email),
  });
  // Somebody has activated them meanwhile.
  if (left.some(isActiveUser)) throw userActive();
  const erasedCounts: Record<string, number> = {};
  const addCounts = (counts: Record<string, number>) => {
    for (const [kind, number] of Object.entries(counts))
      if (number > 0) erasedCounts[kind] = (erasedCounts[kind] ?? 0) + number;
  };
  addCounts(await pseudonymizeWaitingMessages(ctx, person));
  addCounts({ embed_revocations: await hideRevokedIds(ctx, (id) => isPersonNamedIn(id, person)) });
  for (const { personData } of DATA_STORES) {
    if (typeof personData !== 'string')
      addCounts(await personData.erase(ctx, person, { outsiderIds, userNames: listNames(users) }));
  }
  // What was deleted is told as well.
  addCounts(await pseudonymizeWaitingMessages(ctx, person));
  addCounts(await eraseDeliveries(ctx, person));
  return erasedCounts;
}

const listNames = (users: readonly { name: string }[]): string[] => [...new Set(users.map(({ name }) => name))];
