import { z } from 'zod';
import { slug } from '../../../kernel/fields.ts';
import { description, name } from '../resources/members.ts';

/** A business domain as callers send it and the API shows it. */
export const businessDomain = z
  .object({ key: slug, name, description: description.or(z.literal('')).default('') })
  .meta({ id: 'BusinessDomain' });
