import { z } from 'zod';
import { isoMillisecondsSchema } from '../../kernel/fields.ts';

const filterText = z.string().min(1).max(128);

/** The query parameters for the period of the listed events, both ends included. */
export const timeRange = {
  from: isoMillisecondsSchema.meta({ description: 'The earliest time, included.' }).optional(),
  to: isoMillisecondsSchema.meta({ description: 'The latest time, included.' }).optional(),
};

/** The filters of a list of events. */
export const auditFilters = {
  correlation_id: filterText.optional(),
  principal_id: filterText.optional(),
  action: filterText.meta({ examples: ['accounts:CreateAccount'] }).optional(),
  ...timeRange,
};

/** The API description of the list of audit events, on both surfaces. */
export const LIST_DESCRIPTION =
  'One record for each request of a known caller, on every surface. Newest first. A record can be read a few seconds after its request; old records take longer to find.';
