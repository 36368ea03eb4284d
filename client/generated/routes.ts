// Made from /openapi.json by `npm run contract`; test/client holds it to be true.

export interface Routes {
  /** List organizations */
  "GET /admin/organizations": { query?: { "page"?: number; "quantity"?: number; "order_by"?: "created_at" | "updated_at" | "name" | "-created_at" | "-updated_at" | "-name"; "search"?: string | number; "status"?: "active" | "suspended" | "deleting" }; answer: { "total": number; "page": number; "results": Array<Organization> } };
  /** Create an organization */
  "POST /admin/organizations": { body: { "name": string; "slug": string; "owner": { "email": string; "name": string; "password": string } }; answer: { "organization": { "id": string; "name": string; "slug": string; "created_at": string }; "owner": { "id": string; "email": string; "name": string }; "default_account": Account; "service_account": ServiceAccount; "api_key": IssuedApiKey } };
  /** Get an organization */
  "GET /admin/organizations/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: Organization };
  /** Change an organization */
  "PATCH /admin/organizations/{id}": { params: { "id": string }; ifMatch?: string; body?: { "name"?: string; "status"?: "active" | "suspended" }; answer: Organization | OrganizationWrittenRecord };
  /** Delete an organization */
  "DELETE /admin/organizations/{id}": { params: { "id": string }; query?: { "after_days"?: number }; ifMatch?: string; answer: { "deletes_at": string } };
  /** Get the usage of an organization */
  "GET /admin/organizations/{id}/usage": { params: { "id": string }; query?: { "from"?: string | number; "to"?: string | number }; answer: Usage };
  /** Set the quotas of an organization */
  "PUT /admin/organizations/{id}/quotas": { params: { "id": string }; body?: { "users"?: number | null; "table_bytes"?: number | null; "file_bytes"?: number | null; "mails_per_day"?: number | null; "model_calls_per_day"?: number | null }; answer: OrganizationQuotas };
  /** Create an export of an organization */
  "POST /admin/organizations/{id}/exports": { params: { "id": string }; answer: { "export_id": string; "status": "queued" | "running" | "succeeded" | "failed" } };
  /** Get an export of an organization */
  "GET /admin/organizations/{id}/exports/{export_id}": { params: { "id": string; "export_id": string }; query?: { "wait"?: number }; ifNoneMatch?: string; answer: CompanyExport };
  /** Download an export of a company */
  "GET /data/archives/{token}": { params: { "token": string }; answer: string };
  /** Restore an organization that is being deleted */
  "POST /admin/organizations/{id}/restore": { params: { "id": string }; answer: Organization | OrganizationWrittenRecord };
  /** Get the certificate of an erased organization */
  "GET /admin/organizations/{id}/certificate": { params: { "id": string }; answer: { "certificate": string } };
  /** List audit events */
  "GET /admin/audit-events": { query?: { "page"?: number; "quantity"?: number; "correlation_id"?: string | number; "principal_id"?: string | number; "action"?: string | number; "from"?: string | number; "to"?: string | number }; answer: { "total": number; "page": number; "results": Array<AuditEvent> } };
  /** Export audit events */
  "GET /admin/audit-events/export": { query?: { "from"?: string | number; "to"?: string | number; "format"?: "ndjson" | "csv" }; answer: string; files: { "ndjson": string; "csv": string } };
  /** List accounts */
  "GET /accounts": { query?: { "page"?: number; "quantity"?: number; "order_by"?: "created_at" | "updated_at" | "name" | "-created_at" | "-updated_at" | "-name"; "include_deleted"?: "true" | "false" }; answer: { "total": number; "page": number; "results": Array<Account> } };
  /** Create an account */
  "POST /accounts": { body: { "name": string; "is_default"?: boolean; "metadata"?: Record<string, unknown> }; answer: Account | OrganizationWrittenRecord };
  /** Get an account */
  "GET /accounts/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: Account };
  /** Update an account */
  "PATCH /accounts/{id}": { params: { "id": string }; ifMatch?: string; body?: { "name"?: string; "metadata"?: Record<string, unknown>; "is_active"?: boolean; "is_default"?: boolean }; answer: Account | OrganizationWrittenRecord };
  /** Delete an account */
  "DELETE /accounts/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** List deleted accounts */
  "GET /admin/deleted/accounts": { query?: { "page"?: number; "quantity"?: number; "order_by"?: "created_at" | "updated_at" | "name" | "-created_at" | "-updated_at" | "-name" }; answer: { "total": number; "page": number; "results": Array<Account> } };
  /** Restore a deleted account */
  "POST /admin/restore/account/{id}": { params: { "id": string }; answer: Account | OrganizationWrittenRecord };
  /** List service accounts */
  "GET /service-accounts": { query?: { "page"?: number; "quantity"?: number; "order_by"?: "created_at" | "updated_at" | "name" | "last_used_at" | "-created_at" | "-updated_at" | "-name" | "-last_used_at"; "account_id"?: string | number; "include_inactive"?: "true" | "false"; "include_deleted"?: "true" | "false" }; answer: { "total": number; "page": number; "results": Array<ServiceAccount> } };
  /** Create a service account */
  "POST /service-accounts": { body: { "name": string; "description"?: string; "metadata"?: Record<string, unknown>; "account_id": string }; answer: ServiceAccount | OrganizationWrittenRecord };
  /** Get a service account */
  "GET /service-accounts/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: ServiceAccount };
  /** Update a service account */
  "PATCH /service-accounts/{id}": { params: { "id": string }; ifMatch?: string; body?: { "name"?: string; "description"?: string; "is_active"?: boolean; "metadata"?: Record<string, unknown> }; answer: ServiceAccount | OrganizationWrittenRecord };
  /** Delete a service account */
  "DELETE /service-accounts/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** Create an API key */
  "POST /service-accounts/{id}/keys": { params: { "id": string }; body?: { "description"?: string; "expires_at"?: string }; answer: IssuedApiKey };
  /** List the API keys of a service account */
  "GET /service-accounts/{id}/keys": { params: { "id": string }; query?: { "page"?: number; "quantity"?: number; "order_by"?: "created_at" | "updated_at" | "last_used_at" | "-created_at" | "-updated_at" | "-last_used_at" }; answer: { "total": number; "page": number; "results": Array<ApiKey> } };
  /** Revoke an API key */
  "DELETE /service-accounts/{id}/keys/{key_id}": { params: { "id": string; "key_id": string }; answer: undefined };
  /** Create a service token */
  "POST /tokens": { body?: { "expires_in"?: number }; answer: ServiceToken };
  /** Execute an endpoint of the Data API */
  "GET /data/{slug}": { params: { "slug": string }; query?: { "format"?: "json" | "ndjson" | "csv"; [parameter: string]: string | number | boolean | Array<string | number> | undefined }; answer: DataResult; files: { "ndjson": string; "csv": string } };
  /** Create a job of the Data API */
  "POST /data/{slug}/jobs": { params: { "slug": string }; body?: { "parameters"?: Record<string, unknown>; "format"?: "json" | "ndjson" | "csv" }; answer: { "job_id": string; "status": "queued" | "running" | "succeeded" | "failed" } };
  /** Get a job of the Data API */
  "GET /data/jobs/{job_id}": { params: { "job_id": string }; query?: { "wait"?: number }; ifNoneMatch?: string; answer: DataJob };
  /** Download the result of a job of the Data API */
  "GET /data/results/{token}": { params: { "token": string }; answer: unknown };
  /** List groups */
  "GET /groups": { query?: { "page"?: number; "quantity"?: number; "order_by"?: "created_at" | "updated_at" | "name" | "-created_at" | "-updated_at" | "-name"; "include_deleted"?: "true" | "false" }; answer: { "total": number; "page": number; "results": Array<OrganizationGroup> } };
  /** Create a group */
  "POST /groups": { query?: { "dry_run"?: "true" | "false" }; body: { "name": string; "description"?: string }; answer: OrganizationGroup | OrganizationWrittenRecord; dryRun: ChangeOfAccess };
  /** Get a group */
  "GET /groups/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: OrganizationGroup };
  /** Update a group */
  "PATCH /groups/{id}": { params: { "id": string }; ifMatch?: string; body?: { "name"?: string; "description"?: string }; answer: OrganizationGroup | OrganizationWrittenRecord };
  /** Delete a group */
  "DELETE /groups/{id}": { params: { "id": string }; query?: { "dry_run"?: "true" | "false" }; ifMatch?: string; answer: undefined; dryRun: ChangeOfAccess };
  /** Add a binding to a group */
  "POST /groups/{id}/bindings": { params: { "id": string }; query?: { "dry_run"?: "true" | "false" }; body: { "principal_type": "user" | "service_account"; "principal_id": string; "account_id": string }; answer: GroupBinding; dryRun: ChangeOfAccess };
  /** List a group's bindings */
  "GET /groups/{id}/bindings": { params: { "id": string }; query?: { "page"?: number; "quantity"?: number; "order_by"?: "created_at" | "-created_at"; "account_id"?: string | number }; answer: { "total": number; "page": number; "results": Array<GroupBinding> } };
  /** Remove a binding from a group */
  "DELETE /groups/{id}/bindings/{binding_id}": { params: { "id": string; "binding_id": string }; query?: { "dry_run"?: "true" | "false" }; answer: undefined; dryRun: ChangeOfAccess };
  /** Attach a policy to a group */
  "POST /groups/{id}/policies/{policy_id}": { params: { "id": string; "policy_id": string }; query?: { "dry_run"?: "true" | "false" }; answer: undefined; dryRun: ChangeOfAccess };
  /** Detach a policy from a group */
  "DELETE /groups/{id}/policies/{policy_id}": { params: { "id": string; "policy_id": string }; query?: { "dry_run"?: "true" | "false" }; answer: undefined; dryRun: ChangeOfAccess };
  /** List users */
  "GET /users": { query?: { "page"?: number; "quantity"?: number; "order_by"?: "created_at" | "updated_at" | "email" | "last_login_at" | "-created_at" | "-updated_at" | "-email" | "-last_login_at"; "account_id"?: string | number; "include_deleted"?: "true" | "false" }; answer: { "total": number; "page": number; "results": Array<OrganizationUser> } };
  /** Create a user */
  "POST /users": { body: { "email": string; "password": string; "metadata"?: Record<string, unknown> }; answer: OrganizationUser | OrganizationWrittenRecord };
  /** Get a user */
  "GET /users/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: OrganizationUser };
  /** Update a user */
  "PATCH /users/{id}": { params: { "id": string }; ifMatch?: string; body?: { "is_active"?: boolean; "metadata"?: Record<string, unknown> }; answer: OrganizationUser | OrganizationWrittenRecord };
  /** Delete a user */
  "DELETE /users/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** Get the name, version and links of the API */
  "GET /": { answer: { "name": string; "version": string; "docs": string; "openapi": string; "health": string } };
  /** Get the health of the API */
  "GET /health": { answer: { "status": "ok"; "version": string } };
  /** Get the OpenAPI document */
  "GET /openapi.json": { answer: unknown };
  /** Show the API reference in a browser */
  "GET /docs": { answer: string };
  /** Check whether a company with this slug exists */
  "GET /v1/auth/validate-company": { query: { "slug": string | number }; answer: { "exists": boolean } };
  /** Sign in with email and password */
  "POST /v1/auth/login": { body: { "company_slug": string; "email": string; "password": string }; answer: SignInResult };
  /** Refresh a session */
  "POST /v1/auth/refresh": { body: { "refresh_token": string }; answer: TokenPair };
  /** Sign out */
  "POST /v1/auth/logout": { answer: { "success": true } };
  /** Get the public keys that verify session tokens */
  "GET /.well-known/jwks.json": { answer: { "keys": Array<Record<string, unknown>> } };
  /** Request a sign-in code by email */
  "POST /v1/auth/passwordless/request": { body: { "company_slug": string; "email": string }; answer: { "message": string } };
  /** Sign in with an emailed code */
  "POST /v1/auth/passwordless/verify": { body: { "company_slug": string; "email": string; "code": string }; answer: SignInResult };
  /** Complete a sign-in with the second factor */
  "POST /v1/auth/2fa/login": { body: { "pending_2fa_token": string; "totp_token"?: string; "backup_code"?: string }; answer: LoginResult };
  /** Set up a second factor */
  "POST /v1/auth/2fa/setup": { body?: { "password"?: string; "pending_2fa_token"?: string }; answer: { "secret": string; "otpauth_url": string } };
  /** Enable the second factor */
  "POST /v1/auth/2fa/enable": { body?: { "totp_token"?: string; "password"?: string; "pending_2fa_token"?: string }; answer: LoginResultWithBackupCodes | BackupCodes };
  /** Disable the second factor */
  "POST /v1/auth/2fa/disable": { body?: { "password"?: string; "totp_token"?: string; "backup_code"?: string }; answer: { "success": true } };
  /** Replace the backup codes */
  "POST /v1/auth/2fa/backup-codes": { body?: { "password"?: string; "totp_token"?: string; "backup_code"?: string }; answer: BackupCodes };
  /** Reset a user's second factor */
  "DELETE /v1/users/{id}/2fa": { params: { "id": string }; answer: undefined };
  /** Get options for a new passkey */
  "POST /v1/auth/passkeys/registration-options": { body?: { "password"?: string; "totp_token"?: string; "backup_code"?: string }; answer: PasskeyCreationOptions };
  /** Create a passkey */
  "POST /v1/auth/passkeys": { body: { "name": string; "response": PasskeyRegistrationResponse; "password"?: string; "totp_token"?: string; "backup_code"?: string }; answer: Passkey | WrittenRecord };
  /** List the caller's passkeys */
  "GET /v1/auth/passkeys": { answer: { "records": Array<Passkey> } };
  /** Get one of the caller's passkeys */
  "GET /v1/auth/passkeys/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: Passkey };
  /** Update one of the caller's passkeys */
  "PATCH /v1/auth/passkeys/{id}": { params: { "id": string }; ifMatch?: string; body: { "name": string }; answer: Passkey | WrittenRecord };
  /** Delete one of the caller's passkeys */
  "DELETE /v1/auth/passkeys/{id}": { params: { "id": string }; ifMatch?: string; body?: { "password"?: string; "totp_token"?: string; "backup_code"?: string }; answer: undefined };
  /** Get options for a sign-in with a passkey */
  "POST /v1/auth/passkeys/authentication-options": { body: { "company_slug": string }; answer: PasskeyRequestOptions };
  /** Sign in with a passkey */
  "POST /v1/auth/passkeys/verify": { body: { "company_slug": string; "response": PasskeyAuthenticationResponse }; answer: LoginResult };
  /** List the caller's sessions */
  "GET /v1/auth/sessions": { answer: { "records": Array<Session> } };
  /** End the caller's other sessions */
  "DELETE /v1/auth/sessions": { answer: undefined };
  /** End one of the caller's sessions */
  "DELETE /v1/auth/sessions/{id}": { params: { "id": string }; answer: undefined };
  /** Change the caller's password */
  "POST /v1/auth/password": { body: { "current_password": string; "new_password": string }; answer: { "success": true } };
  /** End a user's sessions */
  "DELETE /v1/users/{id}/sessions": { params: { "id": string }; answer: undefined };
  /** Get the current user */
  "GET /v1/auth/me": { query?: { "include"?: "permissions" }; answer: { "user": CurrentUser; "context": { "company_id": string; "company": { "id": string; "name": string; "slug": string; "locale": "en" | "pt-BR" | "es"; "branding": Branding } }; "permissions"?: OwnPermissions } | { "user": null; "service_account": { "id": string; "name": string; "account_id": string }; "context": { "company_id": string; "company": { "id": string; "name": string; "slug": string; "locale": "en" | "pt-BR" | "es"; "branding": Branding } }; "permissions"?: OwnPermissions } };
  /** Update the current user */
  "PUT /v1/auth/me": { body?: { "name"?: string }; answer: { "user": CurrentUser; "context": { "company_id": string; "company": { "id": string; "name": string; "slug": string; "locale": "en" | "pt-BR" | "es"; "branding": Branding } } } };
  /** Get the company's settings */
  "GET /v1/company/settings": { answer: CompanySettings };
  /** Update the company's settings */
  "PUT /v1/company/settings": { body?: { "require_2fa"?: boolean; "sso_only"?: boolean; "locale"?: "en" | "pt-BR" | "es" }; answer: CompanySettings };
  /** Get the company's usage */
  "GET /v1/company/usage": { query?: { "from"?: string | number; "to"?: string | number }; answer: Usage };
  /** Get the company's branding */
  "GET /v1/company/branding": { answer: CompanyBranding };
  /** Update the company's branding */
  "PUT /v1/company/branding": { body?: CompanyBrandingInput; answer: CompanyBranding };
  /** Replace the company's logo */
  "PUT /v1/company/branding/logo": { form: FormData; answer: CompanyBranding };
  /** Create an export of the company */
  "POST /v1/company/exports": { answer: { "export_id": string; "status": "queued" | "running" | "succeeded" | "failed" } };
  /** Get an export of the company */
  "GET /v1/company/exports/{export_id}": { params: { "export_id": string }; query?: { "wait"?: number }; ifNoneMatch?: string; answer: CompanyExport };
  /** Begin a sign-in with the company's identity provider */
  "GET /v1/auth/sso/{company_slug}/start": { params: { "company_slug": string }; query: { "redirect_uri": string | number }; answer: { "url": string; "exchange_secret": string } };
  /** Complete a sign-in with the identity provider's answer */
  "GET /v1/auth/sso/{company_slug}/callback": { params: { "company_slug": string }; query?: { "state"?: string | number; "code"?: string | number; "iss"?: string | number; "error"?: string | number; "error_description"?: string | number }; answer: undefined };
  /** Complete a sign-in with the identity provider's form */
  "POST /v1/auth/sso/{company_slug}/callback": { params: { "company_slug": string }; answer: undefined };
  /** Get the SAML metadata for the identity provider */
  "GET /v1/auth/sso/{company_slug}/metadata": { params: { "company_slug": string }; answer: string };
  /** Exchange the code of a completed sign-in for a session */
  "POST /v1/auth/sso/exchange": { body: { "code": string; "exchange_secret"?: string }; answer: SignInResult };
  /** Get the configuration of single sign-on */
  "GET /v1/auth/sso/config": { answer: SsoConfiguration };
  /** Replace the configuration of single sign-on */
  "PUT /v1/auth/sso/config": { body: OidcConfigurationInput | SamlConfigurationInput; answer: SsoConfiguration };
  /** Delete the configuration of single sign-on */
  "DELETE /v1/auth/sso/config": { answer: undefined };
  /** Sign in with an ID token of an identity provider */
  "POST /v1/auth/social": { body: { "company_slug": string; "social_token": string }; answer: SignInResult };
  /** Begin a sign-in with an identity provider on the page of this API */
  "GET /v1/auth/social/{company_slug}/start": { params: { "company_slug": string }; query: { "issuer": string | number }; answer: { "url": string; "state": string; "nonce": string } };
  /** Get the providers whose ID tokens are accepted */
  "GET /v1/auth/social/config": { answer: SocialConfigurationOutput };
  /** Replace the providers whose ID tokens are accepted */
  "PUT /v1/auth/social/config": { body: SocialConfiguration; answer: SocialConfigurationOutput };
  /** Delete a user's pinned identity */
  "DELETE /v1/users/{id}/identities": { params: { "id": string }; answer: undefined };
  /** Invite a user */
  "POST /v1/users/invite": { query?: { "dry_run"?: "true" | "false" }; body: { "email": string; "team_ids"?: Array<string>; "group_ids"?: Array<string> }; answer: InvitedUser | WrittenRecord; dryRun: ChangeOfAccess };
  /** Get an invitation */
  "GET /v1/users/invitation": { query: { "token": string | number }; answer: Invitation };
  /** Accept an invitation */
  "POST /v1/users/accept-invitation": { body: { "token": string; "password": string; "name"?: string }; answer: { "success": true; "user": { "_id": string; "email": string; "status": "invited" | "active" | "inactive" } } };
  /** Request a password reset by email */
  "POST /v1/users/reset-password/request": { body: { "email": string; "company_slug"?: string }; answer: { "success": true; "message": string } };
  /** Reset a password with the token of an emailed link */
  "POST /v1/users/reset-password/confirm": { body: { "token": string; "password": string }; answer: { "success": true } };
  /** Show the page to accept an invitation */
  "GET /accept-invitation": { query?: { "token"?: string | number }; answer: string };
  /** Show the page to set a new password */
  "GET /reset-password": { query?: { "token"?: string | number }; answer: string };
  /** List visualizations */
  "GET /v1/visualizations": { query?: { "page"?: number; "per_page"?: number; "search"?: string | number }; answer: { "total": number; "quantity": number; "records": Array<Visualization> } };
  /** Create a visualization */
  "POST /v1/visualizations": { body: { "name": string; "slug"?: string; "description"?: string; "sql": string; "chart"?: Chart; "parameters"?: Array<Parameter> }; answer: Visualization | WrittenRecord };
  /** Preview a visualization */
  "POST /v1/visualizations/preview": { body: { "sql": string; "parameters"?: Array<Parameter>; "values"?: Record<string, unknown> }; answer: { "result": PreviewResult } };
  /** Get a visualization */
  "GET /v1/visualizations/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: Visualization };
  /** Update a visualization */
  "PUT /v1/visualizations/{id}": { params: { "id": string }; ifMatch?: string; body?: { "name"?: string; "slug"?: string; "description"?: string; "sql"?: string; "chart"?: Chart; "parameters"?: Array<Parameter> }; answer: Visualization | WrittenRecord };
  /** Delete a visualization */
  "DELETE /v1/visualizations/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** Execute a visualization */
  "POST /v1/visualizations/{id}/execute": { params: { "id": string }; query?: { "format"?: "csv" | "ndjson" | "xlsx"; "safe"?: "true" | "false" }; body?: { "parameters"?: Record<string, unknown> }; answer: { "result": ExecuteResult }; files: { "csv": string; "ndjson": string; "xlsx": Blob } };
  /** List dashboards */
  "GET /v1/dashboards": { query?: { "page"?: number; "per_page"?: number; "search"?: string | number }; answer: { "total": number; "quantity": number; "records": Array<Dashboard> } };
  /** Create a dashboard */
  "POST /v1/dashboards": { body: { "name": string; "slug"?: string; "description"?: string; "cache_seconds"?: number; "layout"?: Array<Widget>; "filters"?: Array<Filter> }; answer: Dashboard | WrittenRecord };
  /** Get a dashboard */
  "GET /v1/dashboards/{id}": { params: { "id": string }; query?: { "include"?: "charts" }; ifNoneMatch?: string; answer: DashboardWithCharts };
  /** Update a dashboard */
  "PUT /v1/dashboards/{id}": { params: { "id": string }; ifMatch?: string; body?: { "name"?: string; "slug"?: string; "description"?: string; "cache_seconds"?: number; "layout"?: Array<Widget>; "filters"?: Array<Filter> }; answer: Dashboard | WrittenRecord };
  /** Delete a dashboard */
  "DELETE /v1/dashboards/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** List the options of a filter of a dashboard */
  "GET /v1/dashboards/{id}/filters/{slug}/options": { params: { "id": string; "slug": string }; query?: { "search"?: string | number }; answer: FilterOptions };
  /** Execute a dashboard */
  "POST /v1/dashboards/{id}/execute": { params: { "id": string }; query?: { "format"?: "csv" | "ndjson" | "xlsx"; "safe"?: "true" | "false"; "visualization_id"?: string | number }; body?: { "parameters"?: Record<string, unknown> }; answer: { "results": Array<ExecuteResult> }; files: { "csv": string; "ndjson": string; "xlsx": Blob } };
  /** List endpoints of the Data API */
  "GET /v1/viz-api-endpoints": { query?: { "page"?: number; "per_page"?: number; "search"?: string | number }; answer: { "total": number; "quantity": number; "records": Array<VizApiEndpoint> } };
  /** Create an endpoint of the Data API */
  "POST /v1/viz-api-endpoints": { body: { "name": string; "slug": string; "description"?: string; "visualization_id": string; "cache_seconds"?: number; "status"?: "active" | "inactive" }; answer: VizApiEndpoint | WrittenRecord };
  /** Get an endpoint of the Data API */
  "GET /v1/viz-api-endpoints/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: VizApiEndpoint };
  /** Update an endpoint of the Data API */
  "PUT /v1/viz-api-endpoints/{id}": { params: { "id": string }; ifMatch?: string; body?: { "name"?: string; "slug"?: string; "description"?: string; "visualization_id"?: string; "cache_seconds"?: number; "status"?: "active" | "inactive" }; answer: VizApiEndpoint | WrittenRecord };
  /** Delete an endpoint of the Data API */
  "DELETE /v1/viz-api-endpoints/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** List schedules */
  "GET /v1/schedules": { query?: { "page"?: number; "per_page"?: number; "search"?: string | number }; answer: { "total": number; "quantity": number; "records": Array<Schedule> } };
  /** Create a schedule */
  "POST /v1/schedules": { body: { "name": string; "target_type": "dashboard" | "visualization"; "target_id": string; "parameters"?: Record<string, unknown>; "cron": string; "time_zone"?: string; "recipients": Array<{ "user_id"?: string; "email"?: string }>; "format"?: "summary" | "csv" | "xlsx"; "condition"?: ScheduleCondition | null; "status"?: "active" | "paused" }; answer: Schedule };
  /** Get a schedule */
  "GET /v1/schedules/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: Schedule };
  /** Update a schedule */
  "PUT /v1/schedules/{id}": { params: { "id": string }; ifMatch?: string; body?: { "name"?: string; "target_type"?: "dashboard" | "visualization"; "target_id"?: string; "parameters"?: Record<string, unknown>; "cron"?: string; "time_zone"?: string; "recipients"?: Array<{ "user_id"?: string; "email"?: string }>; "format"?: "summary" | "csv" | "xlsx"; "condition"?: ScheduleCondition | null; "status"?: "active" | "paused" }; answer: Schedule | WrittenRecord };
  /** Delete a schedule */
  "DELETE /v1/schedules/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** Run a schedule */
  "POST /v1/schedules/{id}/run": { params: { "id": string }; answer: { "run_id": string } };
  /** List users */
  "GET /v1/users": { query?: { "page"?: number; "per_page"?: number; "search"?: string | number; "sort_by"?: "name" | "created_at" | "email" | "last_login_at" | "-name" | "-created_at" | "-email" | "-last_login_at"; "include"?: "groups"; "status"?: "invited" | "active" | "inactive"; "group_id"?: string | number }; answer: { "total": number; "quantity": number; "records": Array<User> } };
  /** Get a user */
  "GET /v1/users/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: User };
  /** Update a user */
  "PUT /v1/users/{id}": { params: { "id": string }; ifMatch?: string; body?: { "name"?: string; "team_ids"?: Array<string> }; answer: User | WrittenRecord };
  /** Delete a user */
  "DELETE /v1/users/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** Activate a user */
  "POST /v1/users/{id}/activate": { params: { "id": string }; answer: UserStatus | WrittenRecord };
  /** Deactivate a user */
  "POST /v1/users/{id}/deactivate": { params: { "id": string }; answer: UserStatus | WrittenRecord };
  /** Add a user to groups */
  "POST /v1/users/{id}/groups": { params: { "id": string }; query?: { "dry_run"?: "true" | "false" }; body: { "group_ids": Array<string> }; answer: User | WrittenRecord; dryRun: ChangeOfAccess };
  /** Replace a user's groups */
  "PUT /v1/users/{id}/groups": { params: { "id": string }; query?: { "dry_run"?: "true" | "false" }; body: { "group_ids": Array<string> }; answer: User | WrittenRecord; dryRun: ChangeOfAccess };
  /** Remove a user from groups */
  "DELETE /v1/users/{id}/groups": { params: { "id": string }; query?: { "dry_run"?: "true" | "false" }; body: { "group_ids": Array<string> }; answer: User | WrittenRecord; dryRun: ChangeOfAccess };
  /** List groups */
  "GET /v1/groups": { query?: { "page"?: number; "per_page"?: number; "search"?: string | number; "sort_by"?: "name" | "created_at" | "-name" | "-created_at"; "include_global"?: "true" | "false" }; answer: { "total": number; "quantity": number; "records": Array<Group> } };
  /** Create a group */
  "POST /v1/groups": { query?: { "dry_run"?: "true" | "false" }; body: { "name": string; "slug": string; "description": string; "roles"?: Array<{ "name": string; "target": string; "actions": Array<"read" | "create" | "update" | "delete" | "*"> }>; "permissionIds"?: Array<string> }; answer: Group | WrittenRecord; dryRun: ChangeOfAccess };
  /** Get a group */
  "GET /v1/groups/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: Group };
  /** Update a group */
  "PUT /v1/groups/{id}": { params: { "id": string }; ifMatch?: string; body?: { "name"?: string; "slug"?: string; "description"?: string }; answer: Group | WrittenRecord };
  /** Delete a group */
  "DELETE /v1/groups/{id}": { params: { "id": string }; query?: { "dry_run"?: "true" | "false" }; ifMatch?: string; answer: undefined; dryRun: ChangeOfAccess };
  /** List the members of a group */
  "GET /v1/groups/{id}/members": { params: { "id": string }; query?: { "page"?: number; "per_page"?: number; "search"?: string | number }; answer: { "total": number; "quantity": number; "records": Array<GroupMember> } };
  /** Add permissions to a group */
  "POST /v1/groups/{id}/permissions": { params: { "id": string }; query?: { "dry_run"?: "true" | "false" }; body: { "permissionIds": Array<string> }; answer: Group | WrittenRecord; dryRun: ChangeOfAccess };
  /** Replace a group's permissions */
  "PUT /v1/groups/{id}/permissions": { params: { "id": string }; query?: { "dry_run"?: "true" | "false" }; body: { "permissionIds": Array<string> }; answer: Group | WrittenRecord; dryRun: ChangeOfAccess };
  /** Remove permissions from a group */
  "DELETE /v1/groups/{id}/permissions": { params: { "id": string }; query?: { "dry_run"?: "true" | "false" }; body: { "permissionIds": Array<string> }; answer: Group | WrittenRecord; dryRun: ChangeOfAccess };
  /** Attach a policy to a group */
  "POST /v1/groups/{id}/policies/{policy_id}": { params: { "id": string; "policy_id": string }; query?: { "dry_run"?: "true" | "false" }; answer: undefined; dryRun: ChangeOfAccess };
  /** Detach a policy from a group */
  "DELETE /v1/groups/{id}/policies/{policy_id}": { params: { "id": string; "policy_id": string }; query?: { "dry_run"?: "true" | "false" }; answer: undefined; dryRun: ChangeOfAccess };
  /** List permissions */
  "GET /v1/permissions": { query?: { "page"?: number; "per_page"?: number; "search"?: string | number; "sort_by"?: "name" | "created_at" | "-name" | "-created_at" }; answer: { "total": number; "quantity": number; "records": Array<Permission> } };
  /** Create a permission */
  "POST /v1/permissions": { query?: { "dry_run"?: "true" | "false" }; body: { "name": string; "description": string; "target": PermissionTarget; "actions": Array<"read" | "create" | "update" | "delete" | "*"> }; answer: Permission | WrittenRecord; dryRun: ChangeOfAccess };
  /** Get a permission */
  "GET /v1/permissions/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: Permission };
  /** Update a permission */
  "PUT /v1/permissions/{id}": { params: { "id": string }; query?: { "dry_run"?: "true" | "false" }; ifMatch?: string; body?: { "name"?: string; "description"?: string; "target"?: PermissionTarget; "actions"?: Array<"read" | "create" | "update" | "delete" | "*"> }; answer: Permission | WrittenRecord; dryRun: ChangeOfAccess };
  /** Delete a permission */
  "DELETE /v1/permissions/{id}": { params: { "id": string }; query?: { "dry_run"?: "true" | "false" }; ifMatch?: string; answer: undefined; dryRun: ChangeOfAccess };
  /** List policies */
  "GET /v1/policies": { query?: { "page"?: number; "per_page"?: number; "search"?: string | number; "sort_by"?: "name" | "created_at" | "type" | "-name" | "-created_at" | "-type" }; answer: { "total": number; "quantity": number; "records": Array<Policy> } };
  /** Create a policy */
  "POST /v1/policies": { query?: { "dry_run"?: "true" | "false" }; body: { "name": string; "description"?: string; "document": PolicyDocument }; answer: Policy | WrittenRecord; dryRun: ChangeOfAccess };
  /** List actions */
  "GET /v1/policies/actions": { answer: { "services": Record<string, Array<string>>; "all": Array<string> } };
  /** Get a policy */
  "GET /v1/policies/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: Policy };
  /** Update a policy */
  "PUT /v1/policies/{id}": { params: { "id": string }; query?: { "dry_run"?: "true" | "false" }; ifMatch?: string; body?: { "name"?: string; "description"?: string; "document"?: PolicyDocument }; answer: Policy | WrittenRecord; dryRun: ChangeOfAccess };
  /** Delete a policy */
  "DELETE /v1/policies/{id}": { params: { "id": string }; query?: { "dry_run"?: "true" | "false" }; ifMatch?: string; answer: undefined; dryRun: ChangeOfAccess };
  /** Clone a policy */
  "POST /v1/policies/{id}/clone": { params: { "id": string }; query?: { "dry_run"?: "true" | "false" }; body: { "name": string; "description"?: string }; answer: Policy | WrittenRecord; dryRun: ChangeOfAccess };
  /** Simulate a principal's access */
  "POST /v1/policies/simulate": { body: { "principal": { "type": "user" | "service_account"; "id": string }; "checks": Array<{ "action": "accounts:ListAccounts" | "accounts:GetAccount" | "accounts:CreateAccount" | "accounts:UpdateAccount" | "accounts:DeleteAccount" | "service-accounts:ListServiceAccounts" | "service-accounts:GetServiceAccount" | "service-accounts:ListKeys" | "service-accounts:CreateServiceAccount" | "service-accounts:UpdateServiceAccount" | "service-accounts:IssueKey" | "service-accounts:RevokeKey" | "service-accounts:DeleteServiceAccount" | "users:list" | "users:get" | "users:list_integration_users" | "users:ListUsers" | "users:GetUser" | "users:create_integration_user" | "users:CreateUser" | "users:invite" | "users:update" | "users:activate" | "users:deactivate" | "users:assign_groups" | "users:remove_groups" | "users:UpdateUser" | "users:delete" | "users:delete_integration_user" | "users:DeleteUser" | "groups:list" | "groups:get" | "groups:ListGroups" | "groups:GetGroup" | "groups:create" | "groups:CreateGroup" | "groups:update" | "groups:attach_policy" | "groups:detach_policy" | "groups:UpdateGroup" | "groups:AddMember" | "groups:RemoveMember" | "groups:AttachPolicy" | "groups:DetachPolicy" | "groups:delete" | "groups:DeleteGroup" | "permissions:list" | "permissions:get" | "permissions:create" | "permissions:update" | "permissions:delete" | "policies:list" | "policies:get" | "policies:create" | "policies:update" | "policies:delete" | "company:get" | "company:update" | "company:update_sso" | "api_keys:list" | "api_keys:get" | "api_keys:create" | "api_keys:delete" | "connections:list" | "connections:get" | "connections:create" | "connections:update" | "connections:delete" | "vpn_profiles:list" | "vpn_profiles:get" | "vpn_profiles:create" | "vpn_profiles:update" | "vpn_profiles:delete" | "metadata:read" | "managed-tables:list" | "managed-tables:data-read" | "managed-tables:create" | "managed-tables:update" | "managed-tables:data-write" | "managed-tables:delete" | "managed-tables:upload" | "visualizations:list" | "visualizations:get" | "visualizations:create" | "visualizations:update" | "visualizations:delete" | "visualizations:execute" | "visualizations:schedule" | "visualizations:share" | "dashboards:list" | "dashboards:get" | "dashboards:create" | "dashboards:update" | "dashboards:delete" | "dashboards:schedule" | "dashboards:share" | "analysis-folders:list" | "analysis-folders:get" | "analysis-folders:create" | "analysis-folders:update" | "analysis-folders:delete" | "share_tags:list" | "share_tags:get" | "share_tags:create" | "share_tags:update" | "share_tags:delete" | "viz_api_endpoints:list" | "viz_api_endpoints:get" | "viz_api_endpoints:create" | "viz_api_endpoints:update" | "viz_api_endpoints:delete" | "data_api:get_job" | "data_api:execute" | "concepts:list" | "concepts:get" | "concepts:create" | "concepts:update" | "concepts:delete" | "semantic:list" | "semantic:create" | "semantic:update" | "semantic:delete" | "ontology:list" | "ontology:create" | "ontology:update" | "ontology:delete" | "webhooks:list" | "webhooks:get" | "webhooks:create" | "webhooks:update" | "webhooks:delete" | "mcp:connect" | "knowledge_reviews:list" | "knowledge_reviews:generate" | "knowledge_reviews:review"; "resource": string }> }; answer: { "results": Array<{ "action": string; "resource": string; "allowed": boolean; "decided_by": { "kind": "owner" | "deny" | "allow" | "legacy" | "none"; "policy_id": string | null; "sid": string | null; "group_id": string | null } }> } };
  /** Get the caller's permissions */
  "GET /v1/auth/permissions": { answer: OwnPermissions };
  /** Query who can do something */
  "POST /v1/policies/who-can": { query?: { "page"?: number; "per_page"?: number }; body: { "action": "accounts:ListAccounts" | "accounts:GetAccount" | "accounts:CreateAccount" | "accounts:UpdateAccount" | "accounts:DeleteAccount" | "service-accounts:ListServiceAccounts" | "service-accounts:GetServiceAccount" | "service-accounts:ListKeys" | "service-accounts:CreateServiceAccount" | "service-accounts:UpdateServiceAccount" | "service-accounts:IssueKey" | "service-accounts:RevokeKey" | "service-accounts:DeleteServiceAccount" | "users:list" | "users:get" | "users:list_integration_users" | "users:ListUsers" | "users:GetUser" | "users:create_integration_user" | "users:CreateUser" | "users:invite" | "users:update" | "users:activate" | "users:deactivate" | "users:assign_groups" | "users:remove_groups" | "users:UpdateUser" | "users:delete" | "users:delete_integration_user" | "users:DeleteUser" | "groups:list" | "groups:get" | "groups:ListGroups" | "groups:GetGroup" | "groups:create" | "groups:CreateGroup" | "groups:update" | "groups:attach_policy" | "groups:detach_policy" | "groups:UpdateGroup" | "groups:AddMember" | "groups:RemoveMember" | "groups:AttachPolicy" | "groups:DetachPolicy" | "groups:delete" | "groups:DeleteGroup" | "permissions:list" | "permissions:get" | "permissions:create" | "permissions:update" | "permissions:delete" | "policies:list" | "policies:get" | "policies:create" | "policies:update" | "policies:delete" | "company:get" | "company:update" | "company:update_sso" | "api_keys:list" | "api_keys:get" | "api_keys:create" | "api_keys:delete" | "connections:list" | "connections:get" | "connections:create" | "connections:update" | "connections:delete" | "vpn_profiles:list" | "vpn_profiles:get" | "vpn_profiles:create" | "vpn_profiles:update" | "vpn_profiles:delete" | "metadata:read" | "managed-tables:list" | "managed-tables:data-read" | "managed-tables:create" | "managed-tables:update" | "managed-tables:data-write" | "managed-tables:delete" | "managed-tables:upload" | "visualizations:list" | "visualizations:get" | "visualizations:create" | "visualizations:update" | "visualizations:delete" | "visualizations:execute" | "visualizations:schedule" | "visualizations:share" | "dashboards:list" | "dashboards:get" | "dashboards:create" | "dashboards:update" | "dashboards:delete" | "dashboards:schedule" | "dashboards:share" | "analysis-folders:list" | "analysis-folders:get" | "analysis-folders:create" | "analysis-folders:update" | "analysis-folders:delete" | "share_tags:list" | "share_tags:get" | "share_tags:create" | "share_tags:update" | "share_tags:delete" | "viz_api_endpoints:list" | "viz_api_endpoints:get" | "viz_api_endpoints:create" | "viz_api_endpoints:update" | "viz_api_endpoints:delete" | "data_api:get_job" | "data_api:execute" | "concepts:list" | "concepts:get" | "concepts:create" | "concepts:update" | "concepts:delete" | "semantic:list" | "semantic:create" | "semantic:update" | "semantic:delete" | "ontology:list" | "ontology:create" | "ontology:update" | "ontology:delete" | "webhooks:list" | "webhooks:get" | "webhooks:create" | "webhooks:update" | "webhooks:delete" | "mcp:connect" | "knowledge_reviews:list" | "knowledge_reviews:generate" | "knowledge_reviews:review"; "resource": string }; answer: { "total": number; "quantity": number; "records": Array<{ "principal": ActivePrincipal; "decided_by": { "kind": "owner" | "deny" | "allow" | "legacy" | "none"; "policy_id": string | null; "sid": string | null; "group_id": string | null } }> } };
  /** Compare policy documents */
  "POST /v1/policies/compare": { body: { "before": { "documents": Array<PolicyDocument> }; "after": { "documents": Array<PolicyDocument> } }; answer: { "equal": boolean; "gains": Array<{ "action": string; "resource": string }>; "losses": Array<{ "action": string; "resource": string }> } };
  /** List service accounts */
  "GET /v1/service-accounts": { query?: { "page"?: number; "per_page"?: number; "search"?: string | number; "sort_by"?: "name" | "created_at" | "-name" | "-created_at"; "account_id"?: string | number; "include_inactive"?: "true" | "false" }; answer: { "total": number; "quantity": number; "records": Array<CompanyServiceAccount> } };
  /** Create a service account */
  "POST /v1/service-accounts": { body: { "name": string; "description"?: string; "metadata"?: Record<string, unknown>; "account_id"?: string }; answer: CompanyServiceAccount | WrittenRecord };
  /** Get a service account */
  "GET /v1/service-accounts/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: CompanyServiceAccount };
  /** Update a service account */
  "PUT /v1/service-accounts/{id}": { params: { "id": string }; ifMatch?: string; body?: { "name"?: string; "description"?: string; "is_active"?: boolean; "metadata"?: Record<string, unknown> }; answer: CompanyServiceAccount | WrittenRecord };
  /** Delete a service account */
  "DELETE /v1/service-accounts/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** Create an API key */
  "POST /v1/service-accounts/{id}/keys": { params: { "id": string }; body?: { "description"?: string; "expires_at"?: string }; answer: IssuedCompanyApiKey };
  /** List the API keys of a service account */
  "GET /v1/service-accounts/{id}/keys": { params: { "id": string }; query?: { "page"?: number; "per_page"?: number }; answer: { "total": number; "quantity": number; "records": Array<CompanyApiKey> } };
  /** Revoke an API key */
  "DELETE /v1/service-accounts/{id}/keys/{key_id}": { params: { "id": string; "key_id": string }; answer: undefined };
  /** List audit events */
  "GET /v1/audit-events": { query?: { "page"?: number; "per_page"?: number; "correlation_id"?: string | number; "principal_id"?: string | number; "action"?: string | number; "from"?: string | number; "to"?: string | number }; answer: { "total": number; "quantity": number; "records": Array<CompanyAuditEvent> } };
  /** Get what is kept about a person */
  "GET /v1/personal-data": { query?: { "email"?: string | number }; answer: PersonalData };
  /** Erase a person */
  "DELETE /v1/personal-data": { query: { "email": string | number }; answer: { "erased": Record<string, number> } };
  /** List the types of webhook events */
  "GET /v1/webhook-event-types": { answer: { "records": Array<{ "type": WebhookEventType; "description": string; "schema": Record<string, unknown> }> } };
  /** List webhook endpoints */
  "GET /v1/webhook-endpoints": { query?: { "page"?: number; "per_page"?: number }; answer: { "total": number; "quantity": number; "records": Array<WebhookEndpoint> } };
  /** Create a webhook endpoint */
  "POST /v1/webhook-endpoints": { body: { "url": string; "description"?: string; "event_types"?: Array<"*" | "api_key.issued" | "api_key.revoked" | "audit.records" | "auth.code_requested" | "auth.failed" | "auth.verified" | "company.updated" | "context.created" | "context.deleted" | "context.grants_updated" | "context.updated" | "data_job.done" | "data_job.failed" | "embed.denied" | "embed.downloaded" | "embed.executed" | "embed.generated" | "embed.key_rotated" | "embed.revoked" | "embed.signing_key_created" | "embed.signing_key_deleted" | "group.created" | "group.deleted" | "group.member_added" | "group.member_removed" | "group.updated" | "invitation.accepted" | "knowledge_job.cancelled" | "knowledge_job.done" | "knowledge_job.failed" | "member.added" | "member.removed" | "policy.attached" | "policy.created" | "policy.deleted" | "policy.detached" | "policy.updated" | "schedule.failed" | "schedule.paused" | "schedule.sent" | "service_account.created" | "service_account.deleted" | "service_account.updated" | "share.created" | "share.denied" | "share.downloaded" | "share.executed" | "share.resolved" | "share.revoked" | "share.updated" | "suggestion.accepted" | "suggestion.created" | "suggestion.rejected" | "suggestion.superseded" | "table.created" | "table.deleted" | "table.restored" | "table.truncated" | "table.updated" | "upload.done" | "upload.failed" | "upload.undone" | "upload.waiting_confirm" | "user.activated" | "user.created" | "user.deactivated" | "user.deleted" | "user.invited" | "user.updated">; "status"?: "active" | "paused" }; answer: CreatedWebhookEndpoint };
  /** Get a webhook endpoint */
  "GET /v1/webhook-endpoints/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: WebhookEndpoint };
  /** Update a webhook endpoint */
  "PUT /v1/webhook-endpoints/{id}": { params: { "id": string }; ifMatch?: string; body?: { "url"?: string; "description"?: string; "event_types"?: Array<"*" | "api_key.issued" | "api_key.revoked" | "audit.records" | "auth.code_requested" | "auth.failed" | "auth.verified" | "company.updated" | "context.created" | "context.deleted" | "context.grants_updated" | "context.updated" | "data_job.done" | "data_job.failed" | "embed.denied" | "embed.downloaded" | "embed.executed" | "embed.generated" | "embed.key_rotated" | "embed.revoked" | "embed.signing_key_created" | "embed.signing_key_deleted" | "group.created" | "group.deleted" | "group.member_added" | "group.member_removed" | "group.updated" | "invitation.accepted" | "knowledge_job.cancelled" | "knowledge_job.done" | "knowledge_job.failed" | "member.added" | "member.removed" | "policy.attached" | "policy.created" | "policy.deleted" | "policy.detached" | "policy.updated" | "schedule.failed" | "schedule.paused" | "schedule.sent" | "service_account.created" | "service_account.deleted" | "service_account.updated" | "share.created" | "share.denied" | "share.downloaded" | "share.executed" | "share.resolved" | "share.revoked" | "share.updated" | "suggestion.accepted" | "suggestion.created" | "suggestion.rejected" | "suggestion.superseded" | "table.created" | "table.deleted" | "table.restored" | "table.truncated" | "table.updated" | "upload.done" | "upload.failed" | "upload.undone" | "upload.waiting_confirm" | "user.activated" | "user.created" | "user.deactivated" | "user.deleted" | "user.invited" | "user.updated">; "status"?: "active" | "paused" | "disabled" }; answer: WebhookEndpoint | WrittenRecord };
  /** Delete a webhook endpoint */
  "DELETE /v1/webhook-endpoints/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** Rotate the secret of a webhook endpoint */
  "POST /v1/webhook-endpoints/{id}/rotate-secret": { params: { "id": string }; answer: RotatedWebhookSecret };
  /** List the deliveries of a webhook endpoint */
  "GET /v1/webhook-endpoints/{id}/deliveries": { params: { "id": string }; query?: { "page"?: number; "per_page"?: number; "status"?: "pending" | "delivered" | "failed"; "event_type"?: WebhookEventType }; answer: { "total": number; "quantity": number; "records": Array<WebhookDelivery> } };
  /** Get a delivery of a webhook endpoint */
  "GET /v1/webhook-endpoints/{id}/deliveries/{delivery_id}": { params: { "id": string; "delivery_id": string }; answer: WholeWebhookDelivery };
  /** Send a delivery of a webhook endpoint again */
  "POST /v1/webhook-endpoints/{id}/deliveries/{delivery_id}/resend": { params: { "id": string; "delivery_id": string }; answer: { "delivery_id": string } };
  /** Send the failed deliveries of a webhook endpoint again */
  "POST /v1/webhook-endpoints/{id}/resend-failed": { params: { "id": string }; body: { "since": string }; answer: { "count": number } };
  /** Send a test event to a webhook endpoint */
  "POST /v1/webhook-endpoints/{id}/test": { params: { "id": string }; body: { "event_type": WebhookEventType }; answer: { "delivery_id": string } };
  /** Send the past audit trail to a webhook endpoint */
  "POST /v1/webhook-endpoints/{id}/backfill": { params: { "id": string }; body: { "from": string; "to": string }; answer: { "status": "queued" } };
  /** List the programs that were let in */
  "GET /v1/oauth-grants": { query?: { "user_id"?: string | number }; answer: { "total": number; "quantity": number; "records": Array<OAuthGrant> } };
  /** Create a grant for a program, or refuse it */
  "POST /v1/oauth-grants": { body: { "request": string; "allow": boolean }; answer: { "redirect_to": string | null } };
  /** Delete a grant */
  "DELETE /v1/oauth-grants/{id}": { params: { "id": string }; query?: { "user_id"?: string | number }; answer: undefined };
  /** Find what a device asks for */
  "POST /v1/oauth-devices": { body: { "user_code": string }; answer: AskedToLetIn };
  /** List registered clients */
  "GET /v1/oauth-clients": { answer: { "total": number; "quantity": number; "records": Array<OAuthClient> } };
  /** Create a client */
  "POST /v1/oauth-clients": { body: { "name": string; "redirect_uris": Array<string> }; answer: OAuthClient | WrittenRecord };
  /** Get a registered client */
  "GET /v1/oauth-clients/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: OAuthClient };
  /** Delete a client */
  "DELETE /v1/oauth-clients/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** Provision the managed database */
  "POST /v1/managed-tables/provision": { answer: { "provisioned": boolean; "connection_id": string | null; "waking"?: true } };
  /** Get the status of the managed database */
  "GET /v1/managed-tables/status": { answer: { "provisioned": boolean; "connection_id": string | null; "waking"?: true } };
  /** List managed tables */
  "GET /v1/managed-tables": { query?: { "page"?: number; "per_page"?: number; "search"?: string | number }; answer: { "total": number; "quantity": number; "records": Array<ManagedTable> } };
  /** Create a managed table */
  "POST /v1/managed-tables": { body: { "display_name": string; "columns": Array<ManagedTableColumn> }; answer: ManagedTable | WrittenRecord };
  /** List deleted managed tables */
  "GET /v1/managed-tables/deleted": { query?: { "page"?: number; "per_page"?: number }; answer: { "total": number; "quantity": number; "records": Array<DeletedManagedTable> } };
  /** Restore a deleted managed table */
  "POST /v1/managed-tables/{id}/restore": { params: { "id": string }; answer: ManagedTable | WrittenRecord };
  /** Get a managed table */
  "GET /v1/managed-tables/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: ManagedTable };
  /** Update a managed table */
  "PUT /v1/managed-tables/{id}": { params: { "id": string }; ifMatch?: string; body?: { "display_name"?: string; "columns"?: Array<ManagedTableColumnChange>; "status"?: "active" }; answer: ManagedTable | WrittenRecord };
  /** Delete a managed table */
  "DELETE /v1/managed-tables/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** Truncate a managed table */
  "POST /v1/managed-tables/{id}/truncate": { params: { "id": string }; answer: { "row_count": 0 } };
  /** List the indexes of a managed table */
  "GET /v1/managed-tables/{id}/indexes": { params: { "id": string }; answer: { "total": number; "quantity": number; "records": Array<ManagedTableIndex> } };
  /** Create an index on a managed table */
  "POST /v1/managed-tables/{id}/indexes": { params: { "id": string }; body: { "columns": Array<string>; "unique"?: boolean }; answer: ManagedTableIndex };
  /** Delete an index of a managed table */
  "DELETE /v1/managed-tables/{id}/indexes/{index_id}": { params: { "id": string; "index_id": string }; answer: undefined };
  /** List the rows of a managed table */
  "GET /v1/managed-tables/{id}/data": { params: { "id": string }; query?: { "page"?: number; "per_page"?: number; "filter"?: Record<string, { "eq"?: string | number | boolean | Array<string | number | boolean>; "ne"?: string | number | boolean | Array<string | number | boolean>; "gt"?: string | number | boolean | Array<string | number | boolean>; "gte"?: string | number | boolean | Array<string | number | boolean>; "lt"?: string | number | boolean | Array<string | number | boolean>; "lte"?: string | number | boolean | Array<string | number | boolean>; "in"?: string | number | boolean; "nin"?: string | number | boolean; "contains"?: string | number | boolean | Array<string | number | boolean>; "starts_with"?: string | number | boolean | Array<string | number | boolean>; "is_null"?: boolean }> | string; "search"?: string | number; "fields"?: string | number; "sort_by"?: string | number; "cursor"?: string | number; "count"?: "exact" }; answer: { "total"?: number; "quantity": number; "records": Array<ManagedTableRow>; "next_cursor"?: string | null } };
  /** Insert rows into a managed table */
  "POST /v1/managed-tables/{id}/data": { params: { "id": string }; body: { "rows": Array<Record<string, unknown>> }; answer: { "inserted": number } };
  /** Get a row of a managed table */
  "GET /v1/managed-tables/{id}/data/{rowId}": { params: { "id": string; "rowId": string }; ifNoneMatch?: string; answer: ManagedTableRow };
  /** Update a row of a managed table */
  "PUT /v1/managed-tables/{id}/data/{rowId}": { params: { "id": string; "rowId": string }; ifMatch?: string; body?: Record<string, unknown>; answer: ManagedTableRow };
  /** Delete a row of a managed table */
  "DELETE /v1/managed-tables/{id}/data/{rowId}": { params: { "id": string; "rowId": string }; ifMatch?: string; answer: undefined };
  /** Export the rows of a managed table */
  "GET /v1/managed-tables/{id}/export": { params: { "id": string }; query?: { "filter"?: Record<string, { "eq"?: string | number | boolean | Array<string | number | boolean>; "ne"?: string | number | boolean | Array<string | number | boolean>; "gt"?: string | number | boolean | Array<string | number | boolean>; "gte"?: string | number | boolean | Array<string | number | boolean>; "lt"?: string | number | boolean | Array<string | number | boolean>; "lte"?: string | number | boolean | Array<string | number | boolean>; "in"?: string | number | boolean; "nin"?: string | number | boolean; "contains"?: string | number | boolean | Array<string | number | boolean>; "starts_with"?: string | number | boolean | Array<string | number | boolean>; "is_null"?: boolean }> | string; "search"?: string | number; "fields"?: string | number; "sort_by"?: string | number; "format"?: "csv" | "ndjson" | "xlsx" | "parquet"; "safe"?: "true" | "false" }; answer: string; files: { "csv": string; "ndjson": string; "xlsx": Blob; "parquet": Blob } };
  /** Upload files for a new managed table */
  "POST /v1/managed-tables/upload": { form: FormData; answer: { "job_id": string; "status": "queued" } };
  /** Upload files into a managed table */
  "POST /v1/managed-tables/{id}/upload": { params: { "id": string }; form: FormData; answer: { "job_id": string; "status": "queued" } };
  /** Upload a file from an address */
  "POST /v1/managed-tables/upload-from-url": { body: { "url": string; "filename"?: string; "table_id"?: string; "mode"?: "append" | "replace" | "upsert"; "key"?: Array<string>; "evolve"?: "none" | "add" | "widen" }; answer: { "job_id": string; "status": "queued" } };
  /** List active upload jobs */
  "GET /v1/managed-tables/upload-jobs/active": { answer: { "records": Array<UploadJob> } };
  /** Get an upload job */
  "GET /v1/managed-tables/upload-jobs/{jobId}": { params: { "jobId": string }; query?: { "wait"?: number }; ifNoneMatch?: string; answer: UploadJob };
  /** Analyze the files of an upload job again */
  "POST /v1/managed-tables/upload-jobs/{jobId}/analyze": { params: { "jobId": string }; body?: { "header"?: boolean; "delimiter"?: string; "quote"?: "\"" | "'" | null; "encoding"?: "utf-8" | "utf-16le" | "utf-16be" | "windows-1252"; "skip_lines"?: number; "sheet"?: string }; answer: { "status": "queued" } };
  /** Confirm an upload job */
  "POST /v1/managed-tables/upload-jobs/{jobId}/confirm": { params: { "jobId": string }; body: { "display_name"?: string; "columns": Array<ConfirmedColumn>; "time_zone"?: string }; answer: { "status": "inserting" } };
  /** Cancel an upload job */
  "POST /v1/managed-tables/upload-jobs/{jobId}/cancel": { params: { "jobId": string }; answer: { "status": "failed" } };
  /** Undo the load of an upload job */
  "POST /v1/managed-tables/upload-jobs/{jobId}/undo": { params: { "jobId": string }; answer: { "status": "undone"; "removed": number; "restored": number } };
  /** List the loads of a managed table */
  "GET /v1/managed-tables/{id}/loads": { params: { "id": string }; query?: { "page"?: number; "per_page"?: number }; answer: { "total": number; "quantity": number; "records": Array<ManagedTableLoad> } };
  /** Begin a resumable upload */
  "POST /v1/managed-tables/uploads": { answer: undefined };
  /** Get how far a resumable upload is */
  "GET /v1/managed-tables/uploads/{uploadId}": { params: { "uploadId": string }; answer: undefined };
  /** Send bytes of a resumable upload */
  "PATCH /v1/managed-tables/uploads/{uploadId}": { params: { "uploadId": string }; answer: undefined };
  /** Send bytes of a resumable upload by POST */
  "POST /v1/managed-tables/uploads/{uploadId}": { params: { "uploadId": string }; answer: undefined };
  /** Delete a resumable upload */
  "DELETE /v1/managed-tables/uploads/{uploadId}": { params: { "uploadId": string }; answer: undefined };
  /** Get the business domains */
  "GET /api/v1/domain-knowledge/business-domains": { answer: BusinessDomainsOutput };
  /** Replace the business domains */
  "PUT /api/v1/domain-knowledge/business-domains": { body: BusinessDomains; answer: BusinessDomainsOutput };
  /** List concepts */
  "GET /api/v1/domain-knowledge/concepts": { query?: { "page"?: number; "per_page"?: number; "search"?: string | number; "status"?: "draft" | "active" | "archived"; "type"?: "term" | "rule" | "entity_hint" | "metric_hint" | "policy_hint" }; answer: { "total": number; "page": number; "per_page": number; "records": Array<Concept> } };
  /** Create a concept */
  "POST /api/v1/domain-knowledge/concepts": { body: NewConcept; answer: Concept | WrittenRecord };
  /** Get a concept */
  "GET /api/v1/domain-knowledge/concepts/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: Concept };
  /** Update a concept */
  "PATCH /api/v1/domain-knowledge/concepts/{id}": { params: { "id": string }; ifMatch?: string; body?: ConceptChanges; answer: Concept | WrittenRecord };
  /** Archive a concept */
  "DELETE /api/v1/domain-knowledge/concepts/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** List the versions of a concept */
  "GET /api/v1/domain-knowledge/concepts/{id}/versions": { params: { "id": string }; query?: { "page"?: number; "per_page"?: number }; answer: { "total": number; "page": number; "per_page": number; "records": Array<KnowledgeVersion> } };
  /** List semantic items */
  "GET /api/v1/domain-knowledge/semantic": { query?: { "page"?: number; "per_page"?: number; "search"?: string | number; "status"?: "draft" | "active" | "archived"; "kind"?: "entity" | "metric" | "dimension" | "mapping" }; answer: { "total": number; "page": number; "per_page": number; "records": Array<SemanticItem> } };
  /** Create a semantic item */
  "POST /api/v1/domain-knowledge/semantic": { body: NewSemanticItem; answer: SemanticItem | WrittenRecord };
  /** Get a semantic item */
  "GET /api/v1/domain-knowledge/semantic/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: SemanticItem };
  /** Update a semantic item */
  "PATCH /api/v1/domain-knowledge/semantic/{id}": { params: { "id": string }; ifMatch?: string; body?: SemanticItemChanges; answer: SemanticItem | WrittenRecord };
  /** Archive a semantic item */
  "DELETE /api/v1/domain-knowledge/semantic/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** List the versions of a semantic item */
  "GET /api/v1/domain-knowledge/semantic/{id}/versions": { params: { "id": string }; query?: { "page"?: number; "per_page"?: number }; answer: { "total": number; "page": number; "per_page": number; "records": Array<KnowledgeVersion> } };
  /** Query metrics */
  "POST /api/v1/domain-knowledge/semantic/query": { body: MetricQuery; answer: MetricResult };
  /** List verified questions */
  "GET /api/v1/domain-knowledge/verified-questions": { query?: { "page"?: number; "per_page"?: number; "search"?: string | number; "status"?: "verified" | "stale" | "archived" }; answer: { "total": number; "page": number; "per_page": number; "records": Array<VerifiedQuestion> } };
  /** Create a verified question */
  "POST /api/v1/domain-knowledge/verified-questions": { body: NewVerifiedQuestion; answer: VerifiedQuestion | WrittenRecord };
  /** Get a verified question */
  "GET /api/v1/domain-knowledge/verified-questions/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: VerifiedQuestion };
  /** Update a verified question */
  "PATCH /api/v1/domain-knowledge/verified-questions/{id}": { params: { "id": string }; ifMatch?: string; body?: VerifiedQuestionChanges; answer: VerifiedQuestion | WrittenRecord };
  /** Archive a verified question */
  "DELETE /api/v1/domain-knowledge/verified-questions/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** Ask a question */
  "POST /api/v1/domain-knowledge/ask": { body: NewQuestion; answer: Answer };
  /** List asked questions */
  "GET /api/v1/domain-knowledge/questions": { query?: { "page"?: number; "per_page"?: number; "kind"?: "answer" | "clarification" | "refusal" | "failed" }; answer: { "total": number; "page": number; "per_page": number; "records": Array<AskedQuestion> } };
  /** Accept an asked question */
  "POST /api/v1/domain-knowledge/questions/{id}/accept": { params: { "id": string }; answer: VerifiedQuestion | WrittenRecord };
  /** List ontology nodes */
  "GET /api/v1/domain-knowledge/ontology/nodes": { query?: { "page"?: number; "per_page"?: number; "search"?: string | number; "status"?: "draft" | "active" | "archived"; "node_type"?: "class" | "role" | "event" | "object" | "state" }; answer: { "total": number; "page": number; "per_page": number; "records": Array<OntologyNode> } };
  /** Create an ontology node */
  "POST /api/v1/domain-knowledge/ontology/nodes": { body: NewOntologyNode; answer: OntologyNode | WrittenRecord };
  /** Get an ontology node */
  "GET /api/v1/domain-knowledge/ontology/nodes/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: OntologyNode };
  /** Update an ontology node */
  "PATCH /api/v1/domain-knowledge/ontology/nodes/{id}": { params: { "id": string }; ifMatch?: string; body?: OntologyNodeChanges; answer: OntologyNode | WrittenRecord };
  /** Archive an ontology node */
  "DELETE /api/v1/domain-knowledge/ontology/nodes/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** List the versions of an ontology node */
  "GET /api/v1/domain-knowledge/ontology/nodes/{id}/versions": { params: { "id": string }; query?: { "page"?: number; "per_page"?: number }; answer: { "total": number; "page": number; "per_page": number; "records": Array<KnowledgeVersion> } };
  /** List ontology relations */
  "GET /api/v1/domain-knowledge/ontology/relations": { query?: { "page"?: number; "per_page"?: number; "status"?: "draft" | "active" | "archived"; "predicate"?: string | number; "subject_node_id"?: string | number; "object_node_id"?: string | number }; answer: { "total": number; "page": number; "per_page": number; "records": Array<OntologyRelation> } };
  /** Create an ontology relation */
  "POST /api/v1/domain-knowledge/ontology/relations": { body: NewOntologyRelation; answer: OntologyRelation | WrittenRecord };
  /** Get an ontology relation */
  "GET /api/v1/domain-knowledge/ontology/relations/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: OntologyRelation };
  /** Update an ontology relation */
  "PATCH /api/v1/domain-knowledge/ontology/relations/{id}": { params: { "id": string }; ifMatch?: string; body?: OntologyRelationChanges; answer: OntologyRelation | WrittenRecord };
  /** Archive an ontology relation */
  "DELETE /api/v1/domain-knowledge/ontology/relations/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** List the versions of an ontology relation */
  "GET /api/v1/domain-knowledge/ontology/relations/{id}/versions": { params: { "id": string }; query?: { "page"?: number; "per_page"?: number }; answer: { "total": number; "page": number; "per_page": number; "records": Array<KnowledgeVersion> } };
  /** List suggestions */
  "GET /api/v1/domain-knowledge/suggestions": { query?: { "page"?: number; "per_page"?: number; "target_type"?: "concept" | "concept_create" | "semantic" | "semantic_create" | "ontology_node" | "ontology_node_create" | "ontology_relation" | "ontology_relation_create"; "status"?: "pending" | "accepted" | "rejected" | "superseded"; "job_id"?: string | number }; answer: { "total": number; "page": number; "per_page": number; "records": Array<KnowledgeSuggestionOutput> } };
  /** Suggest a change to a concept */
  "POST /api/v1/domain-knowledge/suggestions/concepts/{id}/generate": { params: { "id": string }; answer: KnowledgeSuggestionOutput };
  /** Suggest a semantic item for a concept */
  "POST /api/v1/domain-knowledge/suggestions/concepts/{id}/promote-semantic": { params: { "id": string }; answer: KnowledgeSuggestionOutput };
  /** Suggest an ontology node for a concept */
  "POST /api/v1/domain-knowledge/suggestions/concepts/{id}/promote-ontology": { params: { "id": string }; answer: KnowledgeSuggestionOutput };
  /** Suggest a change to a semantic item */
  "POST /api/v1/domain-knowledge/suggestions/semantic/{id}/generate": { params: { "id": string }; answer: KnowledgeSuggestionOutput };
  /** Suggest a change to an ontology node */
  "POST /api/v1/domain-knowledge/suggestions/ontology/nodes/{id}/generate": { params: { "id": string }; answer: KnowledgeSuggestionOutput };
  /** Suggest a change to an ontology relation */
  "POST /api/v1/domain-knowledge/suggestions/ontology/relations/{id}/generate": { params: { "id": string }; answer: KnowledgeSuggestionOutput };
  /** Accept several suggestions */
  "POST /api/v1/domain-knowledge/suggestions/bulk-accept": { body: SuggestionIds; answer: { "accepted": Array<AcceptedSuggestion>; "failed": Array<{ "id": string; "error": string; "message": string; "details"?: unknown }> } };
  /** Accept a suggestion */
  "POST /api/v1/domain-knowledge/suggestions/{id}/accept": { params: { "id": string }; body?: SuggestionAcceptance; answer: AcceptedSuggestion };
  /** Reject a suggestion */
  "POST /api/v1/domain-knowledge/suggestions/{id}/reject": { params: { "id": string }; body?: SuggestionRejection; answer: KnowledgeSuggestionOutput };
  /** Get the prerequisites of concept generation */
  "GET /api/v1/domain-knowledge/concepts/generation/prerequisites": { answer: ConceptGenerationPrerequisites };
  /** Generate concepts from business domains, text and a file */
  "POST /api/v1/domain-knowledge/concepts/generation/jobs": { body?: ConceptGeneration; form?: FormData; answer: KnowledgeJob | WrittenRecord };
  /** Get a concept generation job */
  "GET /api/v1/domain-knowledge/concepts/generation/jobs/{id}": { params: { "id": string }; query?: { "wait"?: number }; ifNoneMatch?: string; answer: KnowledgeJob };
  /** Get the prerequisites of ontology generation */
  "GET /api/v1/domain-knowledge/ontology/generation/prerequisites": { answer: OntologyGenerationPrerequisites };
  /** Generate an ontology */
  "POST /api/v1/domain-knowledge/ontology/generation/jobs": { body: OntologyGeneration; answer: KnowledgeJob | WrittenRecord };
  /** Get an ontology generation job */
  "GET /api/v1/domain-knowledge/ontology/generation/jobs/{id}": { params: { "id": string }; query?: { "wait"?: number }; ifNoneMatch?: string; answer: KnowledgeJob };
  /** Suggest changes to several resources */
  "POST /api/v1/domain-knowledge/jobs/enrich": { body: Enrichment; answer: KnowledgeJob | WrittenRecord };
  /** List enrichment jobs */
  "GET /api/v1/domain-knowledge/jobs": { query?: { "page"?: number; "per_page"?: number; "target_type"?: "concept" | "semantic" | "ontology_node" | "ontology_relation"; "status"?: "queued" | "running" | "succeeded" | "failed" | "cancelled" }; answer: { "total": number; "page": number; "per_page": number; "records": Array<KnowledgeJob> } };
  /** Get a knowledge job */
  "GET /api/v1/domain-knowledge/jobs/{id}": { params: { "id": string }; query?: { "wait"?: number }; ifNoneMatch?: string; answer: KnowledgeJob };
  /** Cancel a knowledge job */
  "POST /api/v1/domain-knowledge/jobs/{id}/cancel": { params: { "id": string }; answer: KnowledgeJob | WrittenRecord };
  /** Export knowledge */
  "GET /api/v1/domain-knowledge/export": { query?: { "format"?: "json" | "ossie" }; answer: KnowledgeDocumentOutput; files: { "ossie": string } };
  /** Import knowledge */
  "POST /api/v1/domain-knowledge/import": { query?: { "dry_run"?: "true" | "false" }; body: KnowledgeDocument; answer: { "suggestions": Array<{ "target_type": "concept" | "concept_create" | "semantic" | "semantic_create" | "ontology_node" | "ontology_node_create" | "ontology_relation" | "ontology_relation_create"; "name": string }>; "skipped": Array<{ "target_type": "concept" | "concept_create" | "semantic" | "semantic_create" | "ontology_node" | "ontology_node_create" | "ontology_relation" | "ontology_relation_create"; "name": string }>; "errors": Array<{ "line": number; "message": string }> }; dryRun: ChangeOfAccess };
  /** Get the authorization server metadata */
  "GET /.well-known/oauth-authorization-server": { answer: AuthorizationServer };
  /** Get the protected resource metadata */
  "GET /.well-known/oauth-protected-resource": { answer: ProtectedResource };
  /** Get the protected resource metadata of /mcp */
  "GET /.well-known/oauth-protected-resource/mcp": { answer: ProtectedResource };
  /** Show the page to let a program in */
  "GET /oauth/authorize": { answer: string };
  /** Show the page to let a device in */
  "GET /oauth/device": { answer: string };
  /** Show the page after a sign-in at an identity provider */
  "GET /oauth/signed-in": { answer: string };
  /** Get tokens */
  "POST /oauth/token": { answer: OAuthTokens };
  /** Revoke a token */
  "POST /oauth/revoke": { answer: undefined };
  /** Begin the device flow */
  "POST /oauth/device_authorization": { answer: { "device_code": string; "user_code": string; "verification_uri": string; "verification_uri_complete": string; "expires_in": number; "interval": number } };
  /** Register a client */
  "POST /oauth/register": { body?: ClientRegistration; answer: { "client_id": string; "client_id_issued_at": number; "client_name": string; "redirect_uris": Array<string>; "grant_types": Array<string>; "response_types": Array<string>; "token_endpoint_auth_method": "none" } };
  /** Send a Model Context Protocol message */
  "POST /mcp": { body: Record<string, unknown>; answer: McpMessage };
  /** List users for a directory */
  "GET /scim/v2/Users": { query?: { "attributes"?: string | number; "excludedAttributes"?: string | number; "filter"?: string | number; "startIndex"?: number; "count"?: number; "sortBy"?: string | number; "sortOrder"?: string | number }; answer: { "schemas": Array<"urn:ietf:params:scim:api:messages:2.0:ListResponse">; "totalResults": number; "startIndex": number; "itemsPerPage": number; "Resources": Array<DirectoryUser> } };
  /** Create a user for a directory */
  "POST /scim/v2/Users": { query?: { "attributes"?: string | number; "excludedAttributes"?: string | number }; body?: { "schemas"?: Array<string>; "userName"?: string; "displayName"?: string; "name"?: { "formatted"?: string; "givenName"?: string; "familyName"?: string }; "active"?: boolean | string; "externalId"?: string }; answer: DirectoryUser | OrganizationWrittenRecord };
  /** Query users for a directory */
  "POST /scim/v2/Users/.search": { body?: { "schemas"?: Array<string>; "filter"?: string; "startIndex"?: number; "count"?: number; "sortBy"?: string; "sortOrder"?: string; "attributes"?: Array<string>; "excludedAttributes"?: Array<string> }; answer: { "schemas": Array<"urn:ietf:params:scim:api:messages:2.0:ListResponse">; "totalResults": number; "startIndex": number; "itemsPerPage": number; "Resources": Array<DirectoryUser> } };
  /** Get a user for a directory */
  "GET /scim/v2/Users/{id}": { params: { "id": string }; query?: { "attributes"?: string | number; "excludedAttributes"?: string | number }; ifNoneMatch?: string; answer: DirectoryUser };
  /** Replace a user for a directory */
  "PUT /scim/v2/Users/{id}": { params: { "id": string }; query?: { "attributes"?: string | number; "excludedAttributes"?: string | number }; ifMatch?: string; body?: { "schemas"?: Array<string>; "userName"?: string; "displayName"?: string; "name"?: { "formatted"?: string; "givenName"?: string; "familyName"?: string }; "active"?: boolean | string; "externalId"?: string }; answer: DirectoryUser | OrganizationWrittenRecord };
  /** Change a user for a directory */
  "PATCH /scim/v2/Users/{id}": { params: { "id": string }; query?: { "attributes"?: string | number; "excludedAttributes"?: string | number }; ifMatch?: string; body?: { "schemas"?: Array<string>; "Operations"?: Array<{ "op": string; "path"?: string; "value"?: unknown }> }; answer: DirectoryUser | OrganizationWrittenRecord };
  /** Delete a user for a directory */
  "DELETE /scim/v2/Users/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** List groups for a directory */
  "GET /scim/v2/Groups": { query?: { "attributes"?: string | number; "excludedAttributes"?: string | number; "filter"?: string | number; "startIndex"?: number; "count"?: number; "sortBy"?: string | number; "sortOrder"?: string | number }; answer: { "schemas": Array<"urn:ietf:params:scim:api:messages:2.0:ListResponse">; "totalResults": number; "startIndex": number; "itemsPerPage": number; "Resources": Array<DirectoryGroup> } };
  /** Create a group for a directory */
  "POST /scim/v2/Groups": { query?: { "attributes"?: string | number; "excludedAttributes"?: string | number }; body?: { "schemas"?: Array<string>; "displayName"?: string; "externalId"?: string; "members"?: Array<{ "value": string }> }; answer: DirectoryGroup | OrganizationWrittenRecord };
  /** Query groups for a directory */
  "POST /scim/v2/Groups/.search": { body?: { "schemas"?: Array<string>; "filter"?: string; "startIndex"?: number; "count"?: number; "sortBy"?: string; "sortOrder"?: string; "attributes"?: Array<string>; "excludedAttributes"?: Array<string> }; answer: { "schemas": Array<"urn:ietf:params:scim:api:messages:2.0:ListResponse">; "totalResults": number; "startIndex": number; "itemsPerPage": number; "Resources": Array<DirectoryGroup> } };
  /** Get a group for a directory */
  "GET /scim/v2/Groups/{id}": { params: { "id": string }; query?: { "attributes"?: string | number; "excludedAttributes"?: string | number }; ifNoneMatch?: string; answer: DirectoryGroup };
  /** Replace a group for a directory */
  "PUT /scim/v2/Groups/{id}": { params: { "id": string }; query?: { "attributes"?: string | number; "excludedAttributes"?: string | number }; ifMatch?: string; body?: { "schemas"?: Array<string>; "displayName"?: string; "externalId"?: string; "members"?: Array<{ "value": string }> }; answer: DirectoryGroup | OrganizationWrittenRecord };
  /** Change a group for a directory */
  "PATCH /scim/v2/Groups/{id}": { params: { "id": string }; query?: { "attributes"?: string | number; "excludedAttributes"?: string | number }; ifMatch?: string; body?: { "schemas"?: Array<string>; "Operations"?: Array<{ "op": string; "path"?: string; "value"?: unknown }> }; answer: DirectoryGroup | OrganizationWrittenRecord };
  /** Delete a group for a directory */
  "DELETE /scim/v2/Groups/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** Get what SCIM can do here */
  "GET /scim/v2/ServiceProviderConfig": { query?: { "filter"?: string | number; "startIndex"?: string | number; "count"?: string | number; "sortBy"?: string | number; "sortOrder"?: string | number }; answer: DirectoryConfiguration };
  /** List the kinds of resources of SCIM */
  "GET /scim/v2/ResourceTypes": { query?: { "filter"?: string | number; "startIndex"?: string | number; "count"?: string | number; "sortBy"?: string | number; "sortOrder"?: string | number }; answer: { "schemas": Array<"urn:ietf:params:scim:api:messages:2.0:ListResponse">; "totalResults": number; "startIndex": number; "itemsPerPage": number; "Resources": Array<DirectoryResourceType> } };
  /** Get a kind of resources of SCIM */
  "GET /scim/v2/ResourceTypes/{name}": { params: { "name": string }; answer: DirectoryResourceType };
  /** List the schemas of SCIM */
  "GET /scim/v2/Schemas": { query?: { "filter"?: string | number; "startIndex"?: string | number; "count"?: string | number; "sortBy"?: string | number; "sortOrder"?: string | number }; answer: { "schemas": Array<"urn:ietf:params:scim:api:messages:2.0:ListResponse">; "totalResults": number; "startIndex": number; "itemsPerPage": number; "Resources": Array<DirectorySchema> } };
  /** Get a schema of SCIM */
  "GET /scim/v2/Schemas/{urn}": { params: { "urn": string }; answer: DirectorySchema };
  /** Query users and groups for a directory */
  "POST /scim/v2/.search": { body?: { "schemas"?: Array<string>; "filter"?: string; "startIndex"?: number; "count"?: number; "sortBy"?: string; "sortOrder"?: string; "attributes"?: Array<string>; "excludedAttributes"?: Array<string> }; answer: { "schemas": Array<"urn:ietf:params:scim:api:messages:2.0:ListResponse">; "totalResults": number; "startIndex": number; "itemsPerPage": number; "Resources": Array<DirectoryUser | DirectoryGroup> } };
  /** List share contexts */
  "GET /api/v1/share-contexts": { query?: { "page"?: number; "per_page"?: number; "search"?: string | number; "sort_by"?: "name" | "created_at" | "-name" | "-created_at" }; answer: { "total": number; "page": number; "per_page": number; "records": Array<ShareContext> } };
  /** Create a share context */
  "POST /api/v1/share-contexts": { body: { "name": string; "slug"?: string; "description"?: string; "grants"?: Array<ShareGrant> }; answer: ShareContext };
  /** Get a share context */
  "GET /api/v1/share-contexts/{id}": { params: { "id": string }; ifNoneMatch?: string; answer: ShareContext };
  /** Update a share context */
  "PUT /api/v1/share-contexts/{id}": { params: { "id": string }; ifMatch?: string; body?: { "name"?: string; "slug"?: string; "description"?: string }; answer: ShareContext };
  /** Delete a share context */
  "DELETE /api/v1/share-contexts/{id}": { params: { "id": string }; ifMatch?: string; answer: undefined };
  /** Replace the grants of a share context */
  "PUT /api/v1/share-contexts/{id}/grants": { params: { "id": string }; ifMatch?: string; body: { "grants": Array<ShareGrant> }; answer: ShareContext };
  /** List the members of a share context */
  "GET /api/v1/share-contexts/{id}/members": { params: { "id": string }; query?: { "page"?: number; "per_page"?: number; "search"?: string | number; "sort_by"?: "name" | "created_at" | "-name" | "-created_at" }; answer: { "total": number; "page": number; "per_page": number; "records": Array<ShareMember> } };
  /** Add a member to a share context */
  "POST /api/v1/share-contexts/{id}/members": { params: { "id": string }; body: { "member_type": "external_email"; "email": string; "attributes"?: Record<string, unknown> } | { "member_type": "internal_user"; "member_id": string; "attributes"?: Record<string, unknown> } | { "member_type": "group"; "member_id": string; "attributes"?: Record<string, unknown> }; answer: ShareMember };
  /** Remove a member from a share context */
  "DELETE /api/v1/share-contexts/{id}/members/{memberId}": { params: { "id": string; "memberId": string }; answer: undefined };
  /** List the shares of a dashboard */
  "GET /api/v1/dashboards/{id}/shares": { params: { "id": string }; query?: { "page"?: number; "per_page"?: number; "search"?: string | number; "sort_by"?: "name" | "created_at" | "-name" | "-created_at" }; answer: { "total": number; "page": number; "per_page": number; "records": Array<DashboardShare> } };
  /** Create a share of a dashboard */
  "POST /api/v1/dashboards/{id}/shares": { params: { "id": string }; body: { "name"?: string; "share_type": "link" | "embed"; "share_context_id"?: string | null; "expires_at"?: string | null; "embed_options"?: { "allowed_origins"?: Array<string>; "hide_header"?: boolean; "hide_controls"?: boolean; "allow_downloads"?: boolean }; "share_filter_policies"?: Array<FilterPolicy> }; answer: DashboardShare };
  /** List the shares of the company */
  "GET /api/v1/dashboard-shares": { query?: { "page"?: number; "per_page"?: number; "search"?: string | number; "sort_by"?: "name" | "created_at" | "-name" | "-created_at" }; answer: { "total": number; "page": number; "per_page": number; "records": Array<DashboardShare> } };
  /** Get a share */
  "GET /api/v1/dashboard-shares/{shareId}": { params: { "shareId": string }; ifNoneMatch?: string; answer: DashboardShare };
  /** Update a share */
  "PUT /api/v1/dashboard-shares/{shareId}": { params: { "shareId": string }; ifMatch?: string; body?: { "name"?: string; "share_type"?: "link" | "embed"; "share_context_id"?: string | null; "expires_at"?: string | null; "embed_options"?: { "allowed_origins"?: Array<string>; "hide_header"?: boolean; "hide_controls"?: boolean; "allow_downloads"?: boolean }; "share_filter_policies"?: Array<FilterPolicy> }; answer: DashboardShare };
  /** Revoke a share */
  "DELETE /api/v1/dashboard-shares/{shareId}": { params: { "shareId": string }; ifMatch?: string; answer: undefined };
  /** List the filters that a share can restrict */
  "GET /api/v1/dashboards/{id}/share-filter-candidates": { params: { "id": string }; answer: { "records": Array<{ "slug": string; "label": string; "kind": "select" | "multi_select" | "text" | "number" | "date" | "date_range"; "options_source": "static" | "dynamic" | null }> } };
  /** List the parameters that an embed token can fix or allow */
  "GET /api/v1/dashboards/{id}/embed-parameter-candidates": { params: { "id": string }; answer: { "records": Array<{ "slug": string; "label": string; "kind": "select" | "multi_select" | "text" | "number" | "date" | "date_range"; "options_source": "static" | "dynamic" | null }> } };
  /** Get a shared dashboard */
  "GET /api/v1/public/shares/{token}/resolve": { params: { "token": string }; answer: { "requires_auth": true; "company_slug": string } | { "requires_auth": false; "branding": Branding; "share_type": "link" | "embed"; "dashboard": SharedItem; "embed_options": EmbedOptions; "expires_at": string | null } };
  /** List the options of a filter of a shared dashboard */
  "GET /api/v1/public/shares/{token}/filters/{filter_slug}/options": { params: { "token": string; "filter_slug": string }; query?: { "search"?: string | number }; answer: FilterOptions };
  /** Execute a shared dashboard */
  "POST /api/v1/public/shares/{token}/execute": { params: { "token": string }; query?: { "format"?: "csv" | "xlsx"; "visualization_id"?: string | number }; body?: { "parameters"?: Record<string, unknown> }; answer: { "results": Array<ExecuteResult>; "as_of"?: string; "waking"?: true }; files: { "csv": string; "xlsx": Blob } };
  /** Request a portal sign-in code by email */
  "POST /api/v1/share-auth/request": { body: { "company_slug": string; "email": string }; answer: { "success": true; "message": string } };
  /** Sign in to the portal with an emailed code */
  "POST /api/v1/share-auth/verify": { body: { "company_slug": string; "email": string; "code": string }; answer: PortalSignIn };
  /** Refresh a portal session */
  "POST /api/v1/share-auth/refresh": { body: { "refresh_token": string }; answer: PortalTokens };
  /** Sign out of the portal */
  "POST /api/v1/share-auth/logout": { answer: { "success": true } };
  /** List the caller's portal contexts */
  "GET /api/v1/share-portal/contexts": { query?: { "page"?: number; "per_page"?: number }; answer: { "total": number; "page": number; "per_page": number; "records": Array<PortalEntry> } };
  /** List the caller's portal contexts by company slug */
  "GET /api/v1/share-portal/{company_slug}/contexts": { params: { "company_slug": string }; query?: { "page"?: number; "per_page"?: number }; answer: { "total": number; "page": number; "per_page": number; "records": Array<PortalEntry> } };
  /** List the dashboards of a portal context */
  "GET /api/v1/share-portal/dashboards": { query?: { "page"?: number; "per_page"?: number; "context_id"?: string | number }; answer: { "total": number; "page": number; "per_page": number; "records": Array<PortalEntry> } };
  /** List the caller's portal dashboards */
  "GET /api/v1/share-portal/{company_slug}/dashboards": { params: { "company_slug": string }; query?: { "page"?: number; "per_page"?: number }; answer: { "total": number; "page": number; "per_page": number; "records": Array<PortalEntry> } };
  /** Get a portal dashboard */
  "GET /api/v1/share-portal/dashboards/{id}": { params: { "id": string }; query?: { "context_id"?: string | number }; answer: PortalDashboard };
  /** Get a portal dashboard by slug */
  "GET /api/v1/share-portal/{company_slug}/dashboards/{dashboard_slug}": { params: { "company_slug": string; "dashboard_slug": string }; query?: { "context_id"?: string | number }; answer: PortalDashboard };
  /** List the options of a filter of a portal dashboard */
  "GET /api/v1/share-portal/dashboards/{id}/filters/{filter_slug}/options": { params: { "id": string; "filter_slug": string }; query?: { "search"?: string | number; "context_id"?: string | number }; answer: FilterOptions };
  /** List the options of a filter of a portal dashboard by slug */
  "GET /api/v1/share-portal/{company_slug}/dashboards/{dashboard_slug}/filters/{filter_slug}/options": { params: { "company_slug": string; "dashboard_slug": string; "filter_slug": string }; query?: { "search"?: string | number; "context_id"?: string | number }; answer: FilterOptions };
  /** Execute a portal dashboard */
  "POST /api/v1/share-portal/dashboards/{id}/execute": { params: { "id": string }; query?: { "format"?: "csv" | "xlsx"; "visualization_id"?: string | number }; body?: { "parameters"?: Record<string, unknown>; "context_id"?: string }; answer: { "results": Array<ExecuteResult>; "as_of"?: string; "waking"?: true }; files: { "csv": string; "xlsx": Blob } };
  /** Execute a portal dashboard by slug */
  "POST /api/v1/share-portal/{company_slug}/dashboards/{dashboard_slug}/execute": { params: { "company_slug": string; "dashboard_slug": string }; query?: { "format"?: "csv" | "xlsx"; "visualization_id"?: string | number }; body?: { "parameters"?: Record<string, unknown>; "context_id"?: string }; answer: { "results": Array<ExecuteResult>; "as_of"?: string; "waking"?: true }; files: { "csv": string; "xlsx": Blob } };
  /** Create an embed token for a dashboard */
  "POST /api/v1/embed/dashboards/{id}": { params: { "id": string }; body?: { "fixed_params"?: Record<string, unknown>; "allowed_params"?: Array<string>; "required_params"?: Array<string>; "allowed_origins"?: Array<string>; "allow_downloads"?: boolean; "viewer"?: Viewer; "theme"?: { "name"?: string; "primary_color"?: string; "background"?: string; "text_color"?: string; "font"?: "system" | "serif" | "mono"; "radius"?: number; "chart_palette"?: Array<string> }; "locale"?: "en" | "pt-BR" | "es"; "expires_in"?: number }; answer: Embed };
  /** Create an embed token for a visualization */
  "POST /api/v1/embed/visualizations/{id}": { params: { "id": string }; body?: { "fixed_params"?: Record<string, unknown>; "allowed_params"?: Array<string>; "required_params"?: Array<string>; "allowed_origins"?: Array<string>; "allow_downloads"?: boolean; "viewer"?: Viewer; "theme"?: { "name"?: string; "primary_color"?: string; "background"?: string; "text_color"?: string; "font"?: "system" | "serif" | "mono"; "radius"?: number; "chart_palette"?: Array<string> }; "locale"?: "en" | "pt-BR" | "es"; "expires_in"?: number }; answer: Embed };
  /** Revoke embed tokens */
  "POST /api/v1/embed/revoke": { body: { "token_id"?: string; "dashboard_id"?: string; "visualization_id"?: string; "viewer_id"?: string }; answer: undefined };
  /** Rotate the embed key */
  "POST /api/v1/embed/rotate-key": { answer: undefined };
  /** Create a signing key for embeds */
  "POST /api/v1/embed/signing-keys": { answer: CreatedEmbedSigningKey };
  /** List the signing keys for embeds */
  "GET /api/v1/embed/signing-keys": { query?: { "page"?: number; "per_page"?: number }; answer: { "total": number; "page": number; "per_page": number; "records": Array<EmbedSigningKey> } };
  /** Delete a signing key for embeds */
  "DELETE /api/v1/embed/signing-keys/{id}": { params: { "id": string }; answer: undefined };
  /** Get an embedded dashboard */
  "GET /api/embed/d/{token}/info": { params: { "token": string }; answer: { "requires_auth": false; "branding": Branding; "embed_options": EmbedOptions; "expires_at": string; "dashboard": SharedItem } };
  /** List the options of a filter of an embedded dashboard */
  "GET /api/embed/d/{token}/filters/{filter_slug}/options": { params: { "token": string; "filter_slug": string }; query?: { "search"?: string | number }; answer: FilterOptions };
  /** Execute an embedded dashboard */
  "POST /api/embed/d/{token}/execute": { params: { "token": string }; query?: { "format"?: "csv" | "xlsx"; "visualization_id"?: string | number }; body?: { "parameters"?: Record<string, unknown> }; answer: { "results": Array<ExecuteResult>; "as_of"?: string; "waking"?: true }; files: { "csv": string; "xlsx": Blob } };
  /** Get an embedded visualization */
  "GET /api/embed/v/{token}/info": { params: { "token": string }; answer: { "requires_auth": false; "branding": Branding; "embed_options": EmbedOptions; "expires_at": string; "visualization": SharedItem } };
  /** Execute an embedded visualization */
  "POST /api/embed/v/{token}/execute": { params: { "token": string }; query?: { "format"?: "csv" | "xlsx"; "visualization_id"?: string | number }; body?: { "parameters"?: Record<string, unknown> }; answer: { "result": ExecuteResult; "as_of"?: string; "waking"?: true }; files: { "csv": string; "xlsx": Blob } };
  /** List share events */
  "GET /api/v1/share-events": { query?: { "page"?: number; "per_page"?: number; "target_type"?: "dashboard" | "visualization"; "share_id"?: string | number; "share_context_id"?: string | number; "from"?: string | number; "to"?: string | number; "type"?: "share.created" | "share.updated" | "share.revoked" | "share.resolved" | "share.executed" | "share.downloaded" | "share.denied" | "context.created" | "context.updated" | "context.deleted" | "context.grants_updated" | "member.added" | "member.removed" | "auth.code_requested" | "auth.verified" | "auth.failed" | "embed.generated" | "embed.executed" | "embed.downloaded" | "embed.denied" | "embed.revoked" | "embed.key_rotated" | "embed.signing_key_created" | "embed.signing_key_deleted" }; answer: { "total": number; "page": number; "per_page": number; "records": Array<ShareEvent> } };
  /** Get a share event */
  "GET /api/v1/share-events/{id}": { params: { "id": string }; answer: ShareEvent };
  /** Get share analytics */
  "GET /api/v1/share-analytics": { query?: { "target_type"?: "dashboard" | "visualization"; "share_id"?: string | number; "share_context_id"?: string | number; "from"?: string | number; "to"?: string | number; "interval"?: "hour" | "day" | "week"; "time_zone"?: string | number }; answer: ShareAnalytics };
  /** Get a logo */
  "GET /api/v1/public/logos/{company_id}/{logo_id}": { params: { "company_id": string; "logo_id": string }; answer: string };
  /** Get the script of `<data-console-embed>` */
  "GET /embed.js": { answer: undefined };
  /** Get a version of the script of `<data-console-embed>` */
  "GET /embed/{script}": { params: { "script": string }; answer: string };
  /** Show the unsubscribe page */
  "GET /unsubscribe/{token}": { params: { "token": string }; answer: string };
  /** Unsubscribe a recipient with one click */
  "POST /unsubscribe/{token}": { params: { "token": string }; query?: { "scope"?: "schedule" | "company" }; answer: string };
  /** Show the page that asks whether scheduled emails are wanted */
  "GET /mail-consent/{token}": { params: { "token": string }; answer: string };
  /** Answer whether scheduled emails of a company are wanted */
  "POST /mail-consent/{token}": { params: { "token": string }; query?: { "answer"?: "yes" | "no" }; answer: string };
  /** Show the page of an embedded dashboard */
  "GET /embed/d/{token}": { params: { "token": string }; answer: string };
  /** Show the page of an embedded visualization */
  "GET /embed/v/{token}": { params: { "token": string }; answer: string };
  /** Show the page of a shared dashboard */
  "GET /p/{token}": { params: { "token": string }; answer: string };
  /** Show the page of the portal */
  "GET /portal/{company_slug}": { params: { "company_slug": string }; answer: string };
}

