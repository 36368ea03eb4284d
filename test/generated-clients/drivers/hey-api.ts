import { client } from './hey-api/client.gen.js';
import {
  confirmUploadJob,
  createGroup,
  getManagedTableRow,
  getUploadJob,
  listGroups,
  listManagedTableRows,
  signInWithPassword,
  uploadNewManagedTable,
} from './hey-api/sdk.gen.js';
import type { ListManagedTableRowsData } from './hey-api/types.gen.js';
import { CSV, citiesOf, FILTER, groupOf, NO_ROW, pagesBy, problemOf, run, type Told, until } from './story.js';

await run(async ({ baseUrl, companySlug: company_slug, email, password, name }): Promise<Told> => {
  client.setConfig({ baseUrl });

  const refused = await signInWithPassword({ body: { company_slug, email, password: 'wrong' } });
  if (refused.error?.error !== 'INVALID_CREDENTIALS') throw new Error('a wrong password was not refused');
  const { data: session } = await signInWithPassword({ body: { company_slug, email, password } });
  if (!session || !('token' in session)) throw new Error('no session');
  client.setConfig({ auth: session.token });

  const created = await createGroup({ body: groupOf(name) });
  if (!created.data || !('name' in created.data)) throw new Error('no group');
  const listed = await listGroups({ query: { search: name } });
  const taken = await createGroup({ body: groupOf(name) });
  const wrong = await createGroup({ body: { ...groupOf(name), name: 'x' } });
  const problems = wrong.error && 'details' in wrong.error ? wrong.error.details : undefined;

  const uploaded = await uploadNewManagedTable({ body: { files: [new File([CSV], `${name}.csv`)] } });
  if (!uploaded.data) throw new Error('no upload');
  const path = { jobId: uploaded.data.job_id };
  const job = async () => (await getUploadJob({ path })).data;
  const { suggested_table_name: display_name, columns } = await until(
    async () => (await job())?.inferred_schema ?? undefined,
  );
  const confirmed = await confirmUploadJob({ path, body: { display_name, columns } });
  if (!confirmed.data) throw new Error(JSON.stringify(confirmed.error));
  const id = await until(async () => {
    const now = await job();
    return now?.status === 'done' ? (now.user_table_id ?? undefined) : undefined;
  });

  const rows = async (query: ListManagedTableRowsData['query']) => {
    const { data } = await listManagedTableRows({ path: { id }, query });
    if (!data) throw new Error('no rows');
    return data;
  };
  const missing = await getManagedTableRow({ path: { id, rowId: NO_ROW } });

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
