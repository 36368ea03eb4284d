import createClient from 'openapi-fetch';
import type { paths } from './openapi-typescript.js';
import { CSV, citiesOf, FILTER, groupOf, NO_ROW, pagesBy, problemOf, run, type Told, until } from './story.js';

await run(async ({ baseUrl, companySlug: company_slug, email, password, name }): Promise<Told> => {
  const client = createClient<paths>({ baseUrl });

  const refused = await client.POST('/v1/auth/login', { body: { company_slug, email, password: 'wrong' } });
  if (refused.error?.error !== 'INVALID_CREDENTIALS') throw new Error('a wrong password was not refused');
  const { data: session } = await client.POST('/v1/auth/login', { body: { company_slug, email, password } });
  if (!session || !('token' in session)) throw new Error('no session');
  client.use({
    onRequest({ request }) {
      request.headers.set('Authorization', `Bearer ${session.token}`);
    },
  });

  const created = await client.POST('/v1/groups', { body: groupOf(name) });
  if (!created.data || !('name' in created.data)) throw new Error('no group');
  const listed = await client.GET('/v1/groups', { params: { query: { search: name } } });
  const taken = await client.POST('/v1/groups', { body: groupOf(name) });
  const wrong = await client.POST('/v1/groups', { body: { ...groupOf(name), name: 'x' } });
  const problems = wrong.error && 'details' in wrong.error ? wrong.error.details : undefined;

  const uploaded = await client.POST('/v1/managed-tables/upload', {
    body: { files: [new File([CSV], `${name}.csv`)] },
    bodySerializer({ files }) {
      const form = new FormData();
      for (const file of files) form.append('files', file);
      return form;
    },
  });
  if (!uploaded.data) throw new Error('no upload');
  const params = { path: { jobId: uploaded.data.job_id } };
  const job = async () => (await client.GET('/v1/managed-tables/upload-jobs/{jobId}', { params })).data;
  const { suggested_table_name: display_name, columns } = await until(
    async () => (await job())?.inferred_schema ?? undefined,
  );
  const confirmed = await client.POST('/v1/managed-tables/upload-jobs/{jobId}/confirm', {
    params,
    body: { display_name, columns },
  });
  if (!confirmed.data) throw new Error(JSON.stringify(confirmed.error));
  const id = await until(async () => {
    const now = await job();
    return now?.status === 'done' ? (now.user_table_id ?? undefined) : undefined;
  });

  type Query = paths['/v1/managed-tables/{id}/data']['get']['parameters']['query'];
  const rows = async (query: Query) => {
    const { data } = await client.GET('/v1/managed-tables/{id}/data', { params: { path: { id }, query } });
    if (!data) throw new Error('no rows');
    return data;
  };
  const missing = await client.GET('/v1/managed-tables/{id}/data/{rowId}', { params: { path: { id, rowId: NO_ROW } } });

  return {
    refused: refused.error.error,
    created: created.data.name,
    listed: listed.data?.records.map((group) => group.name) ?? [],
    taken: taken.error?.error ?? '',
    problems: Array.isArray(problems) ? problems.map(problemOf) : [],
    columns: columns.map((column) => `${column.name} ${column.type}`),
    pages: await pagesBy((cursor) => rows({ cursor, per_page: 2, sort_by: 'age' })),
    filtered: citiesOf(await rows({ filter: FILTER, sort_by: 'age' })),
    missing: missing.error && 'error_code' in missing.error ? missing.error.error_code : '',
  };
});
