import { z } from 'zod';
import { companySuspended, invalidToken } from '../../access/failures.ts';
import { ok } from '../../http/endpoint.ts';
import { endpoint, portalEndpoint } from '../../http/surfaces/sharing.ts';
import { makeView, toBodyFields } from '../../http/wire.ts';
import { email, tokenSchema } from '../../kernel/fields.ts';
import { companySlugField, typedCodeField } from '../sign-in/fields.ts';
import { wrongEmailedCode } from '../sign-in/service.ts';
import {
  endPortalSession,
  type PortalTokens,
  refreshPortalSession,
  requestPortalCode,
  verifyPortalCode,
} from './service.ts';

const codeRequestInput = z.object({ company_slug: companySlugField, email }).transform(toBodyFields);

const codeVerificationInput = z
  .object({
    company_slug: companySlugField,
    email,
    code: typedCodeField
      .pipe(z.string().regex(/^[0-9]{8}$/, 'must be eight digits, such as 1234-5678'))
      .meta({ examples: ['1234-5678'] }),
  })
  .transform((body) => ({ ...toBodyFields(body), code: body.code.replace(/^(\d{4})/, '$1-') }));

const tokensView = z
  .object({
    access_token: z.string(),
    refresh_token: z.string(),
    access_token_expires_in: z.int().meta({ description: 'Seconds.' }),
    refresh_token_expires_in: z.int().meta({ description: 'Seconds.' }),
    user: z.object({ id: z.string(), email: z.string(), status: z.enum(['active']) }),
  })
  .meta({ id: 'PortalTokens' });

const signedInView = tokensView.extend({ company: z.object({ name: z.string() }) }).meta({ id: 'PortalSignIn' });

const viewTokenRecord = makeView(tokensView);
const viewTokens = ({ user: { id, email, status }, ...tokens }: PortalTokens) =>
  viewTokenRecord({ ...tokens, user: { id, email, status } });

export const shareAuthEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/api/v1/share-auth/request',
      recordedAs: 'share-auth:request',
      access: 'public',
      credential: 'external',
      operationId: 'requestPortalCode',
      summary: 'Request a portal sign-in code by email',
      description:
        'The answer is the same whether or not the company exists and shares anything with the address. A new code replaces the old one. After five requests for an address within an hour, no more emails are sent.',
      body: codeRequestInput,
      returns: ok(z.object({ success: z.literal(true), message: z.string() })),
      fails: [],
    },
    async ({ ctx, body }) => {
      await requestPortalCode(ctx, body);
      return { success: true as const, message: 'If something is shared with this address, a code is on its way.' };
    },
  ),
  endpoint(
    {
      method: 'post',
      path: '/api/v1/share-auth/verify',
      recordedAs: 'share-auth:verify',
      access: 'public',
      credential: 'external',
      operationId: 'signInToPortal',
      summary: 'Sign in to the portal with an emailed code',
      description:
        'Returns the tokens of an outsider, for the portal and for shares that need a sign-in. A code works once, for ten minutes, and stops working after five wrong tries.',
      body: codeVerificationInput,
      returns: ok(signedInView),
      fails: [wrongEmailedCode, companySuspended],
    },
    async ({ ctx, body }) => {
      const { companyName: name, ...tokens } = await verifyPortalCode(ctx, body);
      return { ...viewTokens(tokens), company: { name } };
    },
  ),
  endpoint(
    {
      method: 'post',
      path: '/api/v1/share-auth/refresh',
      recordedAs: 'share-auth:refresh',
      access: 'public',
      credential: 'external',
      operationId: 'refreshPortalSession',
      summary: 'Refresh a portal session',
      description:
        'Exchanges a refresh token, which works once, for new tokens. If the answer is lost, it works again for 10 seconds, until its successor is used; after that, presenting it ends the session.',
      body: z.object({ refresh_token: tokenSchema }),
      returns: ok(tokensView),
      fails: [invalidToken, companySuspended],
    },
    async ({ ctx, body }) => viewTokens(await refreshPortalSession(ctx, body.refresh_token)),
  ),
  portalEndpoint(
    {
      method: 'post',
      path: '/api/v1/share-auth/logout',
      recordedAs: 'share-auth:logout',
      access: 'optional',
      only: 'people',
      credential: 'external',
      operationId: 'signOutOfPortal',
      summary: 'Sign out of the portal',
      description: 'Ends the session of the token, if one is sent. The client then deletes its tokens.',
      returns: ok(z.object({ success: z.literal(true) })),
      fails: [],
    },
    async ({ ctx }) => {
      if (ctx.actor.kind === 'outsider') await endPortalSession({ ...ctx, actor: ctx.actor });
      return { success: true as const };
    },
  ),
];
