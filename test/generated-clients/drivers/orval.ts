import {
  confirmUploadJob,
  createGroup,
  getManagedTableRow,
  getUploadJob,
  type ListManagedTableRowsParams,
  listGroups,
  listManagedTableRows,
  signInWithPassword,
  uploadNewManagedTable,
} from './orval-client.js';
import { CSV, citiesOf, FILTER, groupOf, NO_ROW, pagesBy, problemOf, run, type Told, until } from './story.js';

await run(async ({ companySlug: company_slug, email, password, name }): Promise<Told> => {
  const refused = await signInWithPassword({ company_slug, email, password: 'wrong' });
  if (refused.status !== 400) throw new Error('a wrong password was not refused');
  const session = await signInWithPassword({ company_slug, email, password });
  if (session.status !== 200 || !('token' in session.data)) throw new Error('no session');
  const options: RequestInit = { headers: { Authorization: `Bearer ${session.data.token}` } };

  const created = await createGroup(groupOf(name), {}, options);
  if (created.status !== 201 || !('name' in created.data)) throw new Error('no group');
  const listed = await listGroups({ search: name }, options);
  const taken = await createGroup(groupOf(name), {}, options);
  const wrong = await createGroup({ ...groupOf(name), name: 'x' }, {}, options);
  const problems = wrong.status === 422 ? wrong.data.details : undefined;

  const uploaded = await uploadNewManagedTable({ files: [new File([CSV], `${name}.csv`)] }, options);
  if (uploaded.status !== 201) throw new Error('no upload');
  const { job_id } = uploaded.data;
  const job = async () => {
    const answer = await getUploadJob(job_id, {}, options);
    return answer.status === 200 ? answer.data : undefined;
  };
  const { suggested_table_name: display_name, columns } = await until(
    async () => (await job())?.inferred_schema ?? undefined,
  );
  const confirmed = await confirmUploadJob(job_id, { display_name, columns }, options);
  if (confirmed.status !== 200) throw new Error(JSON.stringify(confirmed.data));
  const id = await until(async () => {
    const now = await job();
    return now?.status === 'done' ? (now.user_table_id ?? undefined) : undefined;
  });

  const rows = async (query: ListManagedTableRowsParams) => {
    const page = await listManagedTableRows(id, query, options);
    if (page.status !== 200) throw new Error('no rows');
    return page.data;
  };
  const missing = await getManagedTableRow(id, NO_ROW, options);

  return {
    refused: refused.data.error,
    created: created.data.name,
    listed: listed.status === 200 ? listed.data.records.map((group) => group.name) : [],
    taken: taken.status === 409 ? taken.data.error : '',
    problems: Array.isArray(problems) ? problems.map(problemOf) : [],
    columns: columns.map((column) => `${column.name} ${column.type}`),
    pages: await pagesBy((cursor) => rows({ cursor, per_page: 2, sort_by: 'age' })),
    filtered: citiesOf(await rows({ filter: FILTER, sort_by: 'age' })),
    missing: missing.status === 404 ? missing.data.error_code : '',
  };
});
