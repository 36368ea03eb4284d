import type { Access } from './evaluation.ts';

/** An OAuth client that a user authorized. Its permissions are limited by the scopes in `access`. */
export interface OAuthClient {
  /** The client id. */
  id: string;
  /** The id of the grant by which the user authorized it; null for a client that authenticates with a service account's key. */
  grantId: string | null;
}

/** A user with a session token, or an OAuth client that acts for the user. */
export interface UserActor {
  kind: 'user';
  id: string;
  companyId: string;
  companySlug: string;
  email: string;
  name: string;
  isOwner: boolean;
  /** The id of the session; if an OAuth client acts, the id of its grant. */
  sessionId: string;
  client?: OAuthClient;
  access: Access;
}

/** A service account with an API key, or with a service token obtained by a request signed with that key. */
export interface ServiceAccountActor {
  kind: 'service_account';
  id: string;
  companyId: string;
  companySlug: string;
  accountId: string;
  name: string;
  keyId: string;
  /** The public half of the API key. */
  accessKey: string;
  client?: OAuthClient;
  access: Access;
}

/** A person from outside the company, known by an email address that a code was sent to. */
export interface OutsiderActor {
  kind: 'outsider';
  id: string;
  companyId: string;
  companySlug: string;
  email: string;
  sessionId: string;
}

/** The holder of the token of a share or embed. `TokenRecord` is what the token's module found for it. */
export interface ViewerActor<TokenRecord = unknown> {
  kind: 'viewer';
  companyId: string;
  /** The id under which the token's requests are counted; never the token itself. */
  tokenId: string;
  /** Origins whose pages may use the token; an empty list allows all. */
  allowedOrigins: readonly string[];
  tokenRecord: TokenRecord;
}

/** The platform's operator, who creates organizations and belongs to none. */
export interface OperatorActor {
  kind: 'operator';
}

export interface AnonymousActor {
  kind: 'anonymous';
}

/** Background work on behalf of a company: queue messages and scheduled runs. */
export interface SystemActor {
  kind: 'system';
  companyId: string;
}

export type Principal = UserActor | ServiceAccountActor;
export type Actor = Principal | OutsiderActor | ViewerActor | OperatorActor | AnonymousActor | SystemActor;
