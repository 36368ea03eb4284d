import type { EventTypeName } from '../../src/modules/webhooks/event-types.ts';

/** The event types that a writing route causes, or the reason why it causes none. */
type EventsOrReason = readonly EventTypeName[] | string;

const SIGN_IN_REASON = 'is about how one person signs in, which the audit trail tells';
const OAUTH_GRANT_REASON = 'is about which programs a person lets in, which the audit trail tells';
const OUTSIDER_SESSION_REASON = 'is about the session of a person from outside';
const CONSOLE_CONTENT_REASON = 'is content of the console, of which §18 tells nothing; the audit trail does';
const KNOWLEDGE_REASON = 'is domain knowledge that people write; suggestions and jobs are told';
const TABLE_ROWS_REASON = 'is about cells of a table, of which nothing is told';
const LEGACY_PERMISSIONS_REASON = 'is of the former model of permissions; a group that lists others is told as updated';
const ABOUT_WEBHOOKS_REASON = 'is about the webhooks themselves';
const OPERATOR_REASON = 'is the operator’s';
const LATER_EVENT_REASON = 'begins what is told when it ends, or waits for somebody';

/** The event types of every route that writes, or the reason why it has none. */
export const ROUTE_EVENTS: Record<string, EventsOrReason> = {
  'POST /admin/organizations': OPERATOR_REASON,
  'PATCH /admin/organizations/{id}': ['company.updated'],
  'DELETE /admin/organizations/{id}': OPERATOR_REASON,
  'POST /admin/organizations/{id}/restore': OPERATOR_REASON,
  'PUT /admin/organizations/{id}/quotas': OPERATOR_REASON,
  'POST /admin/organizations/{id}/exports': OPERATOR_REASON,
  'POST /v1/company/exports': 'is read by its link, for which its owner waits',
  'DELETE /v1/personal-data': ['user.deleted'],
  'POST /accounts': 'groups service accounts and memberships, which are told with its id',
  'PATCH /accounts/{id}': 'groups service accounts and memberships, which are told with its id',
  'DELETE /accounts/{id}': 'groups service accounts and memberships, which are told with its id',
  'POST /admin/restore/account/{id}': 'groups service accounts and memberships, which are told with its id',
  'POST /service-accounts': ['service_account.created'],
  'PATCH /service-accounts/{id}': ['service_account.updated'],
  'DELETE /service-accounts/{id}': ['service_account.deleted', 'api_key.revoked', 'group.member_removed'],
  'POST /service-accounts/{id}/keys': ['api_key.issued'],
  'DELETE /service-accounts/{id}/keys/{key_id}': ['api_key.revoked'],
  'POST /tokens': SIGN_IN_REASON,
  'POST /groups': ['group.created'],
  'PATCH /groups/{id}': ['group.updated'],
  'DELETE /groups/{id}': ['group.deleted'],
  'POST /groups/{id}/bindings': ['group.member_added'],
  'DELETE /groups/{id}/bindings/{binding_id}': ['group.member_removed'],
  'POST /groups/{id}/policies/{policy_id}': ['policy.attached'],
  'DELETE /groups/{id}/policies/{policy_id}': ['policy.detached'],
  'POST /users': ['user.created'],
  'PATCH /users/{id}': ['user.updated', 'user.activated', 'user.deactivated'],
  'DELETE /users/{id}': ['user.deleted'],
  'POST /data/{slug}/jobs': ['data_job.done', 'data_job.failed'],
  'POST /scim/v2/Users': ['user.created'],
  'PUT /scim/v2/Users/{id}': ['user.updated', 'user.activated', 'user.deactivated'],
  'PATCH /scim/v2/Users/{id}': ['user.updated', 'user.activated', 'user.deactivated'],
  'DELETE /scim/v2/Users/{id}': ['user.deleted', 'group.member_removed'],
  'POST /scim/v2/Groups': ['group.created', 'group.member_added'],
  'PUT /scim/v2/Groups/{id}': ['group.updated', 'group.member_added', 'group.member_removed'],
  'PATCH /scim/v2/Groups/{id}': ['group.updated', 'group.member_added', 'group.member_removed'],
  'DELETE /scim/v2/Groups/{id}': ['group.deleted', 'group.member_removed'],
  'POST /oauth/token': OAUTH_GRANT_REASON,
  'POST /oauth/revoke': OAUTH_GRANT_REASON,
  'POST /oauth/device_authorization': OAUTH_GRANT_REASON,
  'POST /oauth/register': OAUTH_GRANT_REASON,
  'POST /v1/oauth-grants': OAUTH_GRANT_REASON,
  'DELETE /v1/oauth-grants/{id}': OAUTH_GRANT_REASON,
  'POST /v1/oauth-clients': OAUTH_GRANT_REASON,
  'DELETE /v1/oauth-clients/{id}': OAUTH_GRANT_REASON,
  'POST /v1/auth/login': SIGN_IN_REASON,
  'POST /v1/auth/social': ['user.created'],
  'POST /v1/auth/passwordless/request': SIGN_IN_REASON,
  'POST /v1/auth/passwordless/verify': SIGN_IN_REASON,
  'POST /v1/auth/passkeys/registration-options': SIGN_IN_REASON,
  'POST /v1/auth/passkeys': SIGN_IN_REASON,
  'PATCH /v1/auth/passkeys/{id}': SIGN_IN_REASON,
  'DELETE /v1/auth/passkeys/{id}': SIGN_IN_REASON,
  'POST /v1/auth/passkeys/authentication-options': SIGN_IN_REASON,
  'POST /v1/auth/passkeys/verify': SIGN_IN_REASON,
  'POST /v1/auth/2fa/login': SIGN_IN_REASON,
  'POST /v1/auth/2fa/setup': SIGN_IN_REASON,
  'POST /v1/auth/2fa/enable': SIGN_IN_REASON,
  'POST /v1/auth/2fa/disable': SIGN_IN_REASON,
  'POST /v1/auth/2fa/backup-codes': SIGN_IN_REASON,
  'PUT /v1/auth/social/config': ['company.updated'],
  'PUT /v1/auth/sso/config': ['company.updated'],
  'DELETE /v1/auth/sso/config': ['company.updated'],
  'POST /v1/auth/sso/{company_slug}/callback': ['user.created'],
  'POST /v1/auth/sso/exchange': SIGN_IN_REASON,
  'POST /v1/auth/logout': SIGN_IN_REASON,
  'POST /v1/auth/refresh': SIGN_IN_REASON,
  'POST /v1/auth/password': SIGN_IN_REASON,
  'DELETE /v1/auth/sessions': SIGN_IN_REASON,
  'DELETE /v1/auth/sessions/{id}': SIGN_IN_REASON,
  'PUT /v1/auth/me': ['user.updated'],
  'POST /v1/users/invite': ['user.invited', 'group.member_added'],
  'POST /v1/users/accept-invitation': ['invitation.accepted'],
  'POST /v1/users/reset-password/request': SIGN_IN_REASON,
  'POST /v1/users/reset-password/confirm': SIGN_IN_REASON,
  'PUT /v1/users/{id}': ['user.updated'],
  'DELETE /v1/users/{id}': ['user.deleted'],
  'POST /v1/users/{id}/activate': ['user.activated'],
  'POST /v1/users/{id}/deactivate': ['user.deactivated'],
  'POST /v1/users/{id}/groups': ['group.member_added'],
  'PUT /v1/users/{id}/groups': ['group.member_added', 'group.member_removed'],
  'DELETE /v1/users/{id}/groups': ['group.member_removed'],
  'DELETE /v1/users/{id}/identities': SIGN_IN_REASON,
  'DELETE /v1/users/{id}/sessions': SIGN_IN_REASON,
  'DELETE /v1/users/{id}/2fa': SIGN_IN_REASON,
  'POST /v1/groups': ['group.created'],
  'PUT /v1/groups/{id}': ['group.updated'],
  'DELETE /v1/groups/{id}': ['group.deleted'],
  'POST /v1/groups/{id}/permissions': ['group.updated'],
  'PUT /v1/groups/{id}/permissions': ['group.updated'],
  'DELETE /v1/groups/{id}/permissions': ['group.updated'],
  'POST /v1/groups/{id}/policies/{policy_id}': ['policy.attached'],
  'DELETE /v1/groups/{id}/policies/{policy_id}': ['policy.detached'],
  'POST /v1/permissions': LEGACY_PERMISSIONS_REASON,
  'PUT /v1/permissions/{id}': LEGACY_PERMISSIONS_REASON,
  'DELETE /v1/permissions/{id}': ['group.updated'],
  'POST /v1/policies': ['policy.created'],
  'PUT /v1/policies/{id}': ['policy.updated'],
  'DELETE /v1/policies/{id}': ['policy.deleted'],
  'POST /v1/policies/{id}/clone': ['policy.created'],
  'POST /v1/service-accounts': ['service_account.created'],
  'PUT /v1/service-accounts/{id}': ['service_account.updated'],
  'DELETE /v1/service-accounts/{id}': ['service_account.deleted'],
  'POST /v1/service-accounts/{id}/keys': ['api_key.issued'],
  'DELETE /v1/service-accounts/{id}/keys/{key_id}': ['api_key.revoked'],
  'PUT /v1/company/settings': ['company.updated'],
  'PUT /v1/company/branding': ['company.updated'],
  'PUT /v1/company/branding/logo': ['company.updated'],
  'POST /v1/visualizations': CONSOLE_CONTENT_REASON,
  'PUT /v1/visualizations/{id}': CONSOLE_CONTENT_REASON,
  'DELETE /v1/visualizations/{id}': CONSOLE_CONTENT_REASON,
  'POST /v1/dashboards': CONSOLE_CONTENT_REASON,
  'PUT /v1/dashboards/{id}': CONSOLE_CONTENT_REASON,
  'DELETE /v1/dashboards/{id}': ['share.revoked'],
  'POST /v1/viz-api-endpoints': CONSOLE_CONTENT_REASON,
  'PUT /v1/viz-api-endpoints/{id}': CONSOLE_CONTENT_REASON,
  'DELETE /v1/viz-api-endpoints/{id}': CONSOLE_CONTENT_REASON,
  'POST /v1/schedules': 'is told once it sends, fails or is paused',
  'PUT /v1/schedules/{id}': ['schedule.paused'],
  'DELETE /v1/schedules/{id}': 'is told once it sends, fails or is paused',
  'POST /v1/schedules/{id}/run': ['schedule.sent', 'schedule.failed'],
  'POST /v1/webhook-endpoints': ABOUT_WEBHOOKS_REASON,
  'PUT /v1/webhook-endpoints/{id}': ABOUT_WEBHOOKS_REASON,
  'DELETE /v1/webhook-endpoints/{id}': ABOUT_WEBHOOKS_REASON,
  'POST /v1/webhook-endpoints/{id}/rotate-secret': ABOUT_WEBHOOKS_REASON,
  'POST /v1/webhook-endpoints/{id}/deliveries/{delivery_id}/resend': ABOUT_WEBHOOKS_REASON,
  'POST /v1/webhook-endpoints/{id}/resend-failed': ABOUT_WEBHOOKS_REASON,
  'POST /v1/webhook-endpoints/{id}/test': ABOUT_WEBHOOKS_REASON,
  'POST /v1/webhook-endpoints/{id}/backfill': ABOUT_WEBHOOKS_REASON,
  'POST /v1/managed-tables/provision': 'makes the database that tables come into',
  'POST /v1/managed-tables': ['table.created'],
  'PUT /v1/managed-tables/{id}': ['table.updated'],
  'DELETE /v1/managed-tables/{id}': ['table.deleted'],
  'POST /v1/managed-tables/{id}/restore': ['table.restored'],
  'POST /v1/managed-tables/{id}/truncate': ['table.truncated'],
  'POST /v1/managed-tables/{id}/indexes': 'changes neither what a table holds nor its record',
  'DELETE /v1/managed-tables/{id}/indexes/{index_id}': 'changes neither what a table holds nor its record',
  'POST /v1/managed-tables/{id}/data': TABLE_ROWS_REASON,
  'PUT /v1/managed-tables/{id}/data/{rowId}': TABLE_ROWS_REASON,
  'DELETE /v1/managed-tables/{id}/data/{rowId}': TABLE_ROWS_REASON,
  'POST /v1/managed-tables/upload': LATER_EVENT_REASON,
  'POST /v1/managed-tables/upload-from-url': LATER_EVENT_REASON,
  'POST /v1/managed-tables/{id}/upload': LATER_EVENT_REASON,
  'POST /v1/managed-tables/uploads': LATER_EVENT_REASON,
  'PATCH /v1/managed-tables/uploads/{uploadId}': LATER_EVENT_REASON,
  'POST /v1/managed-tables/uploads/{uploadId}': LATER_EVENT_REASON,
  'DELETE /v1/managed-tables/uploads/{uploadId}': LATER_EVENT_REASON,
  'POST /v1/managed-tables/upload-jobs/{jobId}/analyze': ['upload.waiting_confirm'],
  'POST /v1/managed-tables/upload-jobs/{jobId}/confirm': ['upload.done', 'upload.failed'],
  'POST /v1/managed-tables/upload-jobs/{jobId}/cancel': ['upload.failed'],
  'POST /v1/managed-tables/upload-jobs/{jobId}/undo': ['upload.undone'],
  'POST /api/v1/share-contexts': ['context.created'],
  'PUT /api/v1/share-contexts/{id}': ['context.updated'],
  'PUT /api/v1/share-contexts/{id}/grants': ['context.grants_updated'],
  'DELETE /api/v1/share-contexts/{id}': ['context.deleted', 'share.revoked'],
  'POST /api/v1/share-contexts/{id}/members': ['member.added'],
  'DELETE /api/v1/share-contexts/{id}/members/{memberId}': ['member.removed'],
  'POST /api/v1/dashboards/{id}/shares': ['share.created'],
  'PUT /api/v1/dashboard-shares/{shareId}': ['share.updated'],
  'DELETE /api/v1/dashboard-shares/{shareId}': ['share.revoked'],
  'POST /api/v1/share-auth/request': ['auth.code_requested'],
  'POST /api/v1/share-auth/verify': ['auth.verified', 'auth.failed'],
  'POST /api/v1/share-auth/refresh': OUTSIDER_SESSION_REASON,
  'POST /api/v1/share-auth/logout': OUTSIDER_SESSION_REASON,
  'POST /api/v1/embed/dashboards/{id}': ['embed.generated'],
  'POST /api/v1/embed/visualizations/{id}': ['embed.generated'],
  'POST /api/v1/embed/revoke': ['embed.revoked'],
  'POST /api/v1/embed/rotate-key': ['embed.key_rotated'],
  'POST /api/v1/embed/signing-keys': ['embed.signing_key_created'],
  'DELETE /api/v1/embed/signing-keys/{id}': ['embed.signing_key_deleted'],
};

