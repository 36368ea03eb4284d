import { z } from 'zod';
import { makeView, toBodyFields } from '../../http/wire.ts';
import { displayNameSchema, isoMillisecondsSchema, timestampSchema } from '../../kernel/fields.ts';
import { embedOptionsView, filterPoliciesField, originField, viewEmbedOptions } from '../viewing/views.ts';
import { getShareStatus, type ShareWithViews } from './service.ts';

const MAX_ORIGINS = 50;

const termFields = {
  name: displayNameSchema,
  share_type: z.enum(['link', 'embed']),
  share_context_id: z
    .string()
    .min(1)
    .max(64)
    .nullable()
    .meta({ description: 'If set, only members of this share context may see the dashboard.' }),
  expires_at: isoMillisecondsSchema.nullable().meta({ description: 'When the share stops working; null for never.' }),
  embed_options: z
    .object({
      allowed_origins: z.array(originField).max(MAX_ORIGINS),
      hide_header: z.boolean(),
      hide_controls: z.boolean(),
      allow_downloads: z.boolean(),
    })
    .partial(),
  share_filter_policies: filterPoliciesField,
};

type SentTerms = Partial<z.output<z.ZodObject<typeof termFields>>>;

/** Converts the sent fields to the names that the service uses. */
const toTerms = <Body extends SentTerms>({ share_filter_policies: filterPolicies, ...terms }: Body) => ({
  ...toBodyFields(terms),
  ...(filterPolicies !== undefined && { filterPolicies }),
});

/** The body that creates a share. */
export const newShareInput = z
  .object({ ...termFields, share_type: termFields.share_type })
  .partial({ name: true, share_context_id: true, expires_at: true, embed_options: true, share_filter_policies: true })
  .transform((body) => ({
    shareContextId: null,
    expiresAt: null,
    embedOptions: {},
    filterPolicies: [],
    ...toTerms(body),
  }));

/** The body that changes a share: only fields that are sent change. */
export const shareChangesInput = z.object(termFields).partial().transform(toTerms);

/** A share as users of the company see it. */
export const shareView = z
  .object({
    id: z.string(),
    dashboard_id: z.string(),
    name: z.string(),
    share_type: z.enum(['link', 'embed']),
    share_context_id: z.string().nullable(),
    requires_auth: z.boolean(),
    expires_at: timestampSchema.nullable(),
    embed_options: embedOptionsView,
    share_filter_policies: filterPoliciesField,
    status: z.enum(['active', 'revoked', 'expired']),
    token: z.string().optional().meta({ description: 'Only in the answer that creates the share.' }),
    url: z
      .string()
      .optional()
      .meta({ description: 'The page to hand out; only in the answer that creates the share.' }),
    created_by: z.string(),
    created_at: timestampSchema,
    updated_at: timestampSchema,
    last_accessed_at: timestampSchema.nullable(),
    view_count: z.int().meta({ description: 'How often it was executed.' }),
  })
  .meta({ id: 'DashboardShare' });

const viewShareRecord = makeView(shareView);

export const viewShare = (
  { now, baseUrl }: { now(): number; baseUrl: string },
  { share, viewCount, lastAccessedAt, token }: ShareWithViews & { token?: string },
) =>
  viewShareRecord({
    ...share,
    requiresAuth: share.shareContextId !== null,
    embedOptions: viewEmbedOptions(share.embedOptions),
    shareFilterPolicies: share.filterPolicies,
    status: getShareStatus(share, now()),
    ...(token !== undefined && { token, url: `${baseUrl}/p/${token}` }),
    createdBy: share.createdByUserId,
    lastAccessedAt,
    viewCount,
  });
