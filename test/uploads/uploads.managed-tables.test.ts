import { expect, it } from 'vitest';
import { createProvisionedCompany } from '../support/companies.ts';
import { makeFile, uploadFiles, waitForAnalysis, waitForEnd } from './support.ts';

it('an upload creates a table from a file', async () => {
  const company = await createProvisionedCompany();
  const jobId = await uploadFiles(company, [makeFile('vendas.csv', 'nome,valor\nAna,1.5\nBia,2\n')]);
  const job = await waitForAnalysis(company, jobId);
  expect(job.inferred_schema).toMatchObject({ suggested_table_name: 'vendas', total_row_count_estimate: 2 });
  const { columns } = job.inferred_schema;
  const confirmation = await company.as.post(`/v1/managed-tables/upload-jobs/${jobId}/confirm`, {
    json: { display_name: 'vendas', columns },
  });
  expect(confirmation).toMatchObject({ status: 200, body: { status: 'inserting' } });
  const finishedJob = await waitForEnd(company, jobId);
  expect(finishedJob).toMatchObject({ status: 'done', error: null });
  // A row that comes later stands later, and its id is drawn as in every table.
  await company.as.post(`/v1/managed-tables/${finishedJob.user_table_id}/data`, {
    json: { rows: [{ nome: 'Caio', valor: 3 }] },
  });
  const rows = await company.as.get(`/v1/managed-tables/${finishedJob.user_table_id}/data`);
  expect(rows.body.records).toMatchObject([
    { nome: 'Ana', valor: 1.5 },
    { nome: 'Bia', valor: 2 },
    { nome: 'Caio', valor: 3 },
  ]);
});
