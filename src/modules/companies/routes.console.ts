import { z } from 'zod';
import { administratorsOnly } from '../../access/failures.ts';

import { ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { makeView, toBodyFields } from '../../http/wire.ts';
import { LOCALES } from '../../texts/locales.ts';
import { companyNotFound } from './failures.ts';
import { changeSettings, getSettings } from './settings.ts';

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
    async ({ ctx }) => viewSettings(await getSettings(ctx)),
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
