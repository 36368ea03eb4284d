import { z } from 'zod';
import { STATUSES } from '../../../db/schema/knowledge-resources.ts';

/** `search` of a list; an empty one leaves nothing out. */
export const search = z
  .string()
  .trim()
  .max(200)
  .optional()
  .meta({ description: 'A literal part of names, descriptions and aliases, in any case.' });

/** `status` of a list: all but archived ones when it is not sent. */
export const status = z.enum(STATUSES).optional();
