import { giveConsent, makeAuthorizationQuery, REDIRECT, readConsentRequest, VERIFIER } from '../../oauth/support.ts';
import { aCompany } from '../../support/worlds.ts';
import { walkRoutes } from '../walk.ts';

const headers = { 'content-type': 'application/x-www-form-urlencoded' };
const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString();

let asked: Record<string, string> = {};
let code = '';

walkRoutes(['OAuth'], 'oauth', async () => ({ company: await aCompany({ slug: 'acme' }) }), [
  { route: 'GET /.well-known/oauth-protected-resource' },
  { route: 'GET /.well-known/oauth-protected-resource/mcp' },
  { route: 'GET /.well-known/oauth-authorization-server' },
  {
    route: 'POST /oauth/register',
    json: () => ({ client_name: 'Sheets', redirect_uris: [REDIRECT] }),
    keep: ({ client_id }) => ({ client: client_id }),
  },
  {
    route: 'GET /oauth/authorize',
    before: async ({ kept }) => {
      asked = await makeAuthorizationQuery(kept.client as string);
    },
    query: () => asked,
    unshown: true,
  },
  {
    route: 'POST /oauth/token',
    before: async ({ kept, company }) => {
      code = (await giveConsent(company.as, await readConsentRequest(kept.client as string))).get('code') as string;
    },
    headers,
    body: ({ client }) =>
      form({
        grant_type: 'authorization_code',
        client_id: client as string,
        code,
        redirect_uri: REDIRECT,
        code_verifier: VERIFIER,
      }),
    keep: ({ refresh_token }) => ({ refresh: refresh_token }),
  },
  {
    route: 'POST /oauth/revoke',
    headers,
    body: ({ client, refresh }) => form({ token: refresh as string, client_id: client as string }),
  },
  {
    route: 'POST /oauth/device_authorization',
    headers,
    body: ({ client }) => form({ client_id: client as string }),
  },
  { route: 'GET /oauth/device', unshown: true },
  { route: 'GET /oauth/signed-in', unshown: true },
]);
