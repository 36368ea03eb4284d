import { z } from 'zod';
import { DATA_FORMATS, DATA_JOB_STATUSES } from '../../../db/schema/data-jobs.ts';
import { makeView } from '../../../http/wire.ts';
import { timestampSchema } from '../../../kernel/fields.ts';
import type { AuditRecord } from '../../../logs/audit-record.ts';
import { LOCALES } from '../../../texts/locales.ts';
import { auditEventView, viewAuditEvent } from '../../audit/views.ts';
import { consoleGroupView, groupBindingView, viewConsoleGroup, viewGroupBinding } from '../../groups/views.ts';
import { jobRecord, viewJob } from '../../knowledge/generation/views.ts';
import { suggestionRecord, viewSuggestion } from '../../knowledge/suggestions/views.ts';
import { createTableView, tableRecord } from '../../managed-tables/views.ts';
import { toOwnPolicy } from '../../policies/service.ts';
import { policyView, viewPolicy } from '../../policies/views.ts';
import type { Schedule } from '../../schedules/service.ts';
import { scheduleRecord, viewSchedule } from '../../schedules/views.ts';
import {
  consoleApiKeyView,
  consoleServiceAccountView,
  viewConsoleApiKey,
  viewConsoleServiceAccount,
} from '../../service-accounts/views.ts';
import { shareEventView, viewShareEvent } from '../../share-activity/views.ts';
import { uploadJobView } from '../../uploads/views.ts';
import { consoleUserView, viewConsoleUser } from '../../users/views.ts';

/** A kind of record that events are about: the schema of its data, the view of the stored record, and an example. */
export interface EventConcept {
  data: z.ZodObject;
  view(record: never, relatedData: RelatedData): object;
  example: object;
}

/** Data that an event shows in addition to the record's own row. */
export interface RelatedData {
  /** The groups that a user is in on the console. */
  groupIds: string[];
  /** The permissions that a group lists. */
  permissionIds: string[];
  /** The policies that a group lists. */
  policyIds: string[];
  /** The company's managed database. */
  connectionId: string | null;
}

const EXAMPLE_ID = '6650a1b2c3d4e5f601234567';
const EXAMPLE_REFERENCED_ID = '6650a1b2c3d4e5f6089abcde';
const EXAMPLE_TIME = '2026-01-31T12:00:00.000Z';

const EXAMPLE_TIMESTAMPS = { created_at: EXAMPLE_TIME, updated_at: EXAMPLE_TIME };

const attachmentView = z.object({ group_id: z.string(), policy_id: z.string() }).meta({ id: 'WebhookAttachment' });
const companyView = z
  .object({
    _id: z.string(),
    name: z.string(),
    slug: z.string(),
    require_2fa: z.boolean(),
    sso_only: z.boolean(),
    locale: z.enum(LOCALES),
  })
  .meta({ id: 'WebhookCompany' });
const uploadView = uploadJobView
  .omit({ inferred_schema: true })
  .extend({
    created_by_user_id: z.string(),
    status: z.enum(['waiting_confirm', 'done', 'failed']),
    error: uploadJobView.shape.error.unwrap().omit({ value: true }).nullable(),
    error_code: z
      .string()
      .nullable()
      .meta({ examples: ['VALUE_DOES_NOT_FIT'] }),
  })
  .meta({ id: 'WebhookUpload', description: 'An upload job, without what was read of its files.' });
const dataJobView = z
  .object({
    job_id: z.string(),
    endpoint_id: z.string(),
    slug: z.string(),
    format: z.enum(DATA_FORMATS),
    status: z.enum(DATA_JOB_STATUSES),
    row_count: z.int().nullable(),
    bytes: z.int().nullable(),
    error: z.string().nullable(),
    created_at: timestampSchema,
    updated_at: timestampSchema,
  })
  .meta({ id: 'WebhookDataJob' });
const viewDataJob = makeView(dataJobView);
const auditRecordsView = z
  .object({ records: z.array(auditEventView) })
  .meta({ id: 'WebhookAuditRecords', description: 'Up to 500 records of the audit trail.' });