export interface WebhookEvents {
  /** A key was made for a service account. */
  "api_key.issued": { "type": "api_key.issued"; "timestamp": string; "data": CompanyApiKey };
  /** A key does not work any more. */
  "api_key.revoked": { "type": "api_key.revoked"; "timestamp": string; "data": CompanyApiKey };
  /** Records of the audit trail, in batches. Only endpoints that name it get them. */
  "audit.records": { "type": "audit.records"; "timestamp": string; "data": WebhookAuditRecords };
  /** A person from outside asked for a code for the portal. */
  "auth.code_requested": { "type": "auth.code_requested"; "timestamp": string; "data": ShareEvent };
  /** A code for the portal was wrong. */
  "auth.failed": { "type": "auth.failed"; "timestamp": string; "data": ShareEvent };
  /** A person from outside signed in to the portal. */
  "auth.verified": { "type": "auth.verified"; "timestamp": string; "data": ShareEvent };
  /** The name, settings, branding or ways of signing in of the company were changed. */
  "company.updated": { "type": "company.updated"; "timestamp": string; "data": WebhookCompany };
  /** A share context was made. */
  "context.created": { "type": "context.created"; "timestamp": string; "data": ShareEvent };
  /** A share context was deleted. */
  "context.deleted": { "type": "context.deleted"; "timestamp": string; "data": ShareEvent };
  /** What a share context shows was changed. */
  "context.grants_updated": { "type": "context.grants_updated"; "timestamp": string; "data": ShareEvent };
  /** A share context was changed. */
  "context.updated": { "type": "context.updated"; "timestamp": string; "data": ShareEvent };
  /** The result of a job of the Data API can be downloaded. */
  "data_job.done": { "type": "data_job.done"; "timestamp": string; "data": WebhookDataJob };
  /** A job of the Data API failed. */
  "data_job.failed": { "type": "data_job.failed"; "timestamp": string; "data": WebhookDataJob };
  /** A viewer of something embedded was refused. */
  "embed.denied": { "type": "embed.denied"; "timestamp": string; "data": ShareEvent };
  /** The data of something embedded was downloaded. */
  "embed.downloaded": { "type": "embed.downloaded"; "timestamp": string; "data": ShareEvent };
  /** Something embedded was executed. Only endpoints that name it get it. */
  "embed.executed": { "type": "embed.executed"; "timestamp": string; "data": ShareEvent };
  /** An embed token was made. */
  "embed.generated": { "type": "embed.generated"; "timestamp": string; "data": ShareEvent };
  /** All embed tokens were ended. */
  "embed.key_rotated": { "type": "embed.key_rotated"; "timestamp": string; "data": ShareEvent };
  /** Embed tokens were ended. */
  "embed.revoked": { "type": "embed.revoked"; "timestamp": string; "data": ShareEvent };
  /** A key that signs embed tokens was made. */
  "embed.signing_key_created": { "type": "embed.signing_key_created"; "timestamp": string; "data": ShareEvent };
  /** A key that signs embed tokens was deleted. */
  "embed.signing_key_deleted": { "type": "embed.signing_key_deleted"; "timestamp": string; "data": ShareEvent };
  /** A group was made. */
  "group.created": { "type": "group.created"; "timestamp": string; "data": Group };
  /** A group was deleted. */
  "group.deleted": { "type": "group.deleted"; "timestamp": string; "data": Group };
  /** A user or service account became a member of a group. */
  "group.member_added": { "type": "group.member_added"; "timestamp": string; "data": GroupBinding };
  /** A user or service account is no member of a group any more. */
  "group.member_removed": { "type": "group.member_removed"; "timestamp": string; "data": GroupBinding };
  /** A group was changed, or the permissions of the former model that it lists. */
  "group.updated": { "type": "group.updated"; "timestamp": string; "data": Group };
  /** An invited user joined. */
  "invitation.accepted": { "type": "invitation.accepted"; "timestamp": string; "data": WebhookUser };
  /** A job that generates domain knowledge was cancelled. */
  "knowledge_job.cancelled": { "type": "knowledge_job.cancelled"; "timestamp": string; "data": KnowledgeJob };
  /** A job that generates domain knowledge ended. */
  "knowledge_job.done": { "type": "knowledge_job.done"; "timestamp": string; "data": KnowledgeJob };
  /** A job that generates domain knowledge failed. */
  "knowledge_job.failed": { "type": "knowledge_job.failed"; "timestamp": string; "data": KnowledgeJob };
  /** A member was added to a share context. */
  "member.added": { "type": "member.added"; "timestamp": string; "data": ShareEvent };
  /** A member was taken off a share context. */
  "member.removed": { "type": "member.removed"; "timestamp": string; "data": ShareEvent };
  /** A policy was attached to a group. */
  "policy.attached": { "type": "policy.attached"; "timestamp": string; "data": WebhookAttachment };
  /** A policy was made. */
  "policy.created": { "type": "policy.created"; "timestamp": string; "data": Policy };
  /** A policy was deleted. */
  "policy.deleted": { "type": "policy.deleted"; "timestamp": string; "data": Policy };
  /** A policy was detached from a group. */
  "policy.detached": { "type": "policy.detached"; "timestamp": string; "data": WebhookAttachment };
  /** A policy was changed. */
  "policy.updated": { "type": "policy.updated"; "timestamp": string; "data": Policy };
  /** A schedule was due, and could send nothing. */
  "schedule.failed": { "type": "schedule.failed"; "timestamp": string; "data": WebhookSchedule };
  /** A schedule was paused, by somebody or after it failed three times. */
  "schedule.paused": { "type": "schedule.paused"; "timestamp": string; "data": WebhookSchedule };
  /** A schedule sent its mails. */
  "schedule.sent": { "type": "schedule.sent"; "timestamp": string; "data": WebhookSchedule };
  /** A service account was made. */
  "service_account.created": { "type": "service_account.created"; "timestamp": string; "data": CompanyServiceAccount };
  /** A service account was deleted. */
  "service_account.deleted": { "type": "service_account.deleted"; "timestamp": string; "data": CompanyServiceAccount };
  /** A service account was changed. */
  "service_account.updated": { "type": "service_account.updated"; "timestamp": string; "data": CompanyServiceAccount };
  /** A dashboard was shared. */
  "share.created": { "type": "share.created"; "timestamp": string; "data": ShareEvent };
  /** A viewer of a share was refused. */
  "share.denied": { "type": "share.denied"; "timestamp": string; "data": ShareEvent };
  /** The data of a shared dashboard was downloaded. */
  "share.downloaded": { "type": "share.downloaded"; "timestamp": string; "data": ShareEvent };
  /** A shared dashboard was executed. Only endpoints that name it get it. */
  "share.executed": { "type": "share.executed"; "timestamp": string; "data": ShareEvent };
  /** A share was opened. Only endpoints that name it get it. */
  "share.resolved": { "type": "share.resolved"; "timestamp": string; "data": ShareEvent };
  /** A share was ended. */
  "share.revoked": { "type": "share.revoked"; "timestamp": string; "data": ShareEvent };
  /** A share was changed. */
  "share.updated": { "type": "share.updated"; "timestamp": string; "data": ShareEvent };
  /** A suggestion was accepted. */
  "suggestion.accepted": { "type": "suggestion.accepted"; "timestamp": string; "data": KnowledgeSuggestion };
  /** A change of domain knowledge was suggested. */
  "suggestion.created": { "type": "suggestion.created"; "timestamp": string; "data": KnowledgeSuggestion };
  /** A suggestion was rejected. */
  "suggestion.rejected": { "type": "suggestion.rejected"; "timestamp": string; "data": KnowledgeSuggestion };
  /** A suggestion was replaced by a newer one. */
  "suggestion.superseded": { "type": "suggestion.superseded"; "timestamp": string; "data": KnowledgeSuggestion };
  /** A table was made. */
  "table.created": { "type": "table.created"; "timestamp": string; "data": ManagedTable };
  /** A table was deleted. */
  "table.deleted": { "type": "table.deleted"; "timestamp": string; "data": ManagedTable };
  /** A deleted table is back. */
  "table.restored": { "type": "table.restored"; "timestamp": string; "data": ManagedTable };
  /** All rows of a table were removed. */
  "table.truncated": { "type": "table.truncated"; "timestamp": string; "data": ManagedTable };
  /** The name or columns of a table were changed. */
  "table.updated": { "type": "table.updated"; "timestamp": string; "data": ManagedTable };
  /** The rows of an upload are in their table. */
  "upload.done": { "type": "upload.done"; "timestamp": string; "data": WebhookUpload };
  /** An upload failed, was cancelled, or waited too long for its confirmation. */
  "upload.failed": { "type": "upload.failed"; "timestamp": string; "data": WebhookUpload };
  /** An upload was taken back. */
  "upload.undone": { "type": "upload.undone"; "timestamp": string; "data": WebhookUpload };
  /** The files of an upload were read: it waits for its confirmation. */
  "upload.waiting_confirm": { "type": "upload.waiting_confirm"; "timestamp": string; "data": WebhookUpload };
  /** A user who was deactivated may sign in again. */
  "user.activated": { "type": "user.activated"; "timestamp": string; "data": WebhookUser };
  /** A user was made who needed no invitation, such as one who came by single sign-on. */
  "user.created": { "type": "user.created"; "timestamp": string; "data": WebhookUser };
  /** A user may not sign in any more. */
  "user.deactivated": { "type": "user.deactivated"; "timestamp": string; "data": WebhookUser };
  /** A user was deleted, or an invitation taken back. */
  "user.deleted": { "type": "user.deleted"; "timestamp": string; "data": WebhookUser };
  /** A user was invited, or invited again. */
  "user.invited": { "type": "user.invited"; "timestamp": string; "data": WebhookUser };
  /** The name, address or teams of a user were changed. */
  "user.updated": { "type": "user.updated"; "timestamp": string; "data": WebhookUser };
}

