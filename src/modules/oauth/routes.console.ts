import { z } from 'zod';
import { administratorsOnly } from '../../access/failures.ts';
import { created, declareVersion, noContent, ok } from '../../http/endpoint.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/console.ts';
import { toBodyFields } from '../../http/wire.ts';
import { tokenSchema } from '../../kernel/fields.ts';
import { tooManyAttempts } from '../sign-in/failures.ts';
import { findDeviceRequest } from './devices.ts';
import {
  oauthClientNotFound,
  oauthGrantNotFound,
  otherCompanysClient,
  requestEnded,
  tooManyClients,
  wrongUserCode,
} from './failures.ts';
import {
  decideRequest,
  getClient,
  listClients,
  listGrants,
  registerCompanyClient,
  removeClient,
  removeGrant,
} from './grants.ts';
import { clientView, consentRequestView, grantView, newClient, viewClient, viewGrant } from './views.ts';

const grantOwnerQuery = z.object({
  user_id: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .meta({ description: 'Whose: for administrators. The own ones when not said.' }),
});

/** Returns all records as one list without pages. */
const toUnpagedList = <T, V>(records: T[], view: (record: T) => V) =>
  viewList({ total: records.length, records }, view);

export const oauthConsoleEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/oauth-grants',
      access: 'authenticated',
      operationId: 'listOAuthGrants',
      summary: 'List the programs that were let in',
      description: 'Newest first; what has ended is left out.',
      query: grantOwnerQuery,
      returns: ok(makeListSchema(grantView)),
      fails: [administratorsOnly],
    },
    async ({ ctx, query }) => toUnpagedList(await listGrants(ctx, query.user_id), (grant) => viewGrant(ctx, grant)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/oauth-grants',
      access: 'authenticated',
      only: 'people',
      operationId: 'createOAuthGrant',
      summary: 'Create a grant for a program, or refuse it',
      description:
        'The answer to what a program asks at GET /oauth/authorize or with a device code. Each request is answered once; a grant takes the place of a former one of the same program once that exchanges its code.',
      body: z.object({ request: tokenSchema, allow: z.boolean() }),
      returns: ok(
        z.object({
          redirect_to: z
            .string()
            .nullable()
            .meta({ description: 'Where the browser goes on, with the code or the error; null for a device.' }),
        }),
      ),
      fails: [requestEnded, otherCompanysClient],
    },
    async ({ ctx, body }) => ({ redirect_to: await decideRequest(ctx, body) }),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/oauth-grants/{id}',
      access: 'authenticated',
      operationId: 'deleteOAuthGrant',
      summary: 'Delete a grant',
      description: 'The program is refused from its next request on.',
      query: grantOwnerQuery,
      returns: noContent,
      fails: [oauthGrantNotFound, administratorsOnly],
    },
    ({ ctx, params, query }) => removeGrant(ctx, params.id, query.user_id),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/oauth-devices',
      access: 'authenticated',
      only: 'people',
      safe: true,
      operationId: 'findOAuthDevice',
      summary: 'Find what a device asks for',
      description:
        'By the code that it shows. After ten wrong ones within an hour, of a person or from an address, further ones are refused.',
      body: z.object({ user_code: z.string().min(1).max(64) }),
      returns: ok(consentRequestView),
      fails: [wrongUserCode, tooManyAttempts],
    },
    ({ ctx, body }) => findDeviceRequest(ctx, body.user_code),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/oauth-clients',
      access: 'administrator',
      operationId: 'listOAuthClients',
      summary: 'List registered clients',
      description: 'Programs that administrators registered for people of the company, newest first; 200 at most.',
      returns: ok(makeListSchema(clientView)),
      fails: [],
    },
    async ({ ctx }) => toUnpagedList(await listClients(ctx), viewClient),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/oauth-clients',
      access: 'administrator',
      operationId: 'createOAuthClient',
      summary: 'Create a client',
      description:
        'A program that people of the company may let in. It has no secret; whoever is asked sees its name without a warning.',
      body: newClient,
      returns: created(clientView),
      fails: [tooManyClients],
    },
    async ({ ctx, body }) => viewClient(await registerCompanyClient(ctx, toBodyFields(body))),
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/oauth-clients/{id}',
      access: 'administrator',
      operationId: 'getOAuthClient',
      summary: 'Get a registered client',
      description: 'With its redirects.',
      returns: ok(clientView),
      versionDeclaration: declareVersion(),
      fails: [oauthClientNotFound],
    },
    async ({ ctx, params }) => viewClient(await getClient(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/oauth-clients/{id}',
      access: 'administrator',
      operationId: 'deleteOAuthClient',
      summary: 'Delete a client',
      description: 'What people let it do ends with the next request.',
      returns: noContent,
      fails: [oauthClientNotFound],
    },
    ({ ctx, params }) => removeClient(ctx, params.id),
  ),
];