/** The kinds of records that events are about. */
export const CONCEPTS = {
  user: {
    data: consoleUserView.omit({ groups: true }).meta({ id: 'WebhookUser' }),
    view: (record: Parameters<typeof viewConsoleUser>[0]['user'], { groupIds }) => {
      const { groups: _, ...shown } = viewConsoleUser({ user: record, groupIds });
      return shown;
    },
    example: {
      _id: EXAMPLE_ID,
      email: 'ana@example.com',
      name: 'Ana',
      company_id: EXAMPLE_REFERENCED_ID,
      status: 'active',
      teams: [],
      group_ids: [],
      created_at: EXAMPLE_TIME,
    },
  },
  group: {
    data: consoleGroupView,
    view: (record: Omit<Parameters<typeof viewConsoleGroup>[0], 'permissionIds' | 'policyIds'>, related) =>
      viewConsoleGroup({ ...record, permissionIds: related.permissionIds, policyIds: related.policyIds }),
    example: {
      _id: EXAMPLE_ID,
      name: 'Analysts',
      slug: 'analysts',
      description: '',
      company_id: EXAMPLE_REFERENCED_ID,
      is_global: false,
      roles: [],
      permissionIds: [],
      attached_policies: [],
      ...EXAMPLE_TIMESTAMPS,
    },
  },
  membership: {
    data: groupBindingView,
    view: viewGroupBinding,
    example: {
      id: EXAMPLE_ID,
      group_id: EXAMPLE_REFERENCED_ID,
      principal_type: 'user',
      principal_id: EXAMPLE_REFERENCED_ID,
      account_id: EXAMPLE_REFERENCED_ID,
      created_at: EXAMPLE_TIME,
    },
  },
  policy: {
    data: policyView,
    view: (record: Parameters<typeof toOwnPolicy>[0]) => viewPolicy(toOwnPolicy(record)),
    example: {
      _id: EXAMPLE_ID,
      arn: `arn:svc:iam::${EXAMPLE_REFERENCED_ID}:policy/inline/Reports`,
      name: 'Reports',
      description: '',
      type: 'inline',
      document: {
        version: '2024-01-01',
        statements: [{ effect: 'Allow', actions: ['dashboards:get'], resources: ['*'] }],
      },
      is_deprecated: false,
      ...EXAMPLE_TIMESTAMPS,
    },
  },
  attachment: {
    data: attachmentView,
    view: makeView(attachmentView),
    example: { group_id: EXAMPLE_ID, policy_id: EXAMPLE_REFERENCED_ID },
  },
  serviceAccount: {
    data: consoleServiceAccountView,
    view: viewConsoleServiceAccount,
    example: {
      _id: EXAMPLE_ID,
      name: 'Loader',
      description: '',
      account_id: EXAMPLE_REFERENCED_ID,
      company_id: EXAMPLE_REFERENCED_ID,
      is_active: true,
      metadata: {},
      ...EXAMPLE_TIMESTAMPS,
      last_used_at: null,
    },
  },
  apiKey: {
    data: consoleApiKeyView,
    view: viewConsoleApiKey,
    example: {
      _id: EXAMPLE_ID,
      access_key: 'AK0123456789ABCDEF',
      description: '',
      service_account_id: EXAMPLE_REFERENCED_ID,
      expires_at: EXAMPLE_TIME,
      is_active: true,
      created_at: EXAMPLE_TIME,
      last_used_at: null,
    },
  },
  company: {
    data: companyView,
    view: makeView(companyView),
    example: { _id: EXAMPLE_ID, name: 'Acme', slug: 'acme', require_2fa: false, sso_only: false, locale: 'en' },
  },
  table: {
    data: tableRecord,
    view: (record: Parameters<ReturnType<typeof createTableView>>[0], { connectionId }) =>
      createTableView(connectionId)(record),
    example: {
      _id: EXAMPLE_ID,
      company_id: EXAMPLE_REFERENCED_ID,
      connection_id: EXAMPLE_REFERENCED_ID,
      display_name: 'orders',
      columns: [{ name: 'total', display_name: 'Total', type: 'decimal', nullable: true }],
      source: 'upload',
      status: 'active',
      row_count: 0,
      created_by_user_id: EXAMPLE_REFERENCED_ID,
      ...EXAMPLE_TIMESTAMPS,
    },
  },
  upload: {
    data: uploadView,
    view: makeView(uploadView),
    example: {
      _id: EXAMPLE_ID,
      company_id: EXAMPLE_REFERENCED_ID,
      user_table_id: EXAMPLE_REFERENCED_ID,
      created_by_user_id: EXAMPLE_REFERENCED_ID,
      files: [{ original_name: 'orders.csv', storage_path: 'orders', size_bytes: 500, mime_type: 'text/csv' }],
      mode: 'append',
      evolve: 'none',
      status: 'done',
      key: null,
      result: null,
      confirmed_schema: {
        display_name: 'orders',
        columns: [{ name: 'total', display_name: 'Total', type: 'decimal', nullable: true, source_index: 0 }],
        time_zone: null,
      },
      progress: { phase: 'done', rows_processed: 10, rows_total: 10, bytes_processed: 500, bytes_total: 500 },
      error: null,
      error_code: null,
      source_url: null,
      undone_at: null,
      undone_by: null,
      ...EXAMPLE_TIMESTAMPS,
    },
  },
  dataJob: {
    data: dataJobView,
    view: ({ id, ...record }: Omit<Parameters<typeof viewDataJob>[0], 'jobId'> & { id: string }) =>
      viewDataJob({ ...record, jobId: id }),
    example: {
      job_id: EXAMPLE_ID,
      endpoint_id: EXAMPLE_REFERENCED_ID,
      slug: 'orders',
      format: 'csv',
      status: 'succeeded',
      row_count: 10,
      bytes: 500,
      error: null,
      ...EXAMPLE_TIMESTAMPS,
    },
  },
  schedule: {
    data: scheduleRecord.extend({ company_id: z.string() }).meta({ id: 'WebhookSchedule' }),
    // Events of earlier releases have no recipients.
    view: ({ recipients = [], ...record }: Schedule) => ({
      company_id: record.companyId,
      ...viewSchedule({ ...record, recipients }),
    }),
    example: {
      _id: EXAMPLE_ID,
      company_id: EXAMPLE_REFERENCED_ID,
      name: 'Every Monday',
      target_type: 'dashboard',
      target_id: EXAMPLE_REFERENCED_ID,
      parameters: {},
      cron: '0 8 * * 1',
      time_zone: 'UTC',
      recipients: [{ user_id: EXAMPLE_REFERENCED_ID }],
      unsubscribed: [],
      format: 'summary',
      condition: null,
      status: 'active',
      next_run_at: EXAMPLE_TIME,
      last_run: {
        id: EXAMPLE_REFERENCED_ID,
        kind: 'scheduled',
        occurrence: EXAMPLE_TIME,
        ended_at: EXAMPLE_TIME,
        status: 'done',
        sent: 3,
        skipped: 0,
        failed: 0,
        problems: [],
      },
      created_by_user_id: EXAMPLE_REFERENCED_ID,
      ...EXAMPLE_TIMESTAMPS,
    },
  },
  suggestion: {
    data: suggestionRecord,
    view: viewSuggestion,
    example: {
      _id: EXAMPLE_ID,
      company_id: EXAMPLE_REFERENCED_ID,
      target_type: 'concept_create',
      target_id: null,
      target_version: null,
      target_name: 'Order',
      concept_id: null,
      concept_name: null,
      suggested_payload: { name: 'Order' },
      explanation: 'The text speaks of orders.',
      evidence: [],
      confidence: 0.9,
      model: 'gpt-5-mini',
      prompt_version: 'v1',
      status: 'pending',
      request_id: 'f0a1',
      job_id: EXAMPLE_REFERENCED_ID,
      review_note: null,
      reviewed_by_user_id: null,
      reviewed_at: null,
      resource_id: null,
      created_by_user_id: EXAMPLE_REFERENCED_ID,
      ...EXAMPLE_TIMESTAMPS,
    },
  },
  knowledgeJob: {
    data: jobRecord,
    view: viewJob,
    example: {
      _id: EXAMPLE_ID,
      company_id: EXAMPLE_REFERENCED_ID,
      type: 'enrichment',
      target_type: 'concept',
      target_ids: [EXAMPLE_REFERENCED_ID],
      status: 'succeeded',
      processed_count: 1,
      total_count: 1,
      suggestion_count: 1,
      rejected_count: 0,
      concepts_not_sent_count: 0,
      usage: { requests: 1, prompt_tokens: 900, completion_tokens: 100 },
      last_error: null,
      request_id: 'f0a1',
      business_domains: [],
      connection_id: null,
      file_name: null,
      created_by_user_id: EXAMPLE_REFERENCED_ID,
      ...EXAMPLE_TIMESTAMPS,
      ended_at: EXAMPLE_TIME,
    },
  },
  shareEvent: {
    data: shareEventView,
    view: viewShareEvent,
    example: {
      id: EXAMPLE_ID,
      type: 'share.created',
      occurred_at: EXAMPLE_TIME,
      actor: { kind: 'user', id: EXAMPLE_REFERENCED_ID, email: 'ana@example.com' },
      target_type: 'dashboard',
      target_id: EXAMPLE_REFERENCED_ID,
      share_id: EXAMPLE_REFERENCED_ID,
      share_context_id: null,
      ip_country: 'BR',
      user_agent: null,
      origin: null,
      correlation_id: 'f0a1',
      details: {},
    },
  },
  auditRecords: {
    data: auditRecordsView,
    view: ({ records }: { records: (AuditRecord & { companyId: string })[] }) => ({
      records: records.map(viewAuditEvent),
    }),
    example: {
      records: [
        {
          id: EXAMPLE_ID,
          correlation_id: 'f0a1',
          occurred_at: EXAMPLE_TIME,
          organization_id: EXAMPLE_REFERENCED_ID,
          principal_type: 'user',
          principal_id: EXAMPLE_REFERENCED_ID,
          credential: EXAMPLE_REFERENCED_ID,
          method: 'POST',
          route: '/v1/groups',
          action: 'groups:create',
          resource_id: EXAMPLE_REFERENCED_ID,
          status: 201,
          ip: '203.0.113.7',
          duration_ms: 12,
        },
      ],
    },
  },
} satisfies Record<string, EventConcept>;
