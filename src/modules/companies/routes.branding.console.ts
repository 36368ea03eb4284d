import { z } from 'zod';
import { concurrentChange } from '../../db/failures.ts';
import { ok } from '../../http/endpoint.ts';
import { toSentBody } from '../../http/sent-body.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { invalidInput } from '../../kernel/failure.ts';
import { storageUnavailable } from '../../platform/file-storage.ts';
import { brandingFields } from '../../presentation/branding-fields.ts';
import { changeBranding, getBranding } from './branding.ts';
import { companyNotFound, logoTooLarge } from './failures.ts';
import { logoForm, readLogoFile } from './logo-upload.ts';
import { replaceLogo } from './logos.ts';
import { brandView, viewBrand } from './views.ts';

type BrandingFields = typeof brandingFields;

const brandingInput = z
  .object({
    ...(Object.fromEntries(Object.entries(brandingFields).map(([name, field]) => [name, field.nullable()])) as {
      [Name in keyof BrandingFields]: z.ZodNullable<BrandingFields[Name]>;
    }),
    logo_url: z
      .null({ error: 'is changed by PUT /v1/company/branding/logo' })
      .meta({ description: '`null` removes the logo.' }),
  })
  .partial()
  .transform(({ logo_url: logo, ...changes }) => ({ ...changes, ...(logo === null && { logo }) }))
  .meta({ id: 'CompanyBrandingInput' });

export const brandingEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/company/branding',
      access: 'company:get',
      operationId: 'getCompanyBranding',
      summary: "Get the company's branding",
      description: 'How its pages, portal and emails look.',
      returns: ok(brandView),
      fails: [companyNotFound],
    },
    async ({ ctx }) => viewBrand(ctx.baseUrl, await getBranding(ctx)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/company/branding',
      access: 'company:update',
      operationId: 'updateCompanyBranding',
      summary: "Update the company's branding",
      description:
        'Changes only the fields that are sent; `null` resets a field to the standard look. Against the background, the text and primary colors need a contrast of at least 4.5 and chart colors of at least 3 (WCAG AA); a color that is not set counts as the standard one.',
      body: brandingInput,
      returns: ok(brandView),
      fails: [companyNotFound, concurrentChange],
    },
    async ({ ctx, body }) => viewBrand(ctx.baseUrl, await changeBranding(ctx, body)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/company/branding/logo',
      access: 'company:update',
      operationId: 'replaceCompanyLogo',
      summary: "Replace the company's logo",
      description:
        'A PNG, JPEG or WebP of at most 256 KiB and 2048 pixels a side, as the body itself or as the one file of a form. Its type is detected from the content, and its metadata is removed.',
      form: logoForm,
      returns: ok(brandView),
      fails: [companyNotFound, logoTooLarge, storageUnavailable, invalidInput],
    },
    async ({ ctx, request }) => viewBrand(ctx.baseUrl, await replaceLogo(ctx, await readLogoFile(toSentBody(request)))),
  ),
];
