import {
  type Client,
  createClient,
  fieldErrors,
  type StoredSession,
  type UploadProgress,
  withKey,
  withSession,
} from 'data-console-client';

/** The address of the running system, and the credentials of the people of its company. */
export interface DemoSystem {
  base_url: string;
  company: { slug: string };
  owner: { email: string; password: string };
  service_account: { access_key: string; secret_key: string };
}

const ROW_COUNT = 20_000;

/** Uses each feature of the client, and returns the results. */
export async function useClient({ base_url: baseUrl, company, owner, service_account: key }: DemoSystem) {
  let session: StoredSession | null = null;
  let writeCount = 0;
  const sessionStore = {
    read: async () => session,
    write: async (next: StoredSession | null) => {
      session = next;
      writeCount += 1;
    },
  };
  const api = createClient({ baseUrl, credential: withSession({ store: sessionStore }) });
  const answer = await api.post('/v1/auth/login', { body: { company_slug: company.slug, ...owner } });
  if (!('token' in answer)) throw new Error('A second factor is asked for.');
  // Long ago: its token is exchanged for another one.
  await sessionStore.write({ ...answer, received_at: 1 });
  const users: string[] = [];
  for await (const { email } of api.list('/v1/users', { query: { search: undefined } })) users.push(email);

  const keyClient = createClient({ baseUrl, credential: withKey(key) });
  const accounts = await keyClient.get('/accounts', { query: { quantity: 1 } });
  const me = await keyClient.get('/v1/auth/me');

  const refusedError: unknown = await api
    .post('/v1/groups', { body: { name: '', slug: 'a', description: 'Of nothing but a test.' } })
    .catch((error: unknown) => error);

  const progressReports: UploadProgress[] = [];
  const lines = Array.from({ length: ROW_COUNT }, (_, n) => `${n},"Cliente, ${n}"\n`);
  const file = new File(['n,nome "inteiro"\n', ...lines], 'clientes "novos".csv', { type: 'text/csv' });
  const job = await api.upload([file], { onProgress: (progress) => progressReports.push(progress) });
  const readJob = await api.waitFor(job);
  await api.post('/v1/managed-tables/upload-jobs/{jobId}/cancel', { params: { jobId: job._id } });
  const abortedUpload = await api.upload(file, { signal: AbortSignal.abort() }).catch((error: Error) => error.name);

  await api.post('/v1/auth/logout');
  const endedSession = await api.get('/v1/auth/me').then(
    () => 200,
    ({ status }: { status: number }) => status,
  );
  return {
    isListed: users.includes(owner.email),
    accounts: accounts.results.length,
    user: me.user,
    fields: Object.keys(fieldErrors(refusedError)),
    name: job.files[0]?.original_name,
    size: job.files[0]?.size_bytes === file.size,
    progress: [progressReports[0]?.sent, progressReports.at(-1)?.sent === file.size, progressReports.length > 1],
    status: readJob.status,
    rows: readJob.inferred_schema?.total_row_count_estimate,
    stopped: abortedUpload,
    ended: endedSession,
    session,
    // The sign-in, the refresh, and the end.
    written: writeCount,
  };
}

// What the contract does not know does not compile.
export const _misuseClient = (api: Client) => {
  // @ts-expect-error there is no such path
  api.get('/nothing');
  // @ts-expect-error a group has a name
  api.post('/groups', { body: {} });
};