export type idempotencyKey = string;

export type PasskeyRegistrationResponse = { "id": string; "rawId": string; "type": "public-key"; "authenticatorAttachment"?: string | null; "clientExtensionResults"?: {  }; "response": { "clientDataJSON": string; "attestationObject": string; "transports"?: Array<string> } };

export type PasskeyAuthenticationResponse = { "id": string; "rawId": string; "type": "public-key"; "authenticatorAttachment"?: string | null; "clientExtensionResults"?: {  }; "response": { "clientDataJSON": string; "authenticatorData": string; "signature": string; "userHandle"?: string | null } };

export type CompanyBrandingInput = { "name"?: string | null; "primary_color"?: string | null; "background"?: string | null; "text_color"?: string | null; "font"?: "system" | "serif" | "mono" | null; "radius"?: number | null; "chart_palette"?: Array<string> | null; "logo_url"?: null };

export type OidcConfigurationInput = { "type": "oidc"; "issuer": string; "client_id": string; "trust_email"?: boolean; "client_secret"?: string; "redirect_uris": Array<string>; "jit_provisioning"?: boolean };

export type SamlConfigurationInput = { "type": "saml"; "idp_entity_id": string; "idp_sso_url": string; "idp_certificates": Array<string>; "attributes"?: { "email"?: string; "name"?: string }; "redirect_uris": Array<string>; "jit_provisioning"?: boolean };

