import { createOwnedCompany, createProvisionedCompany } from '../../support/companies.ts';
import { makeFile, waitForAnalysis, waitForEnd } from '../../uploads/support.ts';
import { formatMetadata, parseUploadId, VERSION_HEADER } from '../../uploads/tus.ts';
import { type Step, type WalkState, walkRoutes } from '../walk.ts';

const SALES_CSV = 'day,region,amount\n2026-01-05,north,10.50\n2026-01-06,south,20.00\n2026-01-07,east,7.25\n';
const table = { id: 'table' };
const JOB_PARAMS = { jobId: 'job' };
const upload = { uploadId: 'upload' };
const BYTES_HEADERS = { ...VERSION_HEADER, 'content-type': 'application/offset+octet-stream' };

const makeFileForm = () => {
  const data = new FormData();
  data.append('files', makeFile('sales.csv', SALES_CSV));
  return data;
};
const waitForSchema = async ({ company, storedValues }: WalkState) => {
  await waitForAnalysis(company, storedValues.job as string);
};

const waitForLoad = async ({ company, storedValues }: WalkState) => {
  await waitForEnd(company, storedValues.job as string);
};

const STEPS: Step[] = [
  { route: 'POST /v1/managed-tables/provision' },
  { route: 'GET /v1/managed-tables/status' },
  {
    route: 'POST /v1/managed-tables',
    json: () => ({
      display_name: 'stores',
      columns: [
        { name: 'city', display_name: 'City', type: 'text', nullable: false },
        { name: 'opened_on', display_name: 'Opened on', type: 'date', nullable: true },
      ],
    }),
    getStoredValues: ({ _id }) => ({ table: _id }),
    strangerStatus: 'never',
  },
  { route: 'GET /v1/managed-tables', query: () => ({ search: 'store' }) },
  { route: 'GET /v1/managed-tables/{id}', params: table },
  { route: 'PUT /v1/managed-tables/{id}', params: table, json: () => ({ display_name: 'shops' }) },
  {
    route: 'POST /v1/managed-tables/{id}/data',
    params: table,
    json: () => ({ rows: [{ city: 'Lisboa', opened_on: '2024-05-02' }, { city: 'Porto' }] }),
  },
  {
    route: 'GET /v1/managed-tables/{id}/data',
    params: table,
    query: () => ({ sort_by: '-city', per_page: '10', 'filter[city][in]': 'Lisboa,Porto', cursor: '', count: 'exact' }),
    getStoredValues: ({ records }) => ({ row: records[0].id }),
  },
  {
    route: 'GET /v1/managed-tables/{id}/export',
    params: table,
    query: () => ({
      format: 'csv',
      safe: 'true',
      sort_by: '-city',
      fields: 'city',
      'filter[city][in]': 'Lisboa,Porto',
    }),
  },
  { route: 'GET /v1/managed-tables/{id}/data/{rowId}', params: { ...table, rowId: 'row' } },
  {
    route: 'PUT /v1/managed-tables/{id}/data/{rowId}',
    params: { ...table, rowId: 'row' },
    json: () => ({ opened_on: '2025-03-01' }),
  },
  { route: 'DELETE /v1/managed-tables/{id}/data/{rowId}', params: { ...table, rowId: 'row' } },
  {
    route: 'POST /v1/managed-tables/{id}/indexes',
    params: table,
    json: () => ({ columns: ['city'], unique: true }),
    getStoredValues: ({ id }) => ({ index: id }),
  },
  { route: 'GET /v1/managed-tables/{id}/indexes', params: table },
  { route: 'DELETE /v1/managed-tables/{id}/indexes/{index_id}', params: { ...table, index_id: 'index' } },
  { route: 'POST /v1/managed-tables/{id}/truncate', params: table },
  {
    route: 'POST /v1/managed-tables/upload',
    body: makeFileForm,
    getStoredValues: ({ job_id }) => ({ job: job_id }),
    strangerStatus: 'never',
  },
  { route: 'GET /v1/managed-tables/upload-jobs/{jobId}', params: JOB_PARAMS, prepareStep: waitForSchema },
  { route: 'GET /v1/managed-tables/upload-jobs/active' },
  {
    route: 'POST /v1/managed-tables/upload-jobs/{jobId}/analyze',
    params: JOB_PARAMS,
    json: () => ({ delimiter: ',', header: true }),
  },
  {
    route: 'POST /v1/managed-tables/upload-jobs/{jobId}/confirm',
    params: JOB_PARAMS,
    prepareStep: waitForSchema,
    json: () => ({
      display_name: 'sales',
      columns: [
        { name: 'day', display_name: 'Day', type: 'date', nullable: false, source_index: 0 },
        { name: 'region', display_name: 'Region', type: 'text', nullable: false, source_index: 1 },
        { name: 'amount', display_name: 'Amount', type: 'decimal', nullable: true, source_index: 2 },
      ],
    }),
  },
  {
    route: 'POST /v1/managed-tables/{id}/upload',
    params: table,
    body: () => {
      const data = new FormData();
      data.append('mode', 'append');
      data.append('files', makeFile('shops.csv', 'city,opened_on\nFaro,2026-01-02\n'));
      return data;
    },
    getStoredValues: ({ job_id }) => ({ job: job_id }),
  },
  { route: 'POST /v1/managed-tables/upload-jobs/{jobId}/cancel', params: JOB_PARAMS, prepareStep: waitForSchema },
  {
    route: 'POST /v1/managed-tables/{id}/upload',
    params: table,
    body: () => {
      const data = new FormData();
      data.append('files', makeFile('shops.csv', 'city,opened_on\nFaro,2026-01-02\n'));
      return data;
    },
    getStoredValues: ({ job_id }) => ({ job: job_id }),
    isNoExample: true,
  },
  {
    route: 'POST /v1/managed-tables/upload-jobs/{jobId}/confirm',
    params: JOB_PARAMS,
    prepareStep: waitForSchema,
    json: () => ({
      columns: [{ name: 'city', display_name: 'City', type: 'text', nullable: false, source_index: 0 }],
    }),
    isNoExample: true,
  },
  { route: 'GET /v1/managed-tables/{id}/loads', params: table, prepareStep: waitForLoad },
  { route: 'POST /v1/managed-tables/upload-jobs/{jobId}/undo', params: JOB_PARAMS },
  {
    route: 'POST /v1/managed-tables/upload-from-url',
    json: () => ({ url: 'https://files.example.com/sales.csv' }),
    strangerStatus: 'never',
  },
  {
    route: 'POST /v1/managed-tables/uploads',
    headers: { ...VERSION_HEADER, 'upload-length': '12', 'upload-metadata': formatMetadata({ filename: 'shops.csv' }) },
    getStoredValues: (_, { headers }) => ({ upload: parseUploadId(headers.get('location') as string) }),
    strangerStatus: 'never',
  },
  { route: 'GET /v1/managed-tables/uploads/{uploadId}', params: upload },
  {
    route: 'PATCH /v1/managed-tables/uploads/{uploadId}',
    params: upload,
    headers: { ...BYTES_HEADERS, 'upload-offset': '0' },
    body: () => 'city\n',
  },
  {
    route: 'POST /v1/managed-tables/uploads/{uploadId}',
    params: upload,
    headers: { ...BYTES_HEADERS, 'upload-offset': '5', 'x-http-method-override': 'PATCH' },
    body: () => 'Porto',
  },
  { route: 'DELETE /v1/managed-tables/uploads/{uploadId}', params: upload, headers: VERSION_HEADER },
  { route: 'DELETE /v1/managed-tables/{id}', params: table },
  { route: 'GET /v1/managed-tables/deleted' },
  { route: 'POST /v1/managed-tables/{id}/restore', params: table },
];

walkRoutes(
  ['Managed tables'],
  'managed-tables',
  async () => ({
    company: await createOwnedCompany({ slug: 'acme' }),
    otherCompany: await createProvisionedCompany({ slug: 'stranger' }),
  }),
  STEPS,
);
