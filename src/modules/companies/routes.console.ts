import { z } from 'zod';
import { LOCALES } from '../../db/schema/companies.ts';
import { ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { changeSettings, getSettings, type Settings } from './settings.ts';

const settings = z
  .object({
    require_2fa: z.boolean().meta({ description: 'Nobody signs in without a second factor. For administrators.' }),
    sso_only: z
      .boolean()
      .meta({ description: 'Everybody but the owner signs in with the identity provider alone. For administrators.' }),
    locale: z.enum(LOCALES),
  })
  .meta({ id: 'CompanySettings' });

const settingsInput = settings
  .partial()
  .transform(({ require_2fa, sso_only, locale }) => ({ require2fa: require_2fa, ssoOnly: sso_only, locale }));

const viewSettings = ({ require2fa, ssoOnly, locale }: Settings): z.input<typeof settings> => ({
  require_2fa: require2fa,
  sso_only: ssoOnly,
  locale,
});

export const companySettingsEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/company/settings',
      access: 'company:get',
      summary: 'How people sign in to the company, and its language',
      returns: ok(settings),
    },
    async ({ ctx }) => viewSettings(await getSettings(ctx)),
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/company/settings',
      access: 'company:update',
      summary: 'Change the settings that are sent',
      description: '403 for anybody but administrators and the owner who sends `require_2fa` or `sso_only`.',
      body: settingsInput,
      returns: ok(settings),
    },
    async ({ ctx, body }) => viewSettings(await changeSettings(ctx, body)),
  ),
];