export type SocialConfiguration = { "providers": Array<{ "issuer": string; "audience": string; "jwks_uri"?: string; "trust_email"?: boolean }> };

export type Chart = { "type": "table" | "line" | "bar" | "area" | "pie" | "number" | "scatter"; "x"?: string | null; "y"?: Array<string>; "series"?: string | null; "options"?: Record<string, unknown> };

export type Parameter = { "slug": string; "label": string; "kind": "select" | "multi_select" | "text" | "number" | "date" | "date_range"; "default"?: unknown; "required"?: boolean; "viewer_attribute"?: string };

export type Widget = { "visualization_id": string; "x": number; "y": number; "w": number; "h": number };

export type Filter = { "slug": string; "label": string; "kind": "select" | "multi_select" | "text" | "number" | "date" | "date_range"; "default"?: unknown; "required"?: boolean; "viewer_attribute"?: string; "options"?: Array<FilterOption> | { "sql": string } | null; "applies_to"?: Array<string> | null };

export type FilterOption = { "label": string; "value": string };

export type ScheduleCondition = { "visualization_id": string; "column": string; "op": "gt" | "gte" | "lt" | "lte" | "eq" | "ne" | "changed"; "value"?: string | number | boolean | null };

export type PermissionTarget = { "company_id": string; "service_name"?: "accounts" | "service-accounts" | "users" | "groups" | "permissions" | "policies" | "company" | "api_keys" | "connections" | "vpn_profiles" | "metadata" | "managed-tables" | "visualizations" | "dashboards" | "analysis-folders" | "share_tags" | "viz_api_endpoints" | "data_api" | "concepts" | "semantic" | "ontology" | "webhooks" | "mcp" | "knowledge_reviews"; "service_id"?: string };

