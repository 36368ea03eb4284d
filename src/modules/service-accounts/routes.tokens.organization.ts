import { z } from 'zod';
import { created } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/organization.ts';
import { issueServiceToken, TOKEN_LIFETIME_SECONDS } from './service-token.ts';

const { min, max } = TOKEN_LIFETIME_SECONDS;

const tokenInput = z.object({
  expires_in: z.int().min(min).max(max).default(max).meta({ description: 'Seconds.' }),
});

export const serviceTokenEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/tokens',
      access: 'authenticated',
      operationId: 'createServiceToken',
      summary: 'Create a service token',
      description:
        'The token is accepted wherever a session token is, with the access of the service account. It stops working when the key that signed this request does.',
      body: tokenInput,
      returns: created(
        z
          .object({ token: z.string(), token_type: z.literal('Bearer'), expires_in: z.int() })
          .meta({ id: 'ServiceToken' }),
      ),
      fails: [],
    },
    async ({ ctx, body: { expires_in } }) => ({
      token: await issueServiceToken(ctx, expires_in),
      token_type: 'Bearer' as const,
      expires_in,
    }),
  ),
];
