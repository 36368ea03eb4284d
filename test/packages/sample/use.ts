import {
  type Client,
  createClient,
  fieldErrors,
  type StoredSession,
  type UploadProgress,
  withKey,
  withSession,
} from 'data-console-client';

/** The system that answers, and the people of its company. */
export interface System {
  base_url: string;
  company: { slug: string };
  owner: { email: string; password: string };
  service_account: { access_key: string; secret_key: string };
}

const ROWS = 20_000;

/** Uses what the client can, and answers what came of it. */
export async function use({ base_url: baseUrl, company, owner, service_account: key }: System) {
  let session: StoredSession | null = null;
  let written = 0;
  const store = {
    read: async () => session,
    write: async (next: StoredSession | null) => {
      session = next;
      written += 1;
    },
  };
  const api = createClient({ baseUrl, credential: withSession({ store }) });
  const answer = await api.post('/v1/auth/login', { body: { company_slug: company.slug, ...owner } });
  if (!('token' in answer)) throw new Error('A second factor is asked for.');
  // Long ago: its token is exchanged for another one.
  await store.write({ ...answer, received_at: 1 });
  const users: string[] = [];
  for await (const { email } of api.list('/v1/users', { query: { search: undefined } })) users.push(email);

  const robot = createClient({ baseUrl, credential: withKey(key) });
  const accounts = await robot.get('/accounts', { query: { quantity: 1 } });
  const me = await robot.get('/v1/auth/me');

  const refused: unknown = await api
    .post('/v1/groups', { body: { name: '', slug: 'a', description: 'Of nothing but a test.' } })
    .catch((error: unknown) => error);

  const told: UploadProgress[] = [];
  const lines = Array.from({ length: ROWS }, (_, n) => `${n},"Cliente, ${n}"\n`);
  const file = new File(['n,nome "inteiro"\n', ...lines], 'clientes "novos".csv', { type: 'text/csv' });
  const job = await api.upload([file], { onProgress: (progress) => told.push(progress) });
  const read = await api.waitFor(job);
  await api.post('/v1/managed-tables/upload-jobs/{jobId}/cancel', { params: { jobId: job._id } });
  const stopped = await api.upload(file, { signal: AbortSignal.abort() }).catch((error: Error) => error.name);

  await api.post('/v1/auth/logout');
  const ended = await api.get('/v1/auth/me').then(
    () => 200,
    ({ status }: { status: number }) => status,
  );
  return {
    isListed: users.includes(owner.email),
    accounts: accounts.results.length,
    user: me.user,
    fields: Object.keys(fieldErrors(refused)),
    name: job.files[0]?.original_name,
    size: job.files[0]?.size_bytes === file.size,
    progress: [told[0]?.sent, told.at(-1)?.sent === file.size, told.length > 1],
    status: read.status,
    rows: read.inferred_schema?.total_row_count_estimate,
    stopped,
    ended,
    session,
    // The sign-in, the refresh, and the end.
    written,
  };
}

// What the contract does not know does not compile.
export const _wrong = (api: Client) => {
  // @ts-expect-error there is no such path
  api.get('/nothing');
  // @ts-expect-error a group has a name
  api.post('/groups', { body: {} });
};
