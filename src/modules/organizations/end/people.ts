import { commitAccess, makeAffectedEverybody } from '../../../access/commit-access.ts';
import { peopleOnly } from '../../../access/failures.ts';
import { requireAdministrator } from '../../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../../context.ts';
import { readTogether } from '../../../db/client.ts';
import type { Person } from '../../../logs/redaction.ts';
import { keyedDigest } from '../../../platform/keyed-digest.ts';
import { userActive } from '../failures.ts';
import { type PersonalRecord, pseudonymizeWaiting } from './people-records.ts';
import * as store from './people-store.ts';
import { eraseDeliveries, STORES } from './stores.ts';

/** The pseudonym has the form of an id, so that it can stand wherever one can. */
const PSEUDONYM_LENGTH = 24;

/** A person of the company, by their address, with the names that their users have had. */
async function readPerson(ctx: CompanyContext, address: string) {
  const { companyId } = ctx.actor;
  const email = address.toLowerCase();
  const { users, outsiders } = await readTogether(ctx.db, {
    users: store.selectUsers(ctx.db, companyId, email),
    outsiders: store.selectOutsider(ctx.db, companyId, email),
  });
  const digest = await keyedDigest(ctx.config.ENCRYPTION_KEYS, 'pseudonym', `${companyId}\n${email}`);
  const ids = [...users, ...outsiders].map(({ id }) => id);
  const known = await store.selectIps(ctx.db, companyId, ids);
  const ips = known.flatMap(({ ip }) => ip ?? []);
  const person: Person = { ids, email, pseudonym: digest.slice(0, PSEUDONYM_LENGTH), ips };
  return { person, users, outsiderIds: outsiders.map(({ id }) => id) };
}

/**
 * Yields all data about a person, as user, outsider, recipient or invited, in JSON that is written as it is read: of each store
 * the records about them, and those that name them. Rows of managed tables are not searched.
 * @throws administratorsOnly unless it is the caller's own
 */
export async function readPersonalData(ctx: PrincipalContext, email: string): Promise<AsyncGenerator<string>> {
  const { actor } = ctx;
  if (actor.kind !== 'user' || actor.email !== email.toLowerCase()) requireAdministrator(actor);
  const { person } = await readPerson(ctx, email);
  const stores = STORES.flatMap(({ people }) => (typeof people === 'string' ? [] : people));
  const early: PersonalRecord[] = [];
  for (const people of stores) {
    if (people.isRead === 'early') early.push(...(await Array.fromAsync(people.read(ctx, person))));
  }
  return writeJson(person, early, async function* () {
    for (const people of stores) if (people.isRead !== 'early') yield* people.read(ctx, person);
  });
}

/** Yields all data about the caller. @throws peopleOnly */
export async function readOwnPersonalData(ctx: PrincipalContext): Promise<AsyncGenerator<string>> {
  const { actor } = ctx;
  if (actor.kind !== 'user') throw peopleOnly();
  return readPersonalData(ctx, actor.email);
}

async function* writeJson(
  { email }: Person,
  early: readonly PersonalRecord[],
  rest: () => AsyncGenerator<PersonalRecord>,
): AsyncGenerator<string> {
  yield `{"email":${JSON.stringify(email)},"records":[`;
  let separator = '';
  for (const found of early) {
    yield separator + JSON.stringify(found);
    separator = ',';
  }
  for await (const found of rest()) {
    yield separator + JSON.stringify(found);
    separator = ',';
  }
  yield ']}';
}

/**
 * Erases a person from all data of a company: records about them are deleted, and where others rely on their actions, a
 * pseudonym replaces their ids and address. It can be interrupted and repeated at any point, as their identity is deleted last.
 * @returns the number of deleted or changed records by kind
 * @throws userActive while they can sign in
 */
export async function erasePerson(ctx: PrincipalContext, address: string): Promise<Record<string, number>> {
  const { companyId } = ctx.actor;
  const { person, users, outsiderIds } = await readPerson(ctx, address);
  const isActive = (user: (typeof users)[number]) => user.isActive && user.deletedAt === null;
  if (users.some(isActive)) throw userActive();
  const now = ctx.now();
  const { left } = await commitAccess(ctx, makeAffectedEverybody(companyId), {
    deleted: store.deleteInactive(ctx.db, companyId, person.email, now),
    ended: store.endSessions(ctx.db, companyId, person.ids, now),
    left: store.selectUsers(ctx.db, companyId, person.email),
  });
  // Somebody has activated them meanwhile.
  if (left.some(isActive)) throw userActive();
  const erased: Record<string, number> = {};
  const count = (counts: Record<string, number>) => {
    for (const [kind, number] of Object.entries(counts)) if (number > 0) erased[kind] = (erased[kind] ?? 0) + number;
  };
  count(await pseudonymizeWaiting(ctx, person));
  for (const { people } of STORES) {
    if (typeof people !== 'string') count(await people.erase(ctx, person, { outsiderIds, names: listNames(users) }));
  }
  // What was deleted is told as well.
  count(await pseudonymizeWaiting(ctx, person));
  count(await eraseDeliveries(ctx, person));
  return erased;
}

const listNames = (users: readonly { name: string }[]): string[] => [...new Set(users.map(({ name }) => name))];
