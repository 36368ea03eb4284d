import type { System } from '../../bench/system.ts';
import type { Case } from './case.ts';

const PEOPLE = 10_000;
const PAGE = 1_000;
const CONCURRENCY = 10;
const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group';

const users: string[] = [];
/** A group for each of the two directories. */
const groups: string[] = [];

async function sendScim({ baseUrl, serviceAccount }: System, method: string, path: string, body?: object) {
  const answer = await fetch(`${baseUrl}/scim/v2/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${serviceAccount.access_key}:${serviceAccount.secret_key}`,
      'content-type': 'application/scim+json',
    },
    body: body && JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`);
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes, read by whoever asked.
  return answer.json() as any;
}

async function prepare(system: System): Promise<void> {
  if (groups.length > 0) return;
  const left = Array.from({ length: PEOPLE }, (_, index) => index).values();
  const makeUsers = async () => {
    for (const index of left) {
      const user = { userName: `p${index}@memory.example`, displayName: `Person ${index}`, externalId: `e${index}` };
      users.push((await sendScim(system, 'POST', 'Users', user)).id);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, makeUsers));
  for (const which of [0, 1])
    groups.push((await sendScim(system, 'POST', 'Groups', { displayName: `Everyone ${which}` })).id);
}

const toMembers = (ids: readonly string[]) => ids.map((value) => ({ value }));

/** What a directory sends and asks for in a company of ten thousand people. */
export const DIRECTORY: Case[] = [
  {
    name: `a directory that adds ${PEOPLE} members to a group, ${PAGE} at a time`,
    prepare,
    run: async (system, which) => {
      for (let start = 0; start < PEOPLE; start += PAGE) {
        const value = toMembers(users.slice(start, start + PAGE));
        await sendScim(system, 'PATCH', `Groups/${groups[which]}`, {
          Operations: [{ op: 'Add', path: 'members', value }],
        });
      }
    },
  },
  {
    name: `a directory that puts a group of ${PEOPLE} members, and reads it`,
    prepare,
    run: async (system, which) => {
      const sent = { schemas: [GROUP], displayName: `Everyone ${which}`, members: toMembers(users) };
      await sendScim(system, 'PUT', `Groups/${groups[which]}`, sent);
      const read = await sendScim(system, 'GET', `Groups/${groups[which]}`);
      if (read.members.length !== PEOPLE) throw new Error(`${read.members.length} members`);
    },
  },
  {
    name: `a directory that lists ${PEOPLE} users`,
    prepare,
    run: async (system) => {
      let count = 0;
      for (let start = 1; start < PEOPLE; start += PAGE) {
        count += (await sendScim(system, 'GET', `Users?startIndex=${start}&count=${PAGE}`)).Resources.length;
      }
      if (count < PEOPLE) throw new Error(`${count} users`);
    },
  },
];
