import { z } from 'zod';
import { formatIsoTimestamp, formatIsoTimestampOrNull, timestampSchema } from '../../kernel/fields.ts';
import type { Organization } from './service.ts';
import { quotasView, viewQuotas } from './usage-fields.ts';

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
    usage: z
      .object({
        users: z.int(),
        tables: z.int(),
        rows: z.int(),
        table_bytes: z.int(),
        file_bytes: z.int(),
      })
      .meta({
        id: 'OrganizationUse',
        description:
          'How much it holds: users with the invited ones, living tables with their indexes, and uploaded files, which are kept for a day after their job. In lists and answers of changes all but `users` is what was measured last: when it was looked at, or minutes after an upload.',
      }),
  })
  .meta({ id: 'Organization' });

export const viewOrganization = ({
  company: { id, name, slug, createdAt, suspendedAt, deletesAt, quotas },
  usage,
}: Organization): z.input<typeof organizationView> => ({
  id,
  name,
  slug,
  status: deletesAt !== null ? 'deleting' : suspendedAt === null ? 'active' : 'suspended',
  created_at: formatIsoTimestamp(createdAt),
  suspended_at: formatIsoTimestampOrNull(suspendedAt),
  deletes_at: formatIsoTimestampOrNull(deletesAt),
  quotas: viewQuotas(quotas),
  usage: {
    users: usage.users,
    tables: usage.tables,
    rows: usage.rows,
    table_bytes: usage.tableBytes,
    file_bytes: usage.fileBytes,
  },
});
