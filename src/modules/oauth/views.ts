import { z } from 'zod';
import type { Context } from '../../context.ts';
import { makeView } from '../../http/wire.ts';
import { displayNameSchema, timestampSchema } from '../../kernel/fields.ts';
import { formatCompanyClientId } from './clients.ts';
import { isAllowedRedirect } from './redirects.ts';
import type { CompanyClient, Grant } from './store.ts';
import { getResourceAddress, type IssuedTokens } from './tokens.ts';

export const clientView = z
  .object({
    _id: z.string(),
    client_id: z.string().meta({ description: 'What the program calls itself when it asks to be let in.' }),
    name: z.string(),
    redirect_uris: z.array(z.string()),
    created_at: timestampSchema,
  })
  .meta({ id: 'OAuthClient' });

const viewClientRecord = makeView(clientView);
export const viewClient = (client: CompanyClient) =>
  viewClientRecord({ ...client, clientId: formatCompanyClientId(client.id) });

export const newClient = z.object({
  name: displayNameSchema,
  redirect_uris: z
    .array(
      z
        .string()
        .max(2048)
        .refine(isAllowedRedirect, 'must be an https address, or one of the own machine or of an app'),
    )
    .max(20)
    .meta({
      description:
        'Compared exactly, but for the port of the own machine (`http://127.0.0.1/…`). None for a program that has the device flow alone.',
    }),
});

export const grantView = z
  .object({
    _id: z.string(),
    client: z.object({
      id: z.string(),
      name: z.string(),
      host: z
        .string()
        .nullable()
        .meta({ description: 'Where the program is, or leads back to; null for one that administrators registered.' }),
    }),
    scopes: z.array(z.string()),
    resource: z.string().meta({ description: 'The address that its tokens are for.' }),
    created_at: timestampSchema,
    last_used_at: timestampSchema.nullable(),
  })
  .meta({ id: 'OAuthGrant' });

const viewGrantRecord = makeView(grantView);
export const viewGrant = (ctx: Context, grant: Grant) =>
  viewGrantRecord({
    ...grant,
    client: { id: grant.clientId, name: grant.clientName, host: grant.clientHost },
    resource: getResourceAddress(ctx, grant.resource),
  });

export const consentRequestView = z
  .object({
    request: z.string().meta({ description: 'For POST /v1/oauth-grants, within half an hour.' }),
    client: z.object({ name: z.string(), host: z.string().nullable(), is_registered: z.boolean() }),
    scopes: z.array(z.string()),
    only_reads: z.boolean().meta({ description: 'Nothing can be changed with these scopes.' }),
    resource: z.enum(['api', 'mcp']),
  })
  .meta({ id: 'AskedToLetIn' });

export const tokensView = z
  .object({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.int().meta({ description: 'Seconds.' }),
    refresh_token: z.string().optional(),
    scope: z.string(),
  })
  .meta({ id: 'OAuthTokens' });

export const viewTokens: (tokens: IssuedTokens) => z.input<typeof tokensView> = makeView(tokensView);

export const deviceView = z.object({
  device_code: z.string(),
  user_code: z.string().meta({ examples: ['WDJB-MJHT'] }),
  verification_uri: z.url(),
  verification_uri_complete: z.url(),
  expires_in: z.int().meta({ description: 'Seconds.' }),
  interval: z.int().meta({ description: 'Seconds.' }),
});

export const viewDevice = makeView(deviceView);
