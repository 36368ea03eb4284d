import { z } from 'zod';
import { concurrentChange } from '../../db/failures.ts';
import { created, noContent, ok } from '../../http/endpoint.ts';
import { makePageQuery } from '../../http/list-query.ts';
import { endpoint, makeListSchema, toPageRequest, viewList } from '../../http/surfaces/sharing.ts';
import { makeView } from '../../http/wire.ts';
import { timestampSchema } from '../../kernel/fields.ts';
import { themeField } from '../../presentation/branding-fields.ts';
import { LOCALES } from '../../texts/locales.ts';
import { dashboardNotFound } from '../dashboards/failures.ts';
import { visualizationNotFound } from '../visualizations/failures.ts';
import { MAX_LIFETIME_SECONDS } from './claims.ts';
import { signingKeyNotFound, tooManySigningKeys } from './failures.ts';
import { embedFields, MAX_ID_LENGTH } from './fields.ts';
import { type Revocation, requireMayRevokeEverything, requireSharingEverything, revokeEmbeds } from './revocation.ts';
import { generateEmbed, type NewEmbed, readItemToEmbed, rotateEmbedKey } from './service.ts';
import { createSigningKey, deleteSigningKey, listSigningKeys, requireMayCreateSigningKey } from './signing-keys.ts';

const MIN_LIFETIME_SECONDS = 60;
const DEFAULT_LIFETIME_SECONDS = 3600;

const newEmbed = z
  .object({
    ...embedFields,
    theme: themeField.optional().meta({ description: "Overrides the company's branding, field by field." }),
    locale: z.enum(LOCALES).optional().meta({ description: 'The language of the page, unless its URL names another.' }),
    expires_in: z.int().min(MIN_LIFETIME_SECONDS).max(MAX_LIFETIME_SECONDS).default(DEFAULT_LIFETIME_SECONDS).meta({
      description: 'How long the token is valid, in seconds.',
    }),
  })
  .transform(
    (body): NewEmbed => ({
      terms: { fixedValues: body.fixed_params, allowedSlugs: body.allowed_params, requiredSlugs: body.required_params },
      expiresIn: body.expires_in,
      allowedOrigins: body.allowed_origins,
      viewer: body.viewer ?? null,
      allowDownloads: body.allow_downloads,
      theme: body.theme,
      locale: body.locale,
    }),
  );

const embedView = z
  .object({
    id: z.string().meta({ description: 'The id of the token, to revoke it with.' }),
    token: z.string(),
    url: z.string(),
    expires_at: timestampSchema,
  })
  .meta({ id: 'Embed' });

const viewEmbed = makeView(embedView);

const makeRevokedField = (fieldDescription: string) =>
  z.string().min(1).max(MAX_ID_LENGTH).optional().meta({ description: fieldDescription });

const revocation = z
  .object({
    token_id: makeRevokedField('The `id` of a token, or the `jti` of one that a host signed itself.'),
    dashboard_id: makeRevokedField('All tokens that show this dashboard.'),
    visualization_id: makeRevokedField('All tokens that show this visualization alone.'),
    viewer_id: makeRevokedField('All tokens of this viewer.'),
  })
  .meta({ minProperties: 1, maxProperties: 1 })
  .superRefine((body, context) => {
    const [first, ...others] = Object.keys(body);
    const addIssue = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message });
    if (!first) addIssue('token_id', 'send exactly one of token_id, dashboard_id, visualization_id and viewer_id');
    for (const otherField of others)
      addIssue(otherField, `cannot be sent together with ${first}: send only one of them`);
  })
  .transform(({ token_id, dashboard_id, visualization_id, viewer_id = '' }): Revocation => {
    if (token_id !== undefined) return { by: 'token', id: token_id };
    if (dashboard_id !== undefined) return { by: 'target', type: 'dashboard', id: dashboard_id };
    if (visualization_id !== undefined) return { by: 'target', type: 'visualization', id: visualization_id };
    return { by: 'viewer', id: viewer_id };
  });

const EVERYTHING_ACCESS = {
  decidedBy: 'dashboards:share and visualizations:share',
  anyOf: ['dashboards:share', 'visualizations:share'],
} as const;

const keyFields = {
  id: z.string().meta({ description: 'The `kid` of tokens signed with it.' }),
  created_at: timestampSchema,
};
const keyView = z.object(keyFields).meta({ id: 'EmbedSigningKey' });
const createdKeyView = z
  .object({
    ...keyFields,
    secret: z.string().meta({ description: 'Shown in this answer only. Its UTF-8 bytes are the key of HS256.' }),
  })
  .meta({ id: 'CreatedEmbedSigningKey' });

const viewKey = makeView(keyView);

export const embedEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/api/v1/embed/dashboards/{id}',
      access: 'dashboards:share',
      operationId: 'createDashboardEmbed',
      summary: 'Create an embed token for a dashboard',
      description: 'The token shows the dashboard on another site, to anyone who holds it.',
      body: newEmbed,
      exactNumbers: true,
      checkPath: (ctx, { id = '' }) => readItemToEmbed(ctx, 'dashboard', id),
      returns: created(embedView),
      fails: [dashboardNotFound, concurrentChange],
    },
    async ({ ctx, params, body }) => viewEmbed(await generateEmbed(ctx, 'dashboard', params.id, body)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/api/v1/embed/visualizations/{id}',
      access: 'visualizations:share',
      operationId: 'createVisualizationEmbed',
      summary: 'Create an embed token for a visualization',
      description: 'The token shows the visualization on another site, to anyone who holds it.',
      body: newEmbed,
      exactNumbers: true,
      checkPath: (ctx, { id = '' }) => readItemToEmbed(ctx, 'visualization', id),
      returns: created(embedView),
      fails: [visualizationNotFound, concurrentChange],
    },
    async ({ ctx, params, body }) => viewEmbed(await generateEmbed(ctx, 'visualization', params.id, body)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/api/v1/embed/revoke',
      access: {
        decidedBy:
          'the share permission of what the tokens show; both for a viewer, and for a token that a host signed',
        anyOf: ['dashboards:share', 'visualizations:share'],
      },
      operationId: 'revokeEmbeds',
      summary: 'Revoke embed tokens',
      description:
        'Revokes tokens that were created before this request: one token, all tokens of a dashboard or visualization, or all tokens of a viewer. They stop working with the next request.',
      body: revocation,
      returns: noContent,
      fails: [dashboardNotFound, visualizationNotFound],
    },
    ({ ctx, body }) => revokeEmbeds(ctx, body),
  ),
  endpoint(
    {
      method: 'post',
      path: '/api/v1/embed/rotate-key',
      access: EVERYTHING_ACCESS,
      checkPath: requireMayRevokeEverything,
      operationId: 'rotateEmbedKey',
      summary: 'Rotate the embed key',
      description:
        'Revokes all embed tokens of the company, including those that hosts signed themselves. They stop working with the next request.',
      returns: noContent,
      fails: [],
    },
    ({ ctx }) => rotateEmbedKey(ctx),
  ),
];

/** The keys with which a company's applications sign embed tokens themselves. */
export const signingKeyEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/api/v1/embed/signing-keys',
      access: EVERYTHING_ACCESS,
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
      access: EVERYTHING_ACCESS,
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
      access: EVERYTHING_ACCESS,
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
