import { z } from 'zod';
import { isRecord } from '../kernel/fields.ts';

/** Makes the schema of values by slug, without zod's record, which fails on a field called `__proto__`. */
export const makeValuesBySlugField = (description: string) =>
  z
    .custom<Record<string, unknown>>(isRecord, 'must be an object of slugs and values')
    .meta({ type: 'object', additionalProperties: true, description });

/** The body of every execution. The parameters are checked later, against the dashboard or visualization. */
export const executionInput = z.object({
  parameters: makeValuesBySlugField('Values of filters or parameters, by slug.').default({}),
});