export type WebhookEventType = "api_key.issued" | "api_key.revoked" | "audit.records" | "auth.code_requested" | "auth.failed" | "auth.verified" | "company.updated" | "context.created" | "context.deleted" | "context.grants_updated" | "context.updated" | "data_job.done" | "data_job.failed" | "embed.denied" | "embed.downloaded" | "embed.executed" | "embed.generated" | "embed.key_rotated" | "embed.revoked" | "embed.signing_key_created" | "embed.signing_key_deleted" | "group.created" | "group.deleted" | "group.member_added" | "group.member_removed" | "group.updated" | "invitation.accepted" | "knowledge_job.cancelled" | "knowledge_job.done" | "knowledge_job.failed" | "member.added" | "member.removed" | "policy.attached" | "policy.created" | "policy.deleted" | "policy.detached" | "policy.updated" | "schedule.failed" | "schedule.paused" | "schedule.sent" | "service_account.created" | "service_account.deleted" | "service_account.updated" | "share.created" | "share.denied" | "share.downloaded" | "share.executed" | "share.resolved" | "share.revoked" | "share.updated" | "suggestion.accepted" | "suggestion.created" | "suggestion.rejected" | "suggestion.superseded" | "table.created" | "table.deleted" | "table.restored" | "table.truncated" | "table.updated" | "upload.done" | "upload.failed" | "upload.undone" | "upload.waiting_confirm" | "user.activated" | "user.created" | "user.deactivated" | "user.deleted" | "user.invited" | "user.updated";

