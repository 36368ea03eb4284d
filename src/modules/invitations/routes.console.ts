import { z } from 'zod';
import { companySuspended, grantExceeds } from '../../access/failures.ts';
import { concurrentChange, quotaExceeded } from '../../db/failures.ts';
import { created, ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import {
  displayNameSchema,
  email,
  formatIsoTimestamp,
  makeIdsSchema,
  timestampSchema,
  tokenSchema,
} from '../../kernel/fields.ts';
import { brandingView, viewBranding } from '../companies/service.ts';
import { groupNotFound } from '../groups/failures.ts';
import { policyLimitExceeded } from '../policies/failures.ts';
import { emailTaken } from '../users/failures.ts';
import { makeNewPasswordField } from '../users/fields.ts';
import { getUserStatus } from '../users/service.ts';
import { invitedUserView, viewConsoleUser } from '../users/views.ts';
import { invalidInvitation } from './failures.ts';
import { acceptInvitation, inviteUser, requireInvitation } from './service.ts';

const invitation = z
  .object({
    email,
    team_ids: makeIdsSchema()
      .optional()
      .meta({ description: 'Ids of teams; they replace those of an earlier invitation.' }),
    group_ids: makeIdsSchema().default([]),
  })
  .transform(({ team_ids, group_ids, ...rest }) => ({ ...rest, teams: team_ids, groupIds: group_ids }));

/** The response with an invitation, for whoever holds its link. */
const invitationView = z
  .object({
    email: z.string(),
    name: z.string(),
    company: z.object({ name: z.string(), slug: z.string(), branding: brandingView }),
    expires_at: timestampSchema,
  })
  .meta({ id: 'Invitation' });

export const invitationEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/v1/users/invite',
      shownPath: '/v1/users/{id}',
      access: 'users:invite',
      operationId: 'inviteUser',
      summary: 'Invite a user',
      description:
        'The link in the email works for seven days. Inviting someone again who has not accepted yet sends a new link: the earlier one stops working, and the groups are added. Refused if a group allows more than the caller may do.',
      body: invitation,
      attachedIdField: 'groupIds',
      createdUnder: '/v1/users',
      dryRun: true,
      returns: created(invitedUserView),
      fails: [emailTaken, groupNotFound, policyLimitExceeded, grantExceeds, quotaExceeded, concurrentChange],
    },
    async ({ ctx, body }) => {
      const invitedUser = await inviteUser(ctx, body);
      return { ...viewConsoleUser(invitedUser), invitation_expires_at: formatIsoTimestamp(invitedUser.expiresAt) };
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/v1/users/invitation',
      recordedAs: 'auth:invitation',
      access: 'public',
      operationId: 'getInvitation',
      summary: 'Get an invitation',
      description: 'What the page of the link shows before it is accepted. The token stays good.',
      query: z.object({ token: tokenSchema }),
      returns: ok(invitationView),
      fails: [invalidInvitation, companySuspended],
    },
    async ({ ctx, query }) => {
      const { user, company, expiresAt } = await requireInvitation(ctx, query.token);
      return {
        email: user.email,
        name: user.name,
        company: { name: company.name, slug: company.slug, branding: viewBranding(ctx.baseUrl, company) },
        expires_at: formatIsoTimestamp(expiresAt),
      };
    },
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/users/accept-invitation',
      recordedAs: 'auth:accept-invitation',
      access: 'public',
      operationId: 'acceptInvitation',
      summary: 'Accept an invitation',
      description:
        'Sets the password of the invited user, who can sign in from then on. The token works once, for seven days.',
      body: z.object({
        token: tokenSchema,
        password: makeNewPasswordField(12),
        name: displayNameSchema.optional().meta({ description: 'The name to show for the user.' }),
      }),
      returns: ok(
        z.object({
          success: z.literal(true),
          user: z.object({ _id: z.string(), email: z.string(), status: z.enum(['invited', 'active', 'inactive']) }),
        }),
      ),
      fails: [invalidInvitation, companySuspended],
    },
    async ({ ctx, body }) => {
      const user = await acceptInvitation(ctx, body);
      return { success: true as const, user: { _id: user.id, email: user.email, status: getUserStatus(user) } };
    },
  ),
];
