import {
  CODE_VERIFIER,
  giveConsent,
  makeAuthorizationQuery,
  REDIRECT_URI,
  readConsentRequest,
} from '../../oauth/support.ts';
import { createOwnedCompany } from '../../support/companies.ts';
import { walkRoutes } from '../walk.ts';

const headers = { 'content-type': 'application/x-www-form-urlencoded' };
const encodeForm = (fields: Record<string, string>) => new URLSearchParams(fields).toString();

let consentRequest: Record<string, string> = {};
let code = '';

walkRoutes(['OAuth'], 'oauth', async () => ({ company: await createOwnedCompany({ slug: 'acme' }) }), [
  { route: 'GET /.well-known/oauth-protected-resource' },
  { route: 'GET /.well-known/oauth-protected-resource/mcp' },
  { route: 'GET /.well-known/oauth-authorization-server' },
  {
    route: 'POST /oauth/register',
    json: () => ({ client_name: 'Sheets', redirect_uris: [REDIRECT_URI] }),
    keep: ({ client_id }) => ({ client: client_id }),
  },
  {
    route: 'GET /oauth/authorize',
    before: async ({ kept }) => {
      consentRequest = await makeAuthorizationQuery(kept.client as string);
    },
    query: () => consentRequest,
    unshown: true,
  },
  {
    route: 'POST /oauth/token',
    before: async ({ kept, company }) => {
      code = (await giveConsent(company.as, await readConsentRequest(kept.client as string))).get('code') as string;
    },
    headers,
    body: ({ client }) =>
      encodeForm({
        grant_type: 'authorization_code',
        client_id: client as string,
        code,
        redirect_uri: REDIRECT_URI,
        code_verifier: CODE_VERIFIER,
      }),
    keep: ({ refresh_token }) => ({ refresh: refresh_token }),
  },
  {
    route: 'POST /oauth/revoke',
    headers,
    body: ({ client, refresh }) => encodeForm({ token: refresh as string, client_id: client as string }),
  },
  {
    route: 'POST /oauth/device_authorization',
    headers,
    body: ({ client }) => encodeForm({ client_id: client as string }),
  },
  { route: 'GET /oauth/device', unshown: true },
  { route: 'GET /oauth/signed-in', unshown: true },
]);
