import { z } from 'zod';
import { administratorsOnly } from '../../access/failures.ts';
import { concurrentChange } from '../../db/failures.ts';
import { ok } from '../../http/endpoint.ts';
import { toSentBody } from '../../http/sent-body.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { makeView, toBodyFields } from '../../http/wire.ts';
import { invalidInput } from '../../kernel/failure.ts';
import { storageUnavailable } from '../../platform/file-storage.ts';
import { brandingFields } from '../../presentation/branding-fields.ts';
import { LOCALES } from '../../texts/locales.ts';
import { changeBranding } from './branding.ts';
import { companyNotFound, logoTooLarge } from './failures.ts';
import { logoForm, readLogoFile } from './logo-upload.ts';
import { replaceLogo } from './logos.ts';
import { changeSettings, getCompany } from './service.ts';
import { brandView, makeFieldsNullable, viewBrand } from './views.ts';

const settings = z
  .object({
    require_2fa: z
      .boolean()
      .meta({ description: 'Whether every sign-in needs a second factor. Only administrators may change it.' }),
    sso_only: z.boolean().meta({
      description:
        'Whether everyone but the owner must sign in with the identity provider. Only administrators may change it.',
    }),
    locale: z.enum(LOCALES).meta({ description: 'The language of emails and pages.' }),
  })
  .meta({ id: 'CompanySettings' });

const settingsInput = settings.partial().transform(toBodyFields);

const viewSettings = makeView(settings);

export const companySettingsEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/company/settings',
      access: 'company:get',
      operationId: 'getCompanySettings',
      summary: "Get the company's settings",
      description: 'How people sign in, and the language of mails and pages.',
      returns: ok(settings),
      fails: [companyNotFound],
    },
    async ({ ctx }) => viewSettings(await getCompany(ctx)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/company/settings',
      access: 'company:update',
      operationId: 'updateCompanySettings',
      summary: "Update the company's settings",
      description:
        'Changes only the fields that are sent. Only administrators may change `require_2fa` and `sso_only`.',
      body: settingsInput,
      returns: ok(settings),
      fails: [administratorsOnly, companyNotFound],
    },
    async ({ ctx, body }) => viewSettings(await changeSettings(ctx, body)),
  ),
];

const brandingInput = z
  .object({
    ...makeFieldsNullable(brandingFields),
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
    async ({ ctx }) => viewBrand(ctx.baseUrl, await getCompany(ctx)),
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
