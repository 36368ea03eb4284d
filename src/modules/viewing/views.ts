import { z } from 'zod';
import type { EmbedOptions } from '../../db/schema/shares.ts';
import { ORIGIN_PATTERN } from '../../http/page.ts';
import { ExactNumber } from '../../kernel/exact-json.ts';
import { timestampSchema } from '../../kernel/fields.ts';
import { MEDIA_TYPES } from '../../kernel/files.ts';
import { truncateText } from '../../kernel/text.ts';
import { NO_VALUES_SENT, POLICY_MODES } from '../../sharing/filter-policy.ts';
import type { ViewerAttributes } from '../../sharing/viewer-attributes.ts';
import { makeValuesBySlugField } from '../../sql-templates/fields.ts';
import {
  MAX_LIST_LENGTH,
  MAX_SLUG_LENGTH,
  MAX_TEXT_LENGTH,
  PARAMETER_KINDS,
  PARAMETER_SLUG_PATTERN,
} from '../../sql-templates/parameters.ts';
import { chartView, executionSchema } from '../visualizations/views.ts';

/** A dashboard or visualization in the form that its viewer gets. */
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
    charts: z.array(chartView),
  })
  .meta({ id: 'SharedItem' });

/** The display options of a share's page, and the origins that may show it. */
export const embedOptionsView = z
  .object({
    allowed_origins: z.array(z.string()),
    hide_header: z.boolean(),
    hide_controls: z.boolean(),
    allow_downloads: z.boolean(),
  })
  .meta({ id: 'EmbedOptions' });

/** Makes the API's view of the options of a share; a share stored without the option does not allow downloads. */
export const viewEmbedOptions = (options: EmbedOptions): z.input<typeof embedOptionsView> => ({
  ...options,
  allow_downloads: options.allow_downloads === true,
});

/** The fields about the age of a response while the database wakes. */
const ageFields = {
  as_of: timestampSchema
    .optional()
    .meta({ description: 'When the results were computed, where that was before the request.' }),
  waking: z.literal(true).optional().meta({
    description:
      'The database is starting again after a pause, which takes about half a second. These are the last results for the same data, from `as_of`; ask again for new ones.',
  }),
};

/** The response to executing a dashboard. */
export const resultsView = z.object({ results: z.array(executionSchema), ...ageFields });

/** The formats in which a viewer may download a result. */
const DOWNLOAD_FORMATS = ['csv', 'xlsx'] as const;

export const downloadMediaTypes = DOWNLOAD_FORMATS.map((format) => MEDIA_TYPES[format]);

/** The query of an execution, which downloads one result where it names a format. */
export const executionQuery = z.object({
  format: z.enum(DOWNLOAD_FORMATS).optional().meta({ description: 'Downloads a result, where downloads are allowed.' }),
  visualization_id: z
    .string()
    .optional()
    .meta({ description: 'The visualization whose result is downloaded; required with `format` for a dashboard.' }),
});

/** The description of the routes that execute a dashboard. */
export const EXECUTION_DESCRIPTION =
  "A visualization that fails has `error` and does not fail the others. A result may have been computed before, at `as_of`; with `Cache-Control: no-cache` at most five seconds ago. Where downloads are allowed, `format` downloads the result of one of them, `visualization_id`, under the same rules: texts that a spreadsheet would read as formulas are prefixed with `'`, a result that was cut carries `X-Truncated: true`, and one that failed is refused.";

/** The response to executing a visualization. */
export const resultView = z.object({ result: executionSchema, ...ageFields });

const MAX_POLICIES = 50;

/** The choices that viewers have in filters, in requests and responses. */
export const filterPoliciesField = z
  .array(
    z
      .object({
        filter_slug: z.string().min(1).max(MAX_SLUG_LENGTH),
        filter_kind: z.enum(PARAMETER_KINDS),
        mode: z.enum(POLICY_MODES).meta({
          description:
            '`selectable`: the viewer chooses among `allowed_values`, all of them when nothing is chosen. `locked`: always all of them. `hidden`: the filter does not exist for the viewer.',
        }),
        allowed_values: z
          .array(z.string().min(1).max(MAX_TEXT_LENGTH))
          .max(MAX_LIST_LENGTH)
          .default(() => NO_VALUES_SENT),
      })
      .meta({ id: 'FilterPolicy' }),
  )
  .max(MAX_POLICIES);

/**
 * The schema of an origin in the form that browsers send, and that a page's policy can name: `URL` alone would accept wildcards
 * in hosts.
 */
export const originField = z
  .string()
  .max(256)
  .refine((text) => ORIGIN_PATTERN.test(text) && URL.parse(text)?.origin === text, {
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

const MAX_ATTRIBUTES = 50;
const MAX_ATTRIBUTE_BYTES = 16 * 1024;

const isScalar = (value: unknown): boolean =>
  typeof value === 'boolean' ||
  value instanceof ExactNumber ||
  (typeof value === 'number' && Number.isFinite(value)) ||
  (typeof value === 'string' && value.length <= MAX_TEXT_LENGTH && value.isWellFormed() && !value.includes('\0'));

function findAttributeProblem(slug: string, value: unknown): string | undefined {
  if (slug.length > MAX_SLUG_LENGTH || !PARAMETER_SLUG_PATTERN.test(slug))
    return 'must be lower-case letters, digits and _, with single hyphens between them';
  if (!Array.isArray(value))
    return isScalar(value) ? undefined : 'must be a text, a number, true, false, or a list of them';
  if (value.length > MAX_LIST_LENGTH) return `must hold at most ${MAX_LIST_LENGTH} values`;
  return value.every(isScalar) ? undefined : 'must be a list of texts, numbers, true and false';
}

/** The attributes of a viewer: scalars and lists of them by slug. */
export const viewerAttributesField = makeValuesBySlugField(
  'What is known of the viewer: values, or lists of them, by slug.',
)
  .superRefine((attributes, context) => {
    const addIssue = (message: string, ...path: string[]) => context.addIssue({ code: 'custom', path, message });
    const entries = Object.entries(attributes);
    if (entries.length > MAX_ATTRIBUTES) return addIssue(`must hold at most ${MAX_ATTRIBUTES} attributes`);
    for (const [slug, value] of entries) {
      const problem = findAttributeProblem(slug, value);
      if (problem) addIssue(problem, truncateText(slug, MAX_SLUG_LENGTH));
    }
    if (new TextEncoder().encode(JSON.stringify(attributes)).length > MAX_ATTRIBUTE_BYTES) {
      addIssue('must be at most 16 KiB as JSON');
    }
  })
  .transform((attributes) => attributes as ViewerAttributes);

const MAX_VIEWER_ID_LENGTH = 200;

/** A viewer in the terms of the host that embeds the page. */
export const viewerField = z
  .object({ id: z.string().min(1).max(MAX_VIEWER_ID_LENGTH), attributes: viewerAttributesField.default({}) })
  .meta({ id: 'Viewer', description: 'The viewer, as the host knows them.' });
