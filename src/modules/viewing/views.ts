import { z } from 'zod';
import { timestamp } from '../../kernel/fields.ts';
import { MAX_LIST_LENGTH, MAX_SLUG_LENGTH, MAX_TEXT_LENGTH, PARAMETER_KINDS } from '../../kernel/parameters.ts';
import { POLICY_MODES } from '../../kernel/sharing-terms.ts';
import { executionSchema } from '../visualizations/service.ts';

/** A dashboard or visualization for its viewer. */
export const sharedItemView = z
  .object({
    id: z.string(),
    name: z.string(),
    slug: z.string(),
    description: z.string(),
    layout: z.array(z.object({ visualization_id: z.string(), x: z.int(), y: z.int(), w: z.int(), h: z.int() })),
    filters: z
      .array(
        z.object({
          slug: z.string(),
          label: z.string(),
          kind: z.enum(PARAMETER_KINDS),
          default: z.unknown(),
          required: z.boolean(),
        }),
      )
      .meta({ description: 'Those that the viewer may use.' }),
    charts: z.array(
      z.object({ visualization_id: z.string(), name: z.string(), description: z.string(), chart: z.unknown() }),
    ),
  })
  .meta({ id: 'SharedItem' });

/** How and where the page of a share is displayed. */
export const embedOptionsView = z
  .object({ allowed_origins: z.array(z.string()), hide_header: z.boolean(), hide_controls: z.boolean() })
  .meta({ id: 'EmbedOptions' });

export const optionsView = z
  .object({
    filter_slug: z.string(),
    options: z.array(z.object({ label: z.string(), value: z.string() })).meta({
      description: 'At most 1,000; `search` finds the others.',
    }),
    source: z.enum(['static', 'dynamic', 'policy']),
  })
  .meta({ id: 'FilterOptions' });

export const optionsQuery = z.object({
  search: z.string().max(200).default('').meta({ description: 'A literal part of label or value, in any case.' }),
});

/** What an answer says of itself while the database wakes. */
const age = {
  as_of: timestamp
    .optional()
    .meta({ description: 'When the results were computed, where that was before the request.' }),
  waking: z.literal(true).optional().meta({
    description:
      'The database has slept and is waking, for about half a second: these are the last results, as of `as_of`, of the same data. Ask again for new ones.',
  }),
};

/** The answer to executing a dashboard. */
export const resultsView = z.object({ results: z.array(executionSchema), ...age });

/** The answer to executing a visualization. */
export const resultView = z.object({ result: executionSchema, ...age });

const MAX_POLICIES = 50;

/** What viewers may choose in filters, in requests and answers. */
export const filterPolicies = z
  .array(
    z
      .object({
        filter_slug: z.string().min(1).max(MAX_SLUG_LENGTH),
        filter_kind: z.enum(PARAMETER_KINDS),
        mode: z.enum(POLICY_MODES).meta({
          description:
            '`selectable`: the viewer chooses among `allowed_values`, all of them when nothing is chosen. `locked`: always all of them. `hidden`: the filter does not exist for the viewer.',
        }),
        allowed_values: z.array(z.string().max(MAX_TEXT_LENGTH)).max(MAX_LIST_LENGTH).default([]),
      })
      .meta({ id: 'FilterPolicy' }),
  )
  .max(MAX_POLICIES);

/** An origin in the form that browsers send. */
export const origin = z
  .string()
  .max(256)
  .refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? '') && URL.parse(text)?.origin === text, {
    error: 'must be an origin such as https://www.example.com',
  });

/** The filters and parameters that a share may narrow or fix. */
export const candidatesView = z.object({
  records: z.array(
    z.object({
      slug: z.string(),
      label: z.string(),
      kind: z.enum(PARAMETER_KINDS),
      options_source: z.enum(['static', 'dynamic']).nullable(),
    }),
  ),
});