export type ManagedTableColumn = { "name": string; "display_name": string; "type": "text" | "integer" | "decimal" | "boolean" | "date" | "datetime"; "nullable": boolean };

export type ManagedTableColumnChange = { "name": string; "display_name": string; "type": "text" | "integer" | "decimal" | "boolean" | "date" | "datetime"; "nullable": boolean; "previous_name"?: string };

export type ConfirmedColumn = { "name": string; "display_name": string; "type": "text" | "integer" | "decimal" | "boolean" | "date" | "datetime"; "nullable": boolean; "source_index"?: number | null };

export type BusinessDomains = { "business_domains": Array<BusinessDomain> };

export type BusinessDomain = { "key": string; "name": string; "description"?: string | "" };

export type NewConcept = { "name": string; "description": string; "type"?: "term" | "rule" | "entity_hint" | "metric_hint" | "policy_hint"; "aliases"?: Array<string>; "tags"?: Array<string>; "source"?: string | null; "confidence"?: number | null; "related_catalog_assets"?: Array<string>; "status"?: "draft" | "active" };

export type ConceptChanges = { "name"?: string; "description"?: string; "type"?: "term" | "rule" | "entity_hint" | "metric_hint" | "policy_hint"; "aliases"?: Array<string>; "tags"?: Array<string>; "source"?: string | null; "confidence"?: number | null; "related_catalog_assets"?: Array<string>; "status"?: "draft" | "active" | "archived" };

export type NewSemanticItem = { "kind": "entity" | "metric" | "dimension" | "mapping"; "name": string; "description": string; "formula"?: string | null; "grain"?: string | null; "filters"?: Array<string>; "aggregation"?: string | null; "mapped_tables"?: Array<string>; "mapped_columns"?: Array<string>; "mapped_relations"?: Array<string>; "source_concept_ids"?: Array<string>; "depends_on_concepts"?: Array<string>; "depends_on_metrics"?: Array<string>; "depends_on_entities"?: Array<string>; "status"?: "draft" | "active" };

export type SemanticItemChanges = { "kind"?: "entity" | "metric" | "dimension" | "mapping"; "name"?: string; "description"?: string; "formula"?: string | null; "grain"?: string | null; "filters"?: Array<string>; "aggregation"?: string | null; "mapped_tables"?: Array<string>; "mapped_columns"?: Array<string>; "mapped_relations"?: Array<string>; "source_concept_ids"?: Array<string>; "depends_on_concepts"?: Array<string>; "depends_on_metrics"?: Array<string>; "depends_on_entities"?: Array<string>; "status"?: "draft" | "active" | "archived" };

export type MetricQuery = { "metrics": Array<string>; "dimensions"?: Array<string>; "filters"?: Array<{ "dimension": string; "op": "eq" | "ne" | "gt" | "gte" | "lt" | "lte" | "in" | "nin" | "contains" | "starts_with" | "is_null"; "values": Array<unknown> }>; "time_grain"?: "day" | "week" | "month" | "quarter" | "year" | null; "order_by"?: Array<{ "by": string; "descending"?: boolean }>; "limit"?: number };

export type NewVerifiedQuestion = { "question": string; "query": MetricQuery };

export type VerifiedQuestionChanges = { "question"?: string; "query"?: MetricQuery; "status"?: "verified" | "archived" };

export type NewQuestion = { "question": string; "execute"?: boolean };

export type NewOntologyNode = { "name": string; "description": string; "node_type"?: "class" | "role" | "event" | "object" | "state"; "parent_node_id"?: string | null; "aliases"?: Array<string>; "attributes"?: Array<string>; "constraints"?: Array<string>; "source_concepts"?: Array<string>; "mapped_semantic_entities"?: Array<string>; "mapped_catalog_assets"?: Array<string>; "status"?: "draft" | "active" };

export type OntologyNodeChanges = { "name"?: string; "description"?: string; "node_type"?: "class" | "role" | "event" | "object" | "state"; "parent_node_id"?: string | null; "aliases"?: Array<string>; "attributes"?: Array<string>; "constraints"?: Array<string>; "source_concepts"?: Array<string>; "mapped_semantic_entities"?: Array<string>; "mapped_catalog_assets"?: Array<string>; "status"?: "draft" | "active" | "archived" };

export type NewOntologyRelation = { "subject_node_id": string; "predicate": string; "object_node_id": string; "description": string; "cardinality"?: string | null; "relation_type"?: string | null; "confidence"?: number | null; "evidence"?: Array<string | KnowledgeEvidence>; "status"?: "draft" | "active" };

export type KnowledgeEvidence = { "source": "text" | "catalog" | "concept" | "business_domain"; "quote"?: string | null; "table"?: string | null; "column"?: string | null };

export type OntologyRelationChanges = { "subject_node_id"?: string; "predicate"?: string; "object_node_id"?: string; "description"?: string; "cardinality"?: string | null; "relation_type"?: string | null; "confidence"?: number | null; "evidence"?: Array<string | KnowledgeEvidence>; "status"?: "draft" | "active" | "archived" };

export type SuggestionIds = { "ids": Array<string> };

export type SuggestionAcceptance = { "override_payload"?: Record<string, unknown> };

export type SuggestionRejection = { "review_note"?: string | null };

export type ConceptGeneration = { "business_domains"?: Array<string>; "text"?: string };

export type OntologyGeneration = { "connection_id": string };

export type Enrichment = { "target_type": "concept" | "semantic" | "ontology_node" | "ontology_relation"; "target_ids": Array<string> };

export type KnowledgeDocument = { "format"?: "data-console-knowledge/1"; "concepts"?: Array<{ "name": string; "description": string; "type"?: "term" | "rule" | "entity_hint" | "metric_hint" | "policy_hint"; "aliases"?: Array<string>; "tags"?: Array<string>; "source"?: string | null; "confidence"?: number | null; "related_catalog_assets"?: Array<string> }>; "semantic"?: Array<{ "kind": "entity" | "metric" | "dimension" | "mapping"; "name": string; "description": string; "formula"?: string | null; "grain"?: string | null; "filters"?: Array<string>; "aggregation"?: string | null; "mapped_tables"?: Array<string>; "mapped_columns"?: Array<string>; "mapped_relations"?: Array<string>; "source_concepts"?: Array<string>; "depends_on_concepts"?: Array<string>; "depends_on_metrics"?: Array<string>; "depends_on_entities"?: Array<string> }>; "nodes"?: Array<{ "name": string; "description": string; "node_type"?: "class" | "role" | "event" | "object" | "state"; "aliases"?: Array<string>; "attributes"?: Array<string>; "constraints"?: Array<string>; "mapped_catalog_assets"?: Array<string>; "parent_node"?: { "node_type": "class" | "role" | "event" | "object" | "state"; "name": string } | null; "source_concepts"?: Array<string>; "mapped_semantic_entities"?: Array<string> }>; "relations"?: Array<{ "predicate": string; "description": string; "cardinality"?: string | null; "relation_type"?: string | null; "confidence"?: number | null; "evidence"?: Array<string | KnowledgeEvidence>; "subject": { "node_type": "class" | "role" | "event" | "object" | "state"; "name": string }; "object": { "node_type": "class" | "role" | "event" | "object" | "state"; "name": string } }> };

export type ClientRegistration = { "redirect_uris"?: Array<string>; "client_name"?: string; "grant_types"?: Array<string> };

export type ShareGrant = { "target_type": "dashboard" | "visualization"; "target_id": string; "filter_policies"?: Array<FilterPolicy> };

export type FilterPolicy = { "filter_slug": string; "filter_kind": "select" | "multi_select" | "text" | "number" | "date" | "date_range"; "mode": "selectable" | "locked" | "hidden"; "allowed_values"?: Array<string> };

export type Viewer = { "id": string; "attributes"?: Record<string, unknown> };

