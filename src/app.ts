import { Hono, type Context as HonoContext, type MiddlewareHandler } from 'hono';
import { openContext } from './context.ts';
import { failureResponse } from './http/answer.ts';
import { audited } from './http/audit.ts';
import type { Doors } from './http/guard.ts';
import { setHeaders } from './http/headers.ts';
import { readLeftover } from './http/leftover.ts';
import { failureOf, type HttpEnv, mount, originOf } from './http/mount.ts';
import type { SurfaceEndpoints } from './http/openapi.ts';
import { platformEndpoints } from './http/platform.ts';
import { countByIp, limitHeaders, rateLimited } from './http/rate-limits.ts';
import * as console from './http/surfaces/console.ts';
import * as knowledge from './http/surfaces/knowledge.ts';
import * as managedTables from './http/surfaces/managed-tables.ts';
import * as organization from './http/surfaces/organization.ts';
import * as sharing from './http/surfaces/sharing.ts';
import { crossOrigin } from './http/token-routes.ts';
import { surfaceOf, unmatched } from './http/unmatched.ts';
import { queueAuditRecord } from './jobs/audit-queue.ts';
import { accountEndpoints } from './modules/accounts/organization.ts';
import { auditEndpoints } from './modules/audit/organization.ts';
import { companySettingsEndpoints } from './modules/companies/console.ts';
import { authenticateOperator } from './modules/companies/operator.ts';
import { companyEndpoints } from './modules/companies/organization.ts';
import { dashboardEndpoints } from './modules/dashboards/console.ts';
import { publicEmbedEndpoints } from './modules/embeds/public.sharing.ts';
import { frameAncestorsOf as embedFrames } from './modules/embeds/service.ts';
import { embedEndpoints } from './modules/embeds/sharing.ts';
import { openEmbedToken } from './modules/embeds/token.ts';
import { consoleGroupEndpoints } from './modules/groups/console.ts';
import { groupMemberEndpoints } from './modules/groups/members.organization.ts';
import { organizationGroupEndpoints } from './modules/groups/organization.ts';
import { invitationEndpoints } from './modules/invitations/console.ts';
import { businessDomainEndpoints } from './modules/knowledge/business-domains/console.ts';
import { conceptEndpoints } from './modules/knowledge/concepts/console.ts';
import { generationEndpoints } from './modules/knowledge/generation/console.ts';
import { ontologyNodeEndpoints } from './modules/knowledge/ontology/nodes.console.ts';
import { ontologyRelationEndpoints } from './modules/knowledge/ontology/relations.console.ts';
import { semanticEndpoints } from './modules/knowledge/semantic/console.ts';
import { suggestionEndpoints } from './modules/knowledge/suggestions/console.ts';
import { permissionEndpoints } from './modules/legacy-permissions/console.ts';
import { managedTablesEndpoints } from './modules/managed-tables/managed-tables.ts';
import { pageEndpoints } from './modules/pages/sharing.ts';
import { passwordResetEndpoints } from './modules/password-reset/console.ts';
import { policyEndpoints } from './modules/policies/console.ts';
import { apiKeyEndpoints } from './modules/service-accounts/keys.organization.ts';
import { serviceAccountEndpoints } from './modules/service-accounts/organization.ts';
import { authenticateSignature } from './modules/service-accounts/signature.ts';
import { shareActivityEndpoints } from './modules/share-activity/sharing.ts';
import { authenticateExternal } from './modules/share-auth/service.ts';
import { shareAuthEndpoints } from './modules/share-auth/sharing.ts';
import { shareContextEndpoints } from './modules/share-contexts/sharing.ts';
import { sharePortalEndpoints } from './modules/share-portal/sharing.ts';
import { publicShareEndpoints } from './modules/shares/public.sharing.ts';
import { shareEndpoints } from './modules/shares/sharing.ts';
import { openShareToken, frameAncestorsOf as shareFrames } from './modules/shares/token.ts';
import { signInEndpoints } from './modules/sign-in/console.ts';
import { passwordlessEndpoints } from './modules/sign-in/passwordless.console.ts';
import { secondFactorEndpoints } from './modules/sign-in/second-factor.console.ts';
import { authenticateBearer } from './modules/sign-in/service.ts';
import { sessionEndpoints } from './modules/sign-in/sessions.console.ts';
import { singleSignOnEndpoints } from './modules/single-sign-on/console.ts';
import { socialSignInEndpoints } from './modules/social-sign-in/console.ts';
import { uploadEndpoints } from './modules/uploads/managed-tables.ts';
import { consoleUserEndpoints } from './modules/users/console.ts';
import { organizationUserEndpoints } from './modules/users/organization.ts';
import { visualizationEndpoints } from './modules/visualizations/console.ts';
import { correlated, logError } from './platform/log.ts';

