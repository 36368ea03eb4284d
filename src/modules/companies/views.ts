import { z } from 'zod';
import { type Branding, FONTS } from '../../presentation/branding.ts';
import type { ViewBranding } from '../../presentation/viewing.ts';
import type { Brand } from './branding.ts';
import { makeLogoPath } from './logos.ts';

const fields = {
  name: z.string(),
  primary_color: z.string(),
  background: z.string(),
  text_color: z.string(),
  font: z.enum(FONTS),
  radius: z.int(),
  chart_palette: z.array(z.string()),
  logo_url: z.string(),
};

/** Makes every field of a shape nullable. */
export const makeFieldsNullable = <Shape extends Record<string, z.ZodType>>(shape: Shape) =>
  Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, field.nullable()])) as {
    [Name in keyof Shape]: z.ZodNullable<Shape[Name]>;
  };

/** The response with a company's brand, for those who manage it. */
export const brandView = z
  .object(makeFieldsNullable(fields))
  .meta({ id: 'CompanyBranding', description: 'A field that is null has the standard look.' });

const STANDARD_BRAND = Object.fromEntries(Object.keys(fields).map((name) => [name, null])) as Record<
  keyof typeof fields,
  null
>;

export const viewBrand = (baseUrl: string, brand: Brand): z.input<typeof brandView> => ({
  ...STANDARD_BRAND,
  ...viewBranding(baseUrl, brand),
});

/** The response with the brand that a page is shown with. */
export const brandingView = z
  .object(fields)
  .partial()
  .meta({ id: 'Branding', description: 'A field that is left out has the standard look.' });

/** Returns a company's brand for a page; the fields of a token's theme take precedence. */
export const viewBranding = (baseUrl: string, { id, branding, logo }: Brand, theme: Branding = {}): ViewBranding => ({
  ...branding,
  ...theme,
  ...(logo && { logo_url: baseUrl + makeLogoPath(id, logo) }),
});

/** Returns a company's brand for a page, with the company's name where the brand has none. */
export const viewPageBranding = (
  baseUrl: string,
  { name, ...brand }: Brand & { name: string },
  theme?: Branding,
): ViewBranding => ({ name, ...viewBranding(baseUrl, brand, theme) });