export type CompanyApiKey = { "_id": string; "access_key": string; "description": string; "service_account_id": string; "expires_at": string; "is_active": boolean; "created_at": string; "last_used_at": string | null };

export type WebhookAuditRecords = { "records": Array<AuditEvent> };

export type AuditEvent = { "id": string; "correlation_id": string; "occurred_at": string; "organization_id": string; "principal_type": "user" | "service_account" | "outsider" | "operator" | "anonymous"; "principal_id": string | null; "credential": string | null; "method": string; "route": string | null; "action": string | null; "resource_id": string | null; "status": number; "ip": string | null; "duration_ms": number };

export type ShareEvent = { "id": string; "type": "share.created" | "share.updated" | "share.revoked" | "share.resolved" | "share.executed" | "share.downloaded" | "share.denied" | "context.created" | "context.updated" | "context.deleted" | "context.grants_updated" | "member.added" | "member.removed" | "auth.code_requested" | "auth.verified" | "auth.failed" | "embed.generated" | "embed.executed" | "embed.downloaded" | "embed.denied" | "embed.revoked" | "embed.key_rotated" | "embed.signing_key_created" | "embed.signing_key_deleted"; "occurred_at": string; "actor": { "kind": "user" | "service_account" | "external" | "viewer" | "anonymous"; "id": string | null; "email": string | null }; "target_type": "dashboard" | "visualization" | null; "target_id": string | null; "share_id": string | null; "share_context_id": string | null; "ip_country": string | null; "user_agent": string | null; "origin": string | null; "correlation_id": string; "details": Record<string, unknown> };

export type WebhookCompany = { "_id": string; "name": string; "slug": string; "require_2fa": boolean; "sso_only": boolean; "locale": "en" | "pt-BR" | "es" };

export type WebhookDataJob = { "job_id": string; "endpoint_id": string; "slug": string; "format": "json" | "ndjson" | "csv"; "status": "queued" | "running" | "succeeded" | "failed"; "row_count": number | null; "bytes": number | null; "error": string | null; "created_at": string; "updated_at": string };

export type Group = { "_id": string; "name": string; "slug": string; "description": string; "company_id": string; "is_global": boolean; "roles": Array<{ "name": string; "target": string; "actions": Array<"read" | "create" | "update" | "delete" | "*"> }>; "permissionIds": Array<string>; "attached_policies": Array<string>; "created_at": string; "updated_at": string };

export type GroupBinding = { "id": string; "group_id": string; "principal_type": "user" | "service_account"; "principal_id": string; "account_id": string; "created_at": string };

export type WebhookUser = { "_id": string; "email": string; "name": string; "company_id": string; "status": "invited" | "active" | "inactive"; "teams": Array<string>; "group_ids": Array<string>; "created_at": string };

export type KnowledgeJob = { "_id": string; "company_id": string; "type": "enrichment" | "concept_generation" | "ontology_generation"; "target_type": "concept" | "semantic" | "ontology_node" | "ontology_relation"; "target_ids": Array<string>; "status": "queued" | "running" | "succeeded" | "failed" | "cancelled"; "processed_count": number; "total_count": number; "suggestion_count": number; "rejected_count": number; "concepts_not_sent_count": number; "usage": { "requests": number; "prompt_tokens": number; "completion_tokens": number }; "last_error": string | null; "request_id": string; "business_domains": Array<string>; "connection_id": string | null; "file_name": string | null; "created_by_user_id": string; "created_at": string; "updated_at": string; "ended_at": string | null };

export type WebhookAttachment = { "group_id": string; "policy_id": string };

export type Policy = { "_id": string; "arn": string; "name": string; "description": string; "type": "system" | "managed" | "inline"; "document": PolicyDocument; "is_deprecated": boolean; "created_at": string; "updated_at": string };

export type PolicyDocument = { "version": "2024-01-01"; "statements": Array<{ "sid"?: string; "effect": "Allow" | "Deny"; "actions": Array<string>; "resources": Array<string> }> };

export type WebhookSchedule = { "_id": string; "name": string; "target_type": "dashboard" | "visualization"; "target_id": string; "parameters": Record<string, unknown>; "cron": string; "time_zone": string; "recipients": Array<ScheduleRecipient>; "format": "summary" | "csv" | "xlsx"; "condition": ScheduleCondition | null; "status": "active" | "paused"; "unsubscribed": Array<ScheduleRecipient>; "next_run_at": string | null; "last_run": ScheduleRun | null; "created_by_user_id": string; "created_at": string; "updated_at": string; "company_id": string };

export type ScheduleRecipient = { "user_id"?: string; "email"?: string };

export type ScheduleRun = { "id": string; "kind": "scheduled" | "manual"; "occurrence": string; "ended_at": string; "status": "done" | "failed"; "sent": number; "skipped": number; "failed": number; "problems": Array<"target_deleted" | "left" | "not_allowed" | "parameters" | "query_failed" | "condition_failed" | "condition_not_met" | "unavailable" | "mail_refused" | "unconfirmed" | "files_too_large" | "not_agreed" | "too_many_mails" | "quota_exceeded"> };

export type CompanyServiceAccount = { "_id": string; "name": string; "description": string; "account_id": string; "company_id": string; "is_active": boolean; "metadata": Record<string, unknown>; "created_at": string; "updated_at": string; "last_used_at": string | null };

export type KnowledgeSuggestion = { "_id": string; "company_id": string; "target_type": "concept" | "concept_create" | "semantic" | "semantic_create" | "ontology_node" | "ontology_node_create" | "ontology_relation" | "ontology_relation_create"; "target_id": string | null; "target_version": number | null; "target_name": string; "concept_id": string | null; "concept_name": string | null; "suggested_payload": Record<string, unknown>; "explanation": string; "evidence": Array<KnowledgeEvidence>; "confidence": number | null; "model": string; "prompt_version": string; "status": "pending" | "accepted" | "rejected" | "superseded"; "request_id": string; "job_id": string | null; "review_note": string | null; "reviewed_by_user_id": string | null; "reviewed_at": string | null; "resource_id": string | null; "created_by_user_id": string; "created_at": string; "updated_at": string };

export type ManagedTable = { "_id": string; "company_id": string; "connection_id": string; "display_name": string; "columns": Array<ManagedTableColumn>; "source": "manual" | "upload"; "status": "active"; "row_count": number; "created_by_user_id": string; "created_at": string; "updated_at": string };

export type WebhookUpload = { "_id": string; "company_id": string; "user_table_id": string | null; "files": Array<{ "original_name": string; "storage_path": string; "size_bytes": number; "mime_type": string }>; "mode": "create" | "append" | "replace" | "upsert"; "evolve": "none" | "add" | "widen"; "status": "waiting_confirm" | "done" | "failed"; "confirmed_schema": { "display_name": string; "columns": Array<ConfirmedColumn>; "time_zone": string | null } | null; "progress": { "phase": "queued" | "analisando" | "waiting_confirm" | "inserting" | "done" | "failed"; "rows_processed": number; "rows_total": number | null; "bytes_processed": number; "bytes_total": number } | null; "error": { "code": string; "message": string; "file"?: string; "line"?: number; "column"?: string; "quota"?: string; "limit"?: number; "use"?: number } | null; "key": Array<string> | null; "result": { "inserted": number; "updated": number; "unchanged": number } | null; "undone_at": string | null; "undone_by": string | null; "source_url": string | null; "created_at": string; "updated_at": string; "created_by_user_id": string; "error_code": string | null };

export type Organization = { "id": string; "name": string; "slug": string; "status": "active" | "suspended" | "deleting"; "created_at": string; "suspended_at": string | null; "deletes_at": string | null; "quotas": OrganizationQuotas; "usage": OrganizationUse };

export type OrganizationQuotas = { "users": number | null; "table_bytes": number | null; "file_bytes": number | null; "mails_per_day": number | null; "model_calls_per_day": number | null };

export type OrganizationUse = { "users": number; "tables": number; "rows": number; "table_bytes": number; "file_bytes": number };

export type FieldProblem = { "field": string; "reason": "required" | "unknown" | "type" | "too_short" | "too_long" | "too_small" | "too_large" | "too_few" | "too_many" | "format" | "not_one_of" | "taken" | "not_found" | "conflict"; "message": string; "limits"?: { "min"?: number; "max"?: number }; "row"?: number };

export type Account = { "id": string; "name": string; "organization_id": string; "is_default": boolean; "is_active": boolean; "metadata": Record<string, unknown>; "created_at": string; "updated_at": string; "deleted_at": string | null };

export type ServiceAccount = { "id": string; "name": string; "description": string; "account_id": string; "organization_id": string; "is_active": boolean; "metadata": Record<string, unknown>; "created_at": string; "updated_at": string; "last_used_at": string | null; "deleted_at": string | null };

export type IssuedApiKey = { "id": string; "access_key": string; "description": string; "service_account_id": string; "expires_at": string; "is_active": boolean; "created_at": string; "last_used_at": string | null; "secret_key": string };

export type OrganizationWrittenRecord = { "id": string };

export type Usage = { "days": Array<{ "date": string; "requests": number; "executions": number; "rows_loaded": number; "mails": number; "model_calls": number }> };

export type CompanyExport = { "export_id": string; "status": "queued" | "running" | "succeeded" | "failed"; "bytes": number | null; "url": string | null; "expires_at": string | null; "error": string | null };

export type ApiKey = { "id": string; "access_key": string; "description": string; "service_account_id": string; "expires_at": string; "is_active": boolean; "created_at": string; "last_used_at": string | null };

export type ServiceToken = { "token": string; "token_type": "Bearer"; "expires_in": number };

export type DataResult = { "columns": Array<{ "name": string; "type": "text" | "integer" | "decimal" | "boolean" | "date" | "datetime" }>; "rows": Array<Array<string | number | boolean | null>>; "row_count": number; "truncated": boolean; "cached": boolean };

export type DataJob = { "job_id": string; "status": "queued" | "running" | "succeeded" | "failed"; "row_count": number | null; "bytes": number | null; "url": string | null; "error": string | null; "expires_at": string | null };

export type OrganizationGroup = { "id": string; "name": string; "description": string; "organization_id": string; "attached_policies": Array<string>; "member_count": number; "created_at": string; "updated_at": string; "deleted_at": string | null };

export type ChangeOfAccess = { "gains": Array<{ "principal": ActivePrincipal; "action": string; "resource": string }>; "losses": Array<{ "principal": ActivePrincipal; "action": string; "resource": string }>; "truncated": boolean };

export type ActivePrincipal = { "type": "user" | "service_account"; "id": string; "name": string };

export type OrganizationUser = { "id": string; "email": string; "organization_id": string; "is_active": boolean; "is_verified": boolean; "mfa_enabled": boolean; "metadata": Record<string, unknown>; "created_at": string; "updated_at": string; "last_login_at": string | null; "deleted_at": string | null };

export type SignInResult = LoginResult | SecondFactorNeeded | PasskeyNeeded | SecondFactorSetupNeeded;

export type LoginResult = { "token": string; "expires_in": number; "refresh_token": string; "refresh_expires_in": number; "user": { "_id": string; "email": string; "name": string; "company_id": string } };

export type SecondFactorNeeded = { "requires_2fa": true; "pending_2fa_token": string; "expires_in": number; "methods": Array<"totp" | "backup_code"> };

export type PasskeyNeeded = { "requires_2fa": true; "methods": Array<"passkey"> };

export type SecondFactorSetupNeeded = { "requires_2fa_setup": true; "pending_2fa_token": string; "expires_in": number };

export type TokenPair = { "token": string; "expires_in": number; "refresh_token": string; "refresh_expires_in": number };

export type LoginResultWithBackupCodes = { "token": string; "expires_in": number; "refresh_token": string; "refresh_expires_in": number; "user": { "_id": string; "email": string; "name": string; "company_id": string }; "backup_codes": Array<string> };

export type BackupCodes = { "backup_codes": Array<string> };

export type PasskeyCreationOptions = { "challenge": string; "rp": { "id": string; "name": string }; "user": { "id": string; "name": string; "displayName": string }; "pubKeyCredParams": Array<{ "type": "public-key"; "alg": number }>; "timeout": number; "attestation": "none"; "excludeCredentials": Array<{ "type": "public-key"; "id": string; "transports"?: Array<string> }>; "authenticatorSelection": { "residentKey": "required"; "requireResidentKey": true; "userVerification": "required" }; "extensions": { "credProps": true }; "hints": Array<string> };

export type Passkey = { "_id": string; "name": string; "is_backed_up": boolean; "last_used_at": string | null; "created_at": string };

export type WrittenRecord = { "_id": string };

export type PasskeyRequestOptions = { "challenge": string; "rpId": string; "allowCredentials": Array<{ "type": "public-key"; "id": string; "transports"?: Array<string> }>; "timeout": number; "userVerification": "required" };

export type Session = { "_id": string; "created_at": string; "last_used_at": string | null; "ip": string | null; "user_agent": string | null; "current": boolean };

export type CurrentUser = { "_id": string; "email": string; "name": string; "company_id": string; "status": "invited" | "active" | "inactive"; "teams": Array<string>; "group_ids": Array<string>; "created_at": string; "is_owner": boolean; "mfa_enabled": boolean; "backup_codes_left": number; "last_login_at": string | null };

export type Branding = { "name"?: string; "primary_color"?: string; "background"?: string; "text_color"?: string; "font"?: "system" | "serif" | "mono"; "radius"?: number; "chart_palette"?: Array<string>; "logo_url"?: string };

export type OwnPermissions = { "user_id": string; "company_id": string; "is_owner": boolean; "policies": Array<{ "_id": string; "arn": string; "name": string; "type": "managed" | "inline"; "group_ids": Array<string> }>; "actions": Array<string> };

export type CompanySettings = { "require_2fa": boolean; "sso_only": boolean; "locale": "en" | "pt-BR" | "es" };

export type CompanyBranding = { "name": string | null; "primary_color": string | null; "background": string | null; "text_color": string | null; "font": "system" | "serif" | "mono" | null; "radius": number | null; "chart_palette": Array<string> | null; "logo_url": string | null };

export type SsoConfiguration = OidcConfiguration | SamlConfiguration;

export type OidcConfiguration = { "type": "oidc"; "issuer": string; "client_id": string; "trust_email": boolean; "redirect_uris": Array<string>; "jit_provisioning": boolean; "callback_url": string; "created_at": string; "updated_at": string };

export type SamlConfiguration = { "type": "saml"; "idp_entity_id": string; "idp_sso_url": string; "idp_certificates": Array<string>; "attributes": { "email"?: string; "name"?: string }; "redirect_uris": Array<string>; "jit_provisioning": boolean; "sp_entity_id": string; "metadata_url": string; "callback_url": string; "created_at": string; "updated_at": string };

export type InvitedUser = { "_id": string; "email": string; "name": string; "company_id": string; "status": "invited" | "active" | "inactive"; "teams": Array<string>; "group_ids": Array<string>; "groups"?: Array<{ "_id": string; "name": string; "slug": string }>; "created_at": string; "invitation_expires_at": string };

export type Invitation = { "email": string; "name": string; "company": { "name": string; "slug": string; "branding": Branding }; "expires_at": string };

export type Visualization = { "_id": string; "name": string; "slug": string; "description": string; "sql": string; "chart": ChartOutput; "parameters": Array<{ "slug": string; "label": string; "kind": "select" | "multi_select" | "text" | "number" | "date" | "date_range"; "default": unknown; "required": boolean; "viewer_attribute"?: string }>; "created_by_user_id": string; "created_at": string; "updated_at": string };

export type PreviewResult = { "columns": Array<{ "name": string; "type": "text" | "integer" | "decimal" | "boolean" | "date" | "datetime" }>; "rows": Array<Array<string | number | boolean | null>>; "row_count": number; "truncated": boolean; "duration_ms": number; "cached": boolean };

export type ExecuteResult = { "visualization_id": string; "columns"?: Array<{ "name": string; "type": "text" | "integer" | "decimal" | "boolean" | "date" | "datetime" }>; "rows"?: Array<Array<string | number | boolean | null>>; "row_count"?: number; "truncated"?: boolean; "error"?: { "error_code": string; "message": string }; "duration_ms": number; "cached": boolean };

export type Dashboard = { "_id": string; "name": string; "slug": string; "description": string; "cache_seconds": number; "layout": Array<WidgetOutput>; "filters": Array<DashboardFilter>; "created_by_user_id": string; "created_at": string; "updated_at": string };

export type DashboardFilter = { "slug": string; "label": string; "kind": "select" | "multi_select" | "text" | "number" | "date" | "date_range"; "default": unknown; "required": boolean; "viewer_attribute"?: string; "options": Array<FilterOption> | { "sql"?: string } | null; "applies_to": Array<string> | null };

export type DashboardWithCharts = { "_id": string; "name": string; "slug": string; "description": string; "cache_seconds": number; "layout": Array<WidgetOutput>; "filters": Array<DashboardFilter>; "created_by_user_id": string; "created_at": string; "updated_at": string; "charts"?: Array<{ "visualization_id": string; "name": string; "description": string; "chart": unknown }> };

export type FilterOptions = { "filter_slug": string; "options": Array<{ "label": string; "value": string }>; "source": "static" | "dynamic" | "policy" };

export type VizApiEndpoint = { "_id": string; "name": string; "slug": string; "description": string; "visualization_id": string; "cache_seconds": number; "status": "active" | "inactive"; "url": string; "created_at": string; "updated_at": string };

export type Schedule = { "_id": string; "name": string; "target_type": "dashboard" | "visualization"; "target_id": string; "parameters": Record<string, unknown>; "cron": string; "time_zone": string; "recipients": Array<ScheduleRecipientOutput>; "format": "summary" | "csv" | "xlsx"; "condition": ScheduleConditionOutput | null; "status": "active" | "paused"; "unsubscribed": Array<ScheduleRecipientOutput>; "next_run_at": string | null; "last_run": ScheduleRun | null; "created_by_user_id": string; "created_at": string; "updated_at": string };

export type User = { "_id": string; "email": string; "name": string; "company_id": string; "status": "invited" | "active" | "inactive"; "teams": Array<string>; "group_ids": Array<string>; "groups"?: Array<{ "_id": string; "name": string; "slug": string }>; "created_at": string };

export type UserStatus = { "_id": string; "email": string; "status": "invited" | "active" | "inactive" };

export type GroupMember = { "principal_type": "user" | "service_account"; "principal_id": string; "name": string; "email": string | null; "account_id": string };

export type Permission = { "_id": string; "name": string; "description": string; "target": { "company_id": string; "service_name"?: string | null; "service_id"?: string | null }; "actions": Array<"read" | "create" | "update" | "delete" | "*">; "created_at": string; "updated_at": string };

export type IssuedCompanyApiKey = { "_id": string; "access_key": string; "description": string; "service_account_id": string; "expires_at": string; "is_active": boolean; "created_at": string; "last_used_at": string | null; "secret_key": string };

export type CompanyAuditEvent = { "_id": string; "correlation_id": string; "occurred_at": string; "company_id": string; "principal_type": "user" | "service_account" | "outsider" | "operator" | "anonymous"; "principal_id": string | null; "credential": string | null; "method": string; "route": string | null; "action": string | null; "resource_id": string | null; "status": number; "ip": string | null; "duration_ms": number };

export type PersonalData = { "email": string; "records": Array<{ "kind": string; "record": Record<string, unknown> }> };

export type WebhookEndpoint = { "_id": string; "url": string; "description": string; "event_types": Array<string>; "status": "active" | "paused" | "disabled"; "disabled_reason": "gone" | "failing" | null; "created_at": string; "updated_at": string };

