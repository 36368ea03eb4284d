import { z } from 'zod';
import { parseColour } from '../kernel/colours.ts';
import { displayName } from '../kernel/fields.ts';
import { contrastProblems, FONTS } from './branding.ts';

const MAX_RADIUS = 32;
const MAX_COLOURS = 20;

const colour = z
  .string()
  .max(7)
  .transform((text, ctx) => {
    const known = parseColour(text);
    if (known !== undefined) return known;
    ctx.addIssue({ code: 'custom', message: 'must be a color such as #1d5bd8' });
    return z.NEVER;
  })
  .meta({ type: 'string', examples: ['#1d5bd8'] });

/** The fields of a brand, in requests. */
export const brandingFields = {
  name: displayName.max(80).meta({ description: 'The name that outsiders see for the company.' }),
  primary_color: colour.meta({ description: 'The color of links and buttons.' }),
  background: colour.meta({ description: 'The background color of pages.' }),
  text_color: colour.meta({ description: 'The color of text.' }),
  font: z.enum(FONTS),
  radius: z.int().min(0).max(MAX_RADIUS).meta({ description: 'The radius of rounded corners, in pixels.' }),
  chart_palette: z.array(colour).min(1).max(MAX_COLOURS).meta({ description: 'The colors of chart series, in order.' }),
};

/** A brand that a token brings along: its fields go before the company's. Its colours must be readable together. */
export const theme = z
  .object(brandingFields)
  .partial()
  .superRefine((given, ctx) => {
    for (const { field, message } of contrastProblems(given)) {
      ctx.addIssue({ code: 'custom', path: field.split('.'), message });
    }
  });