const DOMAIN_PATH = '/api/v1/domain-knowledge';
const KNOWLEDGE_RESOURCES = ['concepts', 'semantic', 'ontology/nodes', 'ontology/relations', 'verified-questions'];
for (const kind of KNOWLEDGE_RESOURCES) {
  ROUTE_EVENTS[`POST ${DOMAIN_PATH}/${kind}`] = KNOWLEDGE_REASON;
  ROUTE_EVENTS[`PATCH ${DOMAIN_PATH}/${kind}/{id}`] = KNOWLEDGE_REASON;
  ROUTE_EVENTS[`DELETE ${DOMAIN_PATH}/${kind}/{id}`] = KNOWLEDGE_REASON;
}
ROUTE_EVENTS[`PUT ${DOMAIN_PATH}/business-domains`] = KNOWLEDGE_REASON;
ROUTE_EVENTS[`POST ${DOMAIN_PATH}/questions/{id}/accept`] = KNOWLEDGE_REASON;
ROUTE_EVENTS[`POST ${DOMAIN_PATH}/import`] = ['suggestion.created'];
for (const path of ['concepts/{id}', 'semantic/{id}', 'ontology/nodes/{id}', 'ontology/relations/{id}']) {
  ROUTE_EVENTS[`POST ${DOMAIN_PATH}/suggestions/${path}/generate`] = ['suggestion.created', 'suggestion.superseded'];
}
for (const promotion of ['promote-semantic', 'promote-ontology']) {
  ROUTE_EVENTS[`POST ${DOMAIN_PATH}/suggestions/concepts/{id}/${promotion}`] = ['suggestion.created'];
}
ROUTE_EVENTS[`POST ${DOMAIN_PATH}/suggestions/bulk-accept`] = ['suggestion.accepted'];
ROUTE_EVENTS[`POST ${DOMAIN_PATH}/suggestions/{id}/accept`] = ['suggestion.accepted'];
ROUTE_EVENTS[`POST ${DOMAIN_PATH}/suggestions/{id}/reject`] = ['suggestion.rejected'];
for (const kind of ['concepts/generation/jobs', 'ontology/generation/jobs', 'jobs/enrich']) {
  ROUTE_EVENTS[`POST ${DOMAIN_PATH}/${kind}`] = ['knowledge_job.done', 'knowledge_job.failed', 'suggestion.created'];
}
ROUTE_EVENTS[`POST ${DOMAIN_PATH}/jobs/{id}/cancel`] = ['knowledge_job.cancelled'];
ROUTE_EVENTS['POST /unsubscribe/{token}'] = 'ends mails to one address, of which the schedule tells';
ROUTE_EVENTS['POST /mail-consent/{token}'] = 'is what one address wants to be mailed';