/** Every surface with its endpoints. */
export const SURFACES: SurfaceEndpoints[] = [
  {
    surface: organization.surface,
    endpoints: [
      ...companyEndpoints,
      ...auditEndpoints,
      ...accountEndpoints,
      ...serviceAccountEndpoints,
      ...apiKeyEndpoints,
      ...organizationGroupEndpoints,
      ...groupMemberEndpoints,
      ...organizationUserEndpoints,
      ...platformEndpoints(() => SURFACES),
    ],
  },
  {
    surface: console.surface,
    endpoints: [
      ...signInEndpoints,
      ...passwordlessEndpoints,
      ...secondFactorEndpoints,
      ...sessionEndpoints,
      ...companySettingsEndpoints,
      ...singleSignOnEndpoints,
      ...socialSignInEndpoints,
      ...invitationEndpoints,
      ...passwordResetEndpoints,
      ...visualizationEndpoints,
      ...dashboardEndpoints,
      ...consoleUserEndpoints,
      ...consoleGroupEndpoints,
      ...permissionEndpoints,
      ...policyEndpoints,
    ],
  },
  { surface: managedTables.surface, endpoints: [...managedTablesEndpoints, ...uploadEndpoints] },
  {
    surface: knowledge.surface,
    endpoints: [
      ...businessDomainEndpoints,
      ...conceptEndpoints,
      ...semanticEndpoints,
      ...ontologyNodeEndpoints,
      ...ontologyRelationEndpoints,
      ...suggestionEndpoints,
      ...generationEndpoints,
    ],
  },
  {
    surface: sharing.surface,
    endpoints: [
      ...shareContextEndpoints,
      ...shareEndpoints,
      ...publicShareEndpoints,
      ...shareAuthEndpoints,
      ...sharePortalEndpoints,
      ...embedEndpoints,
      ...publicEmbedEndpoints,
      ...shareActivityEndpoints,
      ...pageEndpoints({ ofEmbed: embedFrames, ofShare: shareFrames }),
    ],
  },
];

/** Who words a failure before an endpoint is found: the first prefix that fits. */
const SURFACE_OF_PREFIX = [
  ['/v1/managed-tables', managedTables.surface],
  ['/v1', console.surface],
  ['/.well-known', console.surface],
  ['/api/v1/domain-knowledge', knowledge.surface],
  ['/api', sharing.surface],
  ['', organization.surface],
] as const;

const DOORS: Doors = {
  operator: authenticateOperator,
  authenticators: { bearer: authenticateBearer, signature: authenticateSignature, external: authenticateExternal },
  tokens: {
    share: openShareToken,
    'embed-dashboard': openEmbedToken('dashboard'),
    'embed-visualization': openEmbedToken('visualization'),
  },
};

/** The whole API. */
export function createApp(): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>();
  app.use(observe, audited(queueAuditRecord), crossOrigin(DOORS.tokens));
  for (const { surface, endpoints } of SURFACES) mount(app, surface, endpoints, DOORS);

  app.notFound(async (c) => {
    const { context } = openContext(originOf(c), { kind: 'anonymous' });
    const byIp = await countByIp(context);
    c.get('seen').limits.push(byIp);
    // Answered, not thrown: what is thrown here would skip the middleware that is still to finish.
    return refuse(byIp.allowed ? unmatched(SURFACES, c.req.path) : rateLimited(byIp, context.now()), c);
  });
  app.onError(refuse);
  return app;
}

/** The answer to whatever went wrong, in the wording of the surface that the path belongs to. */
function refuse(error: Error, c: HonoContext<HttpEnv>): Response {
  const surface = surfaceOf(c.req.path, SURFACE_OF_PREFIX);
  const failure = failureOf(error);
  return failure ? failureResponse(surface, failure) : c.json(surface.internalError as object, 500);
}

/** One line for every answer that is our fault or that of what we depend on, with its cause. */
function logServerError(c: HonoContext<HttpEnv>): void {
  const { res, error, req } = c;
  if (res.status < 500) return;
  const { contract, actor } = c.get('seen');
  logError('request_failed', error ?? new Error('The handler answered so itself.'), {
    status: res.status,
    method: req.method,
    route: contract?.path ?? null,
    company_id: actor && 'companyId' in actor ? actor.companyId : null,
  });
}

/** Gives every request its id, and every answer the headers that all answers carry. */
const observe: MiddlewareHandler<HttpEnv> = async (c, next) => {
  const correlationId = crypto.randomUUID();
  c.set('correlationId', correlationId);
  c.set('seen', { limits: [], contract: null, actor: null, owner: null, resourceIds: [] });
  await correlated(correlationId, async () => {
    await next();
    logServerError(c);
  });
  await readLeftover(c.req.raw);
  setHeaders(c, [
    ['x-correlation-id', correlationId],
    ['X-Content-Type-Options', 'nosniff'],
    ['Strict-Transport-Security', 'max-age=31536000; includeSubDomains'],
    // Answers hold tokens and people's data; what may be kept says so itself.
    ['Cache-Control', c.res.headers.get('Cache-Control') ?? 'no-store'],
    ...limitHeaders(c.get('seen').limits),
  ]);
};