export type CreatedWebhookEndpoint = { "_id": string; "url": string; "description": string; "event_types": Array<string>; "status": "active" | "paused" | "disabled"; "disabled_reason": "gone" | "failing" | null; "created_at": string; "updated_at": string; "secret": string };

export type RotatedWebhookSecret = { "secret": string; "former_until": string };

export type WebhookDelivery = { "_id": string; "event_id": string; "event_type": string; "status": "pending" | "delivered" | "failed"; "attempts": Array<{ "at": string; "status": number | null; "duration_ms": number; "error": "address_refused" | "timeout" | "connection_failed" | "redirect" | "interim_answer" | null }>; "next_attempt_at": string | null };

export type WholeWebhookDelivery = { "_id": string; "event_id": string; "event_type": string; "status": "pending" | "delivered" | "failed"; "attempts": Array<{ "at": string; "status": number | null; "duration_ms": number; "error": "address_refused" | "timeout" | "connection_failed" | "redirect" | "interim_answer" | null }>; "next_attempt_at": string | null; "body": string };

export type OAuthGrant = { "_id": string; "client": { "id": string; "name": string; "host": string | null }; "scopes": Array<string>; "resource": string; "created_at": string; "last_used_at": string | null };

export type AskedToLetIn = { "request": string; "client": { "name": string; "host": string | null; "is_registered": boolean }; "scopes": Array<string>; "only_reads": boolean; "resource": "api" | "mcp" };

export type OAuthClient = { "_id": string; "client_id": string; "name": string; "redirect_uris": Array<string>; "created_at": string };

export type DeletedManagedTable = { "_id": string; "company_id": string; "connection_id": string; "display_name": string; "columns": Array<ManagedTableColumn>; "source": "manual" | "upload"; "status": "active"; "row_count": number; "created_by_user_id": string; "created_at": string; "updated_at": string; "deleted_at": string };

export type ManagedTableIndex = { "id": string; "columns": Array<string>; "unique": boolean; "created_at": string };

export type ManagedTableRow = { "id": string } & Record<string, string | number | boolean | null>;

export type UploadJob = { "_id": string; "company_id": string; "user_table_id": string | null; "files": Array<{ "original_name": string; "storage_path": string; "size_bytes": number; "mime_type": string }>; "mode": "create" | "append" | "replace" | "upsert"; "evolve": "none" | "add" | "widen"; "status": "queued" | "analisando" | "waiting_confirm" | "inserting" | "done" | "failed"; "inferred_schema": { "suggested_table_name": string; "columns": Array<InferredColumn>; "sample_rows": Array<Record<string, string | number | boolean | null>>; "total_row_count_estimate": number; "ignored_columns"?: Array<InferredColumn>; "new_columns"?: Array<InferredColumn>; "changed_columns"?: Array<{ "name": string; "from": "text" | "integer" | "decimal" | "boolean" | "date" | "datetime"; "to": "text" | "integer" | "decimal" | "boolean" | "date" | "datetime"; "because": { "file": string; "line": number; "value": string | null } }>; "dialect": { "encoding": string; "delimiter": string | null; "quote": string | null; "header": boolean; "skipped_lines": number; "skipped": Array<{ "line": number; "text": string }>; "sheet": string | null; "sheets"?: Array<string> | null }; "problem"?: { "field": string; "message": string } } | null; "confirmed_schema": { "display_name": string; "columns": Array<ConfirmedColumn>; "time_zone": string | null } | null; "progress": { "phase": "queued" | "analisando" | "waiting_confirm" | "inserting" | "done" | "failed"; "rows_processed": number; "rows_total": number | null; "bytes_processed": number; "bytes_total": number } | null; "error": { "code": string; "message": string; "file"?: string; "line"?: number; "column"?: string; "value"?: string | null; "quota"?: string; "limit"?: number; "use"?: number } | null; "key": Array<string> | null; "result": { "inserted": number; "updated": number; "unchanged": number } | null; "undone_at": string | null; "undone_by": string | null; "source_url": string | null; "created_at": string; "updated_at": string };

export type InferredColumn = { "name": string; "display_name": string; "type": "text" | "integer" | "decimal" | "boolean" | "date" | "datetime"; "nullable": boolean; "source_index": number | null; "evidence": { "format": string; "nulls": number; "distinct_sample": Array<string>; "counter_example": { "value": string; "line": number } | null; "not_numbers"?: number } };

export type ManagedTableLoad = { "job_id": string; "mode": "create" | "append" | "replace" | "upsert"; "file_names": Array<string>; "row_count": number; "inserted": number; "updated": number; "loaded_at": string; "loaded_by": string; "undoable": boolean };

export type Concept = { "name": string; "description": string; "type": "term" | "rule" | "entity_hint" | "metric_hint" | "policy_hint"; "aliases": Array<string>; "tags": Array<string>; "source": string | null; "confidence": number | null; "related_catalog_assets": Array<string>; "_id": string; "company_id": string; "status": "draft" | "active" | "archived"; "version": number; "suggestion_id": string | null; "created_by_user_id": string; "updated_by_user_id": string; "created_at": string; "updated_at": string };

export type KnowledgeVersion = { "version": number; "change": "created" | "updated" | "archived" | "restored"; "changed_by_user_id": string; "changed_at": string; "suggestion_id": string | null; "resource": Record<string, unknown> };

export type SemanticItem = { "kind": "entity" | "metric" | "dimension" | "mapping"; "name": string; "description": string; "formula": string | null; "grain": string | null; "filters": Array<string>; "aggregation": string | null; "mapped_tables": Array<string>; "mapped_columns": Array<string>; "mapped_relations": Array<string>; "source_concept_ids": Array<string>; "depends_on_concepts": Array<string>; "depends_on_metrics": Array<string>; "depends_on_entities": Array<string>; "validation_errors": Array<KnowledgeValidationError>; "_id": string; "company_id": string; "status": "draft" | "active" | "archived"; "version": number; "suggestion_id": string | null; "created_by_user_id": string; "updated_by_user_id": string; "created_at": string; "updated_at": string };

export type KnowledgeValidationError = { "field": string; "code": "malformed" | "unknown_table" | "unknown_column" | "does_not_compile" | "nothing_to_compile_on" | "not_checked"; "message": string };

export type MetricResult = { "columns": Array<{ "name": string; "type": "text" | "integer" | "decimal" | "boolean" | "date" | "datetime" }>; "rows": Array<Array<string | number | boolean | null>>; "row_count": number; "truncated": boolean; "sql": string; "used": Array<{ "id": string; "kind": "metric" | "dimension"; "name": string }> };

export type VerifiedQuestion = { "_id": string; "company_id": string; "question": string; "query": MetricQueryOutput; "status": "verified" | "stale" | "archived"; "stale_reason": string | null; "verified_by": string; "verified_at": string; "last_checked_at": string; "created_at": string; "updated_at": string };

export type Answer = { "question_id": string; "kind": "answer" | "clarification" | "refusal"; "query": MetricQueryOutput | null; "result": MetricResult | null; "used": Array<{ "id": string; "kind": "metric" | "dimension"; "name": string }>; "verified_question_id": string | null; "explanation": string; "alternatives": Array<{ "kind": "query" | "metric" | "dimension" | "verified_question"; "id": string | null; "name": string; "query": MetricQueryOutput | null }> };

export type AskedQuestion = { "_id": string; "question": string; "kind": "answer" | "clarification" | "refusal" | "failed"; "query": MetricQueryOutput | null; "explanation": string; "verified_question_id": string | null; "accepted_as": string | null; "asked_by": string; "asked_at": string; "model": string | null; "usage": { "requests": number; "prompt_tokens": number; "completion_tokens": number } };

export type OntologyNode = { "name": string; "description": string; "node_type": "class" | "role" | "event" | "object" | "state"; "parent_node_id": string | null; "aliases": Array<string>; "attributes": Array<string>; "constraints": Array<string>; "source_concepts": Array<string>; "mapped_semantic_entities": Array<string>; "mapped_catalog_assets": Array<string>; "_id": string; "company_id": string; "status": "draft" | "active" | "archived"; "version": number; "suggestion_id": string | null; "created_by_user_id": string; "updated_by_user_id": string; "created_at": string; "updated_at": string };

export type OntologyRelation = { "subject_node_id": string; "predicate": string; "object_node_id": string; "description": string; "cardinality": string | null; "relation_type": string | null; "confidence": number | null; "evidence": Array<string | KnowledgeEvidenceOutput>; "_id": string; "company_id": string; "status": "draft" | "active" | "archived"; "version": number; "suggestion_id": string | null; "created_by_user_id": string; "updated_by_user_id": string; "created_at": string; "updated_at": string };

export type AcceptedSuggestion = { "suggestion": KnowledgeSuggestionOutput; "resource": Record<string, unknown> };

export type ConceptGenerationPrerequisites = { "ready": boolean; "ai_configured": boolean; "business_domains": Array<BusinessDomainOutput>; "accepted_file_types": Array<string>; "missing": Array<string> };

export type OntologyGenerationPrerequisites = { "ready": boolean; "ai_configured": boolean; "connections": Array<{ "connection_id": string; "name": string; "table_count": number }>; "entity_hint_count": number; "missing": Array<string> };

export type AuthorizationServer = { "issuer": string; "authorization_endpoint": string; "token_endpoint": string };

export type ProtectedResource = { "resource": string; "resource_name": string; "resource_documentation": string; "authorization_servers": Array<string>; "bearer_methods_supported": Array<"header">; "scopes_supported": Array<string> };

export type OAuthTokens = { "access_token": string; "token_type": "Bearer"; "expires_in": number; "refresh_token"?: string; "scope": string };

export type McpMessage = { "jsonrpc": "2.0"; "id": string | number | null };

export type DirectoryUser = { "userName"?: string; "displayName"?: string; "name"?: { "formatted"?: string }; "active"?: boolean; "emails"?: Array<{ "value"?: string; "type"?: "work"; "primary"?: true }>; "groups"?: Array<{ "value"?: string; "$ref"?: string; "display"?: string; "type"?: "direct" }>; "meta"?: { "resourceType"?: "User"; "created"?: string; "lastModified"?: string; "location"?: string; "version"?: string }; "schemas": Array<"urn:ietf:params:scim:schemas:core:2.0:User">; "id": string; "externalId"?: string };

export type DirectoryError = { "schemas": Array<"urn:ietf:params:scim:api:messages:2.0:Error">; "status": string; "scimType"?: "invalidFilter" | "tooMany" | "uniqueness" | "mutability" | "invalidSyntax" | "invalidPath" | "noTarget" | "invalidValue" | "invalidVers" | "sensitive"; "detail": string; "details"?: Array<FieldProblem> | Record<string, unknown> };

export type DirectoryGroup = { "displayName"?: string; "members"?: Array<{ "value"?: string; "$ref"?: string; "display"?: string; "type"?: "User" }>; "meta"?: { "resourceType"?: "Group"; "created"?: string; "lastModified"?: string; "location"?: string; "version"?: string }; "schemas": Array<"urn:ietf:params:scim:schemas:core:2.0:Group">; "id": string; "externalId"?: string };

export type DirectoryConfiguration = { "schemas": Array<"urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig">; "documentationUri": string; "patch": { "supported": boolean }; "bulk": { "supported": boolean; "maxOperations": number; "maxPayloadSize": number }; "filter": { "supported": boolean; "maxResults": number }; "changePassword": { "supported": boolean }; "sort": { "supported": boolean }; "etag": { "supported": boolean }; "authenticationSchemes": Array<{ "type": string; "name": string; "description": string; "primary": boolean }>; "meta": { "resourceType": string; "location": string } };

export type DirectoryResourceType = { "schemas": Array<"urn:ietf:params:scim:schemas:core:2.0:ResourceType">; "id": string; "name": string; "endpoint": string; "description": string; "schema": string; "meta": { "resourceType": string; "location": string } };

export type DirectorySchema = { "schemas": Array<"urn:ietf:params:scim:schemas:core:2.0:Schema">; "id": string; "name": string; "description": string; "attributes": Array<{ "name": string; "type": string }>; "meta": { "resourceType": string; "location": string } };

export type ShareContext = { "id": string; "name": string; "slug": string; "description": string; "grants": Array<ShareGrantOutput>; "member_count": number; "created_at": string; "updated_at": string };

export type ShareMember = { "id": string; "member_type": "internal_user" | "group" | "external_email"; "member_id": string | null; "name"?: string; "email": string | null; "attributes"?: Record<string, unknown>; "created_at": string };

export type DashboardShare = { "id": string; "dashboard_id": string; "name": string; "share_type": "link" | "embed"; "share_context_id": string | null; "requires_auth": boolean; "expires_at": string | null; "embed_options": EmbedOptions; "share_filter_policies": Array<FilterPolicyOutput>; "status": "active" | "revoked" | "expired"; "token"?: string; "url"?: string; "created_by": string; "created_at": string; "updated_at": string; "last_accessed_at": string | null; "view_count": number };

export type EmbedOptions = { "allowed_origins": Array<string>; "hide_header": boolean; "hide_controls": boolean; "allow_downloads": boolean };

export type SharedItem = { "id": string; "name": string; "slug": string; "description": string; "layout": Array<{ "visualization_id": string; "x": number; "y": number; "w": number; "h": number }>; "filters": Array<{ "slug": string; "label": string; "kind": "select" | "multi_select" | "text" | "number" | "date" | "date_range"; "default": unknown; "required": boolean }>; "charts": Array<{ "visualization_id": string; "name": string; "description": string; "chart": unknown }> };

export type PortalSignIn = { "access_token": string; "refresh_token": string; "access_token_expires_in": number; "refresh_token_expires_in": number; "user": { "id": string; "email": string; "status": "active" }; "company": { "name": string } };

export type PortalTokens = { "access_token": string; "refresh_token": string; "access_token_expires_in": number; "refresh_token_expires_in": number; "user": { "id": string; "email": string; "status": "active" } };

export type PortalEntry = { "id": string; "name": string; "slug": string; "description": string; "context_id": string };

export type PortalDashboard = { "id": string; "name": string; "slug": string; "description": string; "layout": Array<{ "visualization_id": string; "x": number; "y": number; "w": number; "h": number }>; "filters": Array<{ "slug": string; "label": string; "kind": "select" | "multi_select" | "text" | "number" | "date" | "date_range"; "default": unknown; "required": boolean }>; "charts": Array<{ "visualization_id": string; "name": string; "description": string; "chart": unknown }>; "context_id": string; "allow_downloads": boolean };

export type Embed = { "id": string; "token": string; "url": string; "expires_at": string };

export type CreatedEmbedSigningKey = { "id": string; "created_at": string; "secret": string };

export type EmbedSigningKey = { "id": string; "created_at": string };

export type ShareAnalytics = { "totals": { "resolved": number; "executed": number; "denied": number }; "unique_viewers": number; "series": Array<{ "start": string; "resolved": number; "executed": number; "denied": number; "unique_viewers": number }>; "top": { "shares": Array<{ "key": string; "label": string; "count": number }>; "dashboards": Array<{ "key": string; "label": string; "count": number }>; "viewers": Array<{ "key": string; "label": string; "count": number }>; "countries": Array<{ "key": string; "label": string; "count": number }> } };

export type SocialConfigurationOutput = { "providers": Array<{ "issuer": string; "audience": string; "jwks_uri"?: string; "trust_email"?: boolean }> };

export type ChartOutput = { "type": "table" | "line" | "bar" | "area" | "pie" | "number" | "scatter"; "x": string | null; "y": Array<string>; "series": string | null; "options": Record<string, unknown> };

export type WidgetOutput = { "visualization_id": string; "x": number; "y": number; "w": number; "h": number };

export type ScheduleRecipientOutput = { "user_id"?: string; "email"?: string };

export type ScheduleConditionOutput = { "visualization_id": string; "column": string; "op": "gt" | "gte" | "lt" | "lte" | "eq" | "ne" | "changed"; "value": string | number | boolean | null };

export type BusinessDomainsOutput = { "business_domains": Array<BusinessDomainOutput> };

export type BusinessDomainOutput = { "key": string; "name": string; "description": string | "" };

export type MetricQueryOutput = { "metrics": Array<string>; "dimensions": Array<string>; "filters": Array<{ "dimension": string; "op": "eq" | "ne" | "gt" | "gte" | "lt" | "lte" | "in" | "nin" | "contains" | "starts_with" | "is_null"; "values": Array<unknown> }>; "time_grain": "day" | "week" | "month" | "quarter" | "year" | null; "order_by": Array<{ "by": string; "descending": boolean }>; "limit": number };

export type KnowledgeEvidenceOutput = { "source": "text" | "catalog" | "concept" | "business_domain"; "quote": string | null; "table": string | null; "column": string | null };

export type KnowledgeSuggestionOutput = { "_id": string; "company_id": string; "target_type": "concept" | "concept_create" | "semantic" | "semantic_create" | "ontology_node" | "ontology_node_create" | "ontology_relation" | "ontology_relation_create"; "target_id": string | null; "target_version": number | null; "target_name": string; "concept_id": string | null; "concept_name": string | null; "suggested_payload": Record<string, unknown>; "explanation": string; "evidence": Array<KnowledgeEvidenceOutput>; "confidence": number | null; "model": string; "prompt_version": string; "status": "pending" | "accepted" | "rejected" | "superseded"; "request_id": string; "job_id": string | null; "review_note": string | null; "reviewed_by_user_id": string | null; "reviewed_at": string | null; "resource_id": string | null; "created_by_user_id": string; "created_at": string; "updated_at": string };

export type KnowledgeDocumentOutput = { "format"?: "data-console-knowledge/1"; "concepts": Array<{ "name": string; "description": string; "type"?: "term" | "rule" | "entity_hint" | "metric_hint" | "policy_hint"; "aliases"?: Array<string>; "tags"?: Array<string>; "source"?: string | null; "confidence"?: number | null; "related_catalog_assets"?: Array<string> }>; "semantic": Array<{ "kind": "entity" | "metric" | "dimension" | "mapping"; "name": string; "description": string; "formula"?: string | null; "grain"?: string | null; "filters"?: Array<string>; "aggregation"?: string | null; "mapped_tables"?: Array<string>; "mapped_columns"?: Array<string>; "mapped_relations"?: Array<string>; "source_concepts"?: Array<string>; "depends_on_concepts"?: Array<string>; "depends_on_metrics"?: Array<string>; "depends_on_entities"?: Array<string> }>; "nodes": Array<{ "name": string; "description": string; "node_type"?: "class" | "role" | "event" | "object" | "state"; "aliases"?: Array<string>; "attributes"?: Array<string>; "constraints"?: Array<string>; "mapped_catalog_assets"?: Array<string>; "parent_node"?: { "node_type": "class" | "role" | "event" | "object" | "state"; "name": string } | null; "source_concepts"?: Array<string>; "mapped_semantic_entities"?: Array<string> }>; "relations": Array<{ "predicate": string; "description": string; "cardinality"?: string | null; "relation_type"?: string | null; "confidence"?: number | null; "evidence"?: Array<string | KnowledgeEvidenceOutput>; "subject": { "node_type": "class" | "role" | "event" | "object" | "state"; "name": string }; "object": { "node_type": "class" | "role" | "event" | "object" | "state"; "name": string } }> };

export type ShareGrantOutput = { "target_type": "dashboard" | "visualization"; "target_id": string; "filter_policies": Array<FilterPolicyOutput> };

export type FilterPolicyOutput = { "filter_slug": string; "filter_kind": "select" | "multi_select" | "text" | "number" | "date" | "date_range"; "mode": "selectable" | "locked" | "hidden"; "allowed_values": Array<string> };
