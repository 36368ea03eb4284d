import { z } from 'zod';
import { accepted, ok } from '../../../http/endpoint.ts';
import { makeWholeNumberSchema } from '../../../http/list-query.ts';
import { endpoint } from '../../../http/surfaces/organization.ts';
import { formatIsoTimestamp, timestampSchema } from '../../../kernel/fields.ts';
import {
  certificateNotFound,
  erasureBegun,
  operatorFailures,
  organizationDeleting,
  organizationNotDeleting,
  organizationNotFound,
} from '../failures.ts';
import { addCompanyDataUsage } from '../service.ts';
import { organizationView, viewOrganization } from '../views.ts';
import { endOrganization, readCertificate, restoreOrganization } from './service.ts';

const DEFAULT_DELETION_DAYS = 30;

export const companyEndEndpoints = [
  endpoint(
    {
      method: 'delete',
      path: '/admin/organizations/{id}',
      access: 'operator',
      operationId: 'deleteOrganization',
      summary: 'Delete an organization',
      description:
        'Suspends it at once. After so many days everything of it is erased: its database, files, logs and records. Until then it can be restored. Asked for again with an earlier end, that one counts; with a later one it is 409.',
      query: z.strictObject({
        after_days: makeWholeNumberSchema(DEFAULT_DELETION_DAYS, 0, 90).describe(
          'Days until its erasure begins; with 0 it begins within a minute or two.',
        ),
      }),
      returns: accepted(z.object({ deletes_at: timestampSchema })),
      fails: [...operatorFailures, organizationNotFound, organizationDeleting],
    },
    async ({ ctx, params, query }) => ({
      deletes_at: formatIsoTimestamp(await endOrganization(ctx, params.id, query.after_days)),
    }),
  ),
  endpoint(
    {
      method: 'post',
      path: '/admin/organizations/{id}/restore',
      access: 'operator',
      operationId: 'restoreOrganization',
      summary: 'Restore an organization that is being deleted',
      description:
        'Until its erasure begins. It is active then, also where it was suspended before: suspend it again if it is not to be let in.',
      returns: ok(organizationView),
      fails: [...operatorFailures, organizationNotFound, organizationNotDeleting, erasureBegun],
    },
    async ({ ctx, params }) =>
      viewOrganization(await addCompanyDataUsage(ctx, await restoreOrganization(ctx, params.id))),
  ),
  endpoint(
    {
      method: 'get',
      path: '/admin/organizations/{id}/certificate',
      access: 'operator',
      operationId: 'getErasureCertificate',
      summary: 'Get the certificate of an erased organization',
      description:
        'A JWS that the keys of `/.well-known/jwks.json` verify, of type `erasure-certificate`: `organization_id`, `requested_at`, `completed_at`, `stores` (`store`, `removed`, `at`) and `backups_until`. It is there once everything is erased.',
      returns: ok(z.object({ certificate: z.string() })),
      fails: [...operatorFailures, certificateNotFound],
    },
    async ({ ctx, params }) => ({ certificate: await readCertificate(ctx, params.id) }),
  ),
];
