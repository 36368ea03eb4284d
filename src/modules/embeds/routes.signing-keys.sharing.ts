import { z } from 'zod';
import { created, noContent, ok } from '../../http/endpoint.ts';
import { makePageQuery } from '../../http/list-query.ts';
import { endpoint, makeListSchema, toPageRequest, viewList } from '../../http/surfaces/sharing.ts';
import { formatIsoTimestamp, timestampSchema } from '../../kernel/fields.ts';
import { signingKeyNotFound, tooManySigningKeys } from './failures.ts';
import { requireMayRevokeEverything, requireSharingEverything } from './revocation.ts';
import {
  createSigningKey,
  deleteSigningKey,
  listSigningKeys,
  requireMayCreateSigningKey,
  type SigningKey,
} from './signing-keys.ts';

const access = {
  decidedBy: 'dashboards:share and visualizations:share',
  anyOf: ['dashboards:share', 'visualizations:share'],
} as const;

const fields = {
  id: z.string().meta({ description: 'The `kid` of tokens signed with it.' }),
  created_at: timestampSchema,
};
const keyView = z.object(fields).meta({ id: 'EmbedSigningKey' });
const createdKeyView = z
  .object({
    ...fields,
    secret: z.string().meta({ description: 'Shown in this answer only. Its UTF-8 bytes are the key of HS256.' }),
  })
  .meta({ id: 'CreatedEmbedSigningKey' });

const viewKey = ({ id, createdAt }: SigningKey): z.input<typeof keyView> => ({
  id,
  created_at: formatIsoTimestamp(createdAt),
});

/** The keys with which a company's applications sign embed tokens themselves. */
export const signingKeyEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/api/v1/embed/signing-keys',
      access,
      checkPath: requireMayCreateSigningKey,
      operationId: 'createEmbedSigningKey',
      summary: 'Create a signing key for embeds',
      description:
        'With this key an application signs embed tokens itself: JWTs with HS256, the id of the key as `kid`, the claims `aud` ("embed"), `iat`, `exp` (at most 24 hours ahead) and `dashboard_id` or `visualization_id`, and optionally `jti`, `fixed_params`, `allowed_params`, `required_params`, `allowed_origins`, `allow_downloads`, `viewer`, `theme` and `locale`. A company has at most two keys. A caller with a Deny on sharing anything, or on executing a visualization, cannot create one.',
      returns: created(createdKeyView),
      fails: [tooManySigningKeys],
    },
    async ({ ctx }) => {
      const { key, secret } = await createSigningKey(ctx);
      return { ...viewKey(key), secret };
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/api/v1/embed/signing-keys',
      access,
      checkPath: requireSharingEverything,
      operationId: 'listEmbedSigningKeys',
      summary: 'List the signing keys for embeds',
      description: 'Newest first; a company has at most two. Their secrets were shown when they were created.',
      query: makePageQuery('per_page'),
      returns: ok(makeListSchema(keyView)),
      fails: [],
    },
    async ({ ctx, query }) => viewList(await listSigningKeys(ctx, toPageRequest(query)), viewKey),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/api/v1/embed/signing-keys/{id}',
      access,
      checkPath: requireMayRevokeEverything,
      operationId: 'deleteEmbedSigningKey',
      summary: 'Delete a signing key for embeds',
      description: 'Tokens that were signed with it stop working with the next request.',
      returns: noContent,
      fails: [signingKeyNotFound],
    },
    ({ ctx, params }) => deleteSigningKey(ctx, params.id),
  ),
];
