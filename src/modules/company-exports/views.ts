import { z } from 'zod';
import type { Context } from '../../context.ts';
import { EXPORT_STATUSES } from '../../db/schema/company-exports.ts';
import { formatIsoTimestampOrNull, timestampSchema } from '../../kernel/fields.ts';
import { createArchiveLink } from './link.ts';
import type { CompanyExport } from './service.ts';

const status = z.enum(EXPORT_STATUSES);

/** The response with a requested export. */
export const startedExportView = z.object({ export_id: z.string(), status });

export const viewStartedExport = ({ id, status }: CompanyExport): z.input<typeof startedExportView> => ({
  export_id: id,
  status,
});

export const exportView = z
  .object({
    export_id: z.string(),
    status,
    bytes: z.int().nullable().meta({ description: 'The size of the archive.' }),
    url: z.string().nullable().meta({
      description:
        'A link to download the archive without a credential: keep it as you would keep the archive. Each request returns a new one.',
    }),
    expires_at: timestampSchema
      .nullable()
      .meta({ description: 'When the archive is deleted, and `url` stops working: a day after the export ended.' }),
    error: z.string().nullable().meta({ description: 'Why the export failed.' }),
  })
  .meta({ id: 'CompanyExport' });

export const viewExport = async (
  ctx: Context,
  companyExport: CompanyExport,
  reader: { forOperator: boolean },
): Promise<z.input<typeof exportView>> => ({
  ...viewStartedExport(companyExport),
  bytes: companyExport.bytes,
  url: companyExport.status === 'succeeded' ? await createArchiveLink(ctx, companyExport, reader) : null,
  expires_at: formatIsoTimestampOrNull(companyExport.expiresAt),
  error: companyExport.error,
});
