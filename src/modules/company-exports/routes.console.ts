import { accepted, ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { declareWaiting } from '../../http/waiting.ts';
import { exportNotFound } from './failures.ts';
import { getExport, readExportVersions, startExport } from './service.ts';
import { exportView, startedExportView, viewExport, viewStartedExport } from './views.ts';

const OWNER_OPTIONS = { forOperator: false };

export const companyExportEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/v1/company/exports',
      access: 'authenticated',
      only: 'owner',
      operationId: 'createCompanyExport',
      summary: 'Create an export of the company',
      description:
        'Writes everything that the company has into one ZIP file, in the background, for its owner: `manifest.json` with the rows and the SHA-256 of each file, all records without secrets and all events as NDJSON, tables as Parquet with their schemas, the domain knowledge as Apache Ossie, the logo. While an export is under way, that one is returned.',
      returns: accepted(startedExportView),
      fails: [],
    },
    async ({ ctx }) => viewStartedExport(await startExport(ctx, OWNER_OPTIONS)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/company/exports/{export_id}',
      access: 'authenticated',
      only: 'owner',
      operationId: 'getCompanyExport',
      summary: 'Get an export of the company',
      description:
        'For its owner, until a day after it ended. An export that the platform’s operator created is shown, too.',
      returns: ok(exportView),
      ...declareWaiting(readExportVersions, 'url', 'expires_at'),
      fails: [exportNotFound],
    },
    async ({ ctx, params }) => viewExport(ctx, await getExport(ctx, params.export_id), OWNER_OPTIONS),
  ),
];
