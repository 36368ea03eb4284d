import { z } from 'zod';
import { isoTimestamp, isoTimestampOrNull, timestamp } from '../../kernel/fields.ts';
import type { Company } from '../companies/service.ts';

/** A company as the operator sees it. */
export const organizationView = z
  .object({
    id: z.string(),
    name: z.string(),
    slug: z.string(),
    status: z.enum(['active', 'suspended', 'deleting']),
    created_at: timestamp,
    suspended_at: timestamp.nullable(),
    deletes_at: timestamp.nullable().meta({ description: 'When its erasure begins, where it is being deleted.' }),
  })
  .meta({ id: 'Organization' });

export const viewOrganization = ({
  id,
  name,
  slug,
  createdAt,
  suspendedAt,
  deletesAt,
}: Company): z.input<typeof organizationView> => ({
  id,
  name,
  slug,
  status: deletesAt !== null ? 'deleting' : suspendedAt === null ? 'active' : 'suspended',
  created_at: isoTimestamp(createdAt),
  suspended_at: isoTimestampOrNull(suspendedAt),
  deletes_at: isoTimestampOrNull(deletesAt),
});
