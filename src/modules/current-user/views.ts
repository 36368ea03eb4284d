import { z } from 'zod';
import type { ServiceAccountActor } from '../../access/actors.ts';
import { makeView } from '../../http/wire.ts';
import { timestampSchema } from '../../kernel/fields.ts';
import { LOCALES } from '../../texts/locales.ts';
import { brandingView, type Company, viewBranding } from '../companies/service.ts';
import { ownPermissionsView } from '../policies/views.ts';
import { consoleUserView, viewConsoleUser } from '../users/views.ts';
import type { CurrentUser } from './service.ts';

const currentUserView = consoleUserView
  .omit({ groups: true })
  .extend({
    is_owner: z.boolean(),
    mfa_enabled: z.boolean(),
    backup_codes_left: z.int().meta({ description: 'Backup codes of the second factor that were not used yet.' }),
    last_login_at: timestampSchema.nullable(),
  })
  .meta({ id: 'CurrentUser' });

const companyView = z.object({
  id: z.string(),
  name: z.string(),
  slug: z.string(),
  locale: z.enum(LOCALES),
  branding: brandingView,
});
const viewCompany = makeView(companyView);

const contextView = z.object({ company_id: z.string(), company: companyView });

/** The response with the calling user, and the company. */
export const currentUserResponse = z.object({ user: currentUserView, context: contextView });

const permissions = ownPermissionsView.optional().meta({ description: 'With `include=permissions`.' });

/** The response with the caller: a user, or a service account with a token. */
export const currentPrincipalResponse = z.union([
  currentUserResponse.extend({ permissions }),
  z.object({
    user: z.null(),
    service_account: z.object({ id: z.string(), name: z.string(), account_id: z.string() }),
    context: contextView,
    permissions,
  }),
]);

const viewAccountDetails = makeView(
  currentUserView.pick({ is_owner: true, mfa_enabled: true, backup_codes_left: true, last_login_at: true }),
);

const viewContext = (baseUrl: string, company: Company): z.input<typeof contextView> => ({
  company_id: company.id,
  company: viewCompany({ ...company, branding: viewBranding(baseUrl, company) }),
});

export const viewCurrentUser = (baseUrl: string, { company, ...current }: CurrentUser) => ({
  user: {
    ...viewConsoleUser(current),
    ...viewAccountDetails({ ...current.user, backupCodesLeft: current.backupCodesLeft }),
  },
  context: viewContext(baseUrl, company),
});

export const viewCurrentServiceAccount = (
  baseUrl: string,
  { id, name, accountId }: ServiceAccountActor,
  company: Company,
) => ({
  user: null,
  service_account: { id, name, account_id: accountId },
  context: viewContext(baseUrl, company),
});
