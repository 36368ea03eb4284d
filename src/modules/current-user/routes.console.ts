import { z } from 'zod';
import { ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { displayNameSchema } from '../../kernel/fields.ts';
import { companyNotFound, getCompany } from '../companies/service.ts';
import { explainOwnAccess } from '../policies/service.ts';
import { viewOwnPermissions } from '../policies/views.ts';
import { changeProfile, userNotFound } from '../users/service.ts';
import { readCurrentUser } from './service.ts';
import { currentPrincipalResponse, currentUserResponse, viewCurrentServiceAccount, viewCurrentUser } from './views.ts';

export const currentUserEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/v1/auth/me',
      recordedAs: 'auth:me',
      access: 'authenticated',
      operationId: 'getCurrentUser',
      summary: 'Get the current user',
      description:
        'All that a console begins with: who is signed in, the company with its branding and, with `include=permissions`, what GET /v1/auth/permissions answers. With a service token: the service account, and no user.',
      query: z.object({ include: z.literal('permissions').optional() }),
      returns: ok(currentPrincipalResponse),
      fails: [userNotFound, companyNotFound],
    },
    async ({ ctx, query }) => {
      const { actor } = ctx;
      const makeResponse = async () =>
        actor.kind === 'user'
          ? viewCurrentUser(ctx.baseUrl, await readCurrentUser({ ...ctx, actor }))
          : viewCurrentServiceAccount(ctx.baseUrl, actor, await getCompany(ctx));
      const readPermissions = async () =>
        query.include && { permissions: viewOwnPermissions(actor, await explainOwnAccess(ctx)) };
      const [principal, access] = await Promise.all([makeResponse(), readPermissions()]);
      return { ...principal, ...access };
    },
  ),
  endpoint(
    {
      method: 'put',
      path: '/v1/auth/me',
      recordedAs: 'auth:me',
      access: 'authenticated',
      only: 'people',
      operationId: 'updateCurrentUser',
      summary: 'Update the current user',
      description: 'Changes how the caller is called. An administrator changes the rest.',
      body: z.object({ name: displayNameSchema }).partial(),
      returns: ok(currentUserResponse),
      fails: [userNotFound, companyNotFound],
    },
    async ({ ctx, body }) => {
      await changeProfile(ctx, ctx.actor.id, body);
      return viewCurrentUser(ctx.baseUrl, await readCurrentUser(ctx));
    },
  ),
];
