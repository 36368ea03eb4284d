import { z } from 'zod';
import { isRecord } from '../kernel/fields.ts';

/** Values by slug. Not a record of zod's, which trips over a field called `__proto__`. */
export const valuesBySlug = (description: string) =>
  z
    .custom<Record<string, unknown>>(isRecord, 'must be an object of slugs and values')
    .meta({ type: 'object', additionalProperties: true, description });

/** The body of every execution. The parameters are checked against the dashboard or visualization, not here. */
export const executeBody = z.object({
  parameters: valuesBySlug('Values of filters or parameters, by slug.').default({}),
});
