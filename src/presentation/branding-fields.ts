import { z } from 'zod';
import { parseColour } from '../kernel/colours.ts';
import { displayNameSchema } from '../kernel/fields.ts';
import { FONTS, findContrastProblems } from './branding.ts';

const MAX_RADIUS_PIXELS = 32;
const MAX_PALETTE_COLOURS = 20;

const colourField = z
  .string()
  .max(7)
  .transform((text, ctx) => {
    const parsedColour = parseColour(text);
    if (parsedColour !== undefined) return parsedColour;
    ctx.addIssue({ code: 'custom', message: 'must be a color such as #1d5bd8' });
    return z.NEVER;
  })
  .meta({ type: 'string', examples: ['#1d5bd8'] });

/** The fields of a brand in request bodies. */
export const brandingFields = {
  name: displayNameSchema.max(80).meta({ description: 'The name that outsiders see for the company.' }),
  primary_color: colourField.meta({ description: 'The color of links and buttons.' }),
  background: colourField.meta({ description: 'The background color of pages.' }),
  text_color: colourField.meta({ description: 'The color of text.' }),
  font: z.enum(FONTS),
  radius: z.int().min(0).max(MAX_RADIUS_PIXELS).meta({ description: 'The radius of rounded corners, in pixels.' }),
  chart_palette: z
    .array(colourField)
    .min(1)
    .max(MAX_PALETTE_COLOURS)
    .meta({ description: 'The colors of chart series, in order.' }),
};

/** The schema of a brand that a token contains: its fields override the company's. Its colours must be readable together. */
export const themeField = z
  .object(brandingFields)
  .partial()
  .superRefine((givenTheme, ctx) => {
    for (const { field, message } of findContrastProblems(givenTheme)) {
      ctx.addIssue({ code: 'custom', path: field.split('.'), message });
    }
  });
