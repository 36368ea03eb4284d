import { z } from 'zod';
import { makeView } from '../../http/wire.ts';
import { timestampSchema } from '../../kernel/fields.ts';
import type { Organization } from './service.ts';
import { quotasView, viewQuotas } from './usage-fields.ts';

const useView = z
  .object({ users: z.int(), tables: z.int(), rows: z.int(), table_bytes: z.int(), file_bytes: z.int() })
  .meta({
    id: 'OrganizationUse',
    description:
      'How much it holds: users with the invited ones, living tables with their indexes, and uploaded files, which are kept for a day after their job. In lists and answers of changes all but `users` is what was measured last: when it was looked at, or minutes after an upload.',
  });
const viewUse = makeView(useView);

/** The response with a company, for the operator. */
export const organizationView = z
  .object({
    id: z.string(),
    name: z.string(),
    slug: z.string(),
    status: z.enum(['active', 'suspended', 'deleting']),
    created_at: timestampSchema,
    suspended_at: timestampSchema.nullable(),
    deletes_at: timestampSchema.nullable().meta({ description: 'When its erasure begins, where it is being deleted.' }),
    quotas: quotasView,
    usage: useView,
  })
  .meta({ id: 'Organization' });
const viewOrganizationRecord = makeView(organizationView);

export const viewOrganization = ({ company, usage }: Organization) =>
  viewOrganizationRecord({
    ...company,
    status: company.deletesAt !== null ? 'deleting' : company.suspendedAt === null ? 'active' : 'suspended',
    quotas: viewQuotas(company.quotas),
    usage: viewUse(usage),
  });
