import type { ServiceAccountActor } from '../../access/actors.ts';
import { invalidToken, unknownRoute } from '../../access/failures.ts';
import type { CompanyContext, Context } from '../../context.ts';
import { accepted, createEndpointFunction, ok, raw } from '../../http/endpoint.ts';
import { declareWaiting } from '../../http/waiting.ts';
import { MEDIA_TYPES } from '../../kernel/files.ts';
import { organizationNotFound, wrongOperatorToken } from '../organizations/failures.ts';
import { getOrganization } from '../organizations/service.ts';
import { exportNotFound } from './failures.ts';
import { type ArchiveViewer, downloadArchive } from './link.ts';
import { getExport, readExportVersions, startExport } from './service.ts';
import { exportView, startedExportView, viewExport, viewStartedExport } from './views.ts';

const endpoint = createEndpointFunction<ServiceAccountActor, ArchiveViewer>();

const OPERATOR_OPTIONS = { forOperator: true };

/** Failures of the operator's routes, which do not exist where the platform has no operator. */
const operatorFailures = [unknownRoute, wrongOperatorToken];

/** Returns the context in which the operator acts for a company. */
async function makeCompanyContext(ctx: Context, id: string): Promise<CompanyContext> {
  const company = await getOrganization(ctx, id);
  return { ...ctx, actor: { kind: 'system', companyId: company.id } };
}

export const organizationExportEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/admin/organizations/{id}/exports',
      access: 'operator',
      operationId: 'createOrganizationExport',
      summary: 'Create an export of an organization',
      description:
        'As the export that its owner can create on the console API. It is also made while the organization is suspended. While an export is under way, that one is returned, and goes on whether or not the organization is suspended.',
      returns: accepted(startedExportView),
      fails: [...operatorFailures, organizationNotFound],
    },
    async ({ ctx, params }) =>
      viewStartedExport(await startExport(await makeCompanyContext(ctx, params.id), OPERATOR_OPTIONS)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/admin/organizations/{id}/exports/{export_id}',
      access: 'operator',
      operationId: 'getOrganizationExport',
      summary: 'Get an export of an organization',
      description:
        'Until a day after it ended, whoever created it. The `url` also works while the organization is suspended; that of an owner does not.',
      returns: ok(exportView),
      ...declareWaiting(readExportVersions, 'url', 'expires_at'),
      fails: [...operatorFailures, organizationNotFound, exportNotFound],
    },
    async ({ ctx, params }) => {
      const foundExport = await getExport(await makeCompanyContext(ctx, params.id), params.export_id);
      return viewExport(ctx, foundExport, OPERATOR_OPTIONS);
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/data/archives/{token}',
      access: { token: 'company-export' },
      operationId: 'downloadCompanyExport',
      summary: 'Download an export of a company',
      description:
        'The link is the `url` of an export that succeeded. It needs no other credential, and is good until the `expires_at` beside it.',
      returns: raw(200, 'The archive.', MEDIA_TYPES.zip),
      fails: [exportNotFound, invalidToken],
    },
    ({ ctx }) => downloadArchive(ctx),
  ),
];
