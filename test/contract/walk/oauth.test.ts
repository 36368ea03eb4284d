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
    getStoredValues: ({ client_id }) => ({ client: client_id }),
  },
  {
    route: 'GET /oauth/authorize',
    prepareStep: async ({ storedValues }) => {
      consentRequest = await makeAuthorizationQuery(storedValues.client as string);
    },
    query: () => consentRequest,
    isNoExample: true,
  },
  {
    route: 'POST /oauth/token',
    prepareStep: async ({ storedValues, company }) => {
      code = (await giveConsent(company.as, await readConsentRequest(storedValues.client as string))).get(
        'code',
      ) as string;
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
    getStoredValues: ({ refresh_token }) => ({ refresh: refresh_token }),
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
  { route: 'GET /oauth/device', isNoExample: true },
  { route: 'GET /oauth/signed-in', isNoExample: true },
]);
