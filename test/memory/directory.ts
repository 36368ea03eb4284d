import type { System } from '../../bench/system.ts';
import type { MemoryCase } from './case.ts';

const USER_COUNT = 10_000;
const PAGE_SIZE = 1_000;
const CONCURRENCY = 10;
const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group';

const users: string[] = [];
/** The ids of two groups, one for each run. */
const groups: string[] = [];

async function sendScim({ baseUrl, serviceAccountKey }: System, method: string, path: string, body?: object) {
  const answer = await fetch(`${baseUrl}/scim/v2/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${serviceAccountKey.access_key}:${serviceAccountKey.secret_key}`,
      'content-type': 'application/scim+json',
    },
    body: body && JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`);
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes, read by whoever asked.
  return answer.json() as any;
}

async function prepareUsers(system: System): Promise<void> {
  if (groups.length > 0) return;
  const pendingIndexes = Array.from({ length: USER_COUNT }, (_, index) => index).values();
  const createUsers = async () => {
    for (const index of pendingIndexes) {
      const user = { userName: `p${index}@memory.example`, displayName: `Person ${index}`, externalId: `e${index}` };
      users.push((await sendScim(system, 'POST', 'Users', user)).id);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, createUsers));
  for (const runNumber of [0, 1])
    groups.push((await sendScim(system, 'POST', 'Groups', { displayName: `Everyone ${runNumber}` })).id);
}

const toMembers = (ids: readonly string[]) => ids.map((value) => ({ value }));

/** Cases of SCIM requests in a company of ten thousand users. */
export const DIRECTORY_CASES: MemoryCase[] = [
  {
    name: `a directory that adds ${USER_COUNT} members to a group, ${PAGE_SIZE} at a time`,
    prepare: prepareUsers,
    run: async (system, runNumber) => {
      for (let start = 0; start < USER_COUNT; start += PAGE_SIZE) {
        const value = toMembers(users.slice(start, start + PAGE_SIZE));
        await sendScim(system, 'PATCH', `Groups/${groups[runNumber]}`, {
          Operations: [{ op: 'Add', path: 'members', value }],
        });
      }
    },
  },
  {
    name: `a directory that puts a group of ${USER_COUNT} members, and reads it`,
    prepare: prepareUsers,
    run: async (system, runNumber) => {
      const groupBody = { schemas: [GROUP_SCHEMA], displayName: `Everyone ${runNumber}`, members: toMembers(users) };
      await sendScim(system, 'PUT', `Groups/${groups[runNumber]}`, groupBody);
      const readGroup = await sendScim(system, 'GET', `Groups/${groups[runNumber]}`);
      if (readGroup.members.length !== USER_COUNT) throw new Error(`${readGroup.members.length} members`);
    },
  },
  {
    name: `a directory that lists ${USER_COUNT} users`,
    prepare: prepareUsers,
    run: async (system) => {
      let count = 0;
      for (let start = 1; start < USER_COUNT; start += PAGE_SIZE) {
        count += (await sendScim(system, 'GET', `Users?startIndex=${start}&count=${PAGE_SIZE}`)).Resources.length;
      }
      if (count < USER_COUNT) throw new Error(`${count} users`);
    },
  },
];
