import { z } from 'zod';
import { makeValuesBySlugField } from '../../sql-templates/fields.ts';
import { MAX_PARAMETERS, MAX_SLUG_LENGTH } from '../../sql-templates/parameters.ts';
import { originField, viewerField } from '../viewing/views.ts';

const MAX_ORIGINS = 20;
/** The maximum length of an id that a host may give to a token or viewer. */
export const MAX_ID_LENGTH = 200;

const slugs = z.array(z.string().min(1).max(MAX_SLUG_LENGTH)).max(MAX_PARAMETERS).default([]);

/** The fields for terms and limits that a token may state, whoever signs it. */
export const embedFields = {
  fixed_params: makeValuesBySlugField('Values that the viewer cannot change.')
    .refine((values) => Object.keys(values).length <= MAX_PARAMETERS, `must hold at most ${MAX_PARAMETERS} parameters`)
    .default({}),
  allowed_params: slugs.meta({ description: 'Slugs of the parameters that the viewer may set.' }),
  required_params: slugs.meta({ description: 'Slugs among `allowed_params` that the viewer must set.' }),
  allowed_origins: z.array(originField).max(MAX_ORIGINS).default([]).meta({
    description: 'The origins whose pages may show it; empty for any.',
  }),
  allow_downloads: z.boolean().default(false).meta({ description: 'Whether viewers may download results.' }),
  viewer: viewerField.optional(),
};
