import type { Access } from './evaluation.ts';

/** A program that somebody let in. The scopes of `access` bound its permissions. */
export interface Client {
  /** The id by which the program names itself when it asks for tokens. */
  id: string;
  /** The grant that its person gave; null where it came with the key of a service account. */
  grantId: string | null;
}

/** A person with a session token, or a program that they let in. */
export interface UserActor {
  kind: 'user';
  id: string;
  companyId: string;
  companySlug: string;
  email: string;
  name: string;
  isOwner: boolean;
  /** The grant's, where a program acts. */
  sessionId: string;
  client?: Client;
  access: Access;
}

/** A program with a signing key, or with a service token that was exchanged for a request signed with it. */
export interface ServiceAccountActor {
  kind: 'service_account';
  id: string;
  companyId: string;
  companySlug: string;
  accountId: string;
  name: string;
  keyId: string;
  /** The public half of its key. */
  accessKey: string;
  client?: Client;
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

/** The caller who holds the token of a share or of an embed. `Opened` is the data behind the token that its module found. */
export interface ViewerActor<Opened = unknown> {
  kind: 'viewer';
  companyId: string;
  /** The id under which the token's requests are counted; never the token itself. */
  tokenId: string;
  /** Origins whose pages may use the token; none are named where all may. */
  allowedOrigins: readonly string[];
  opened: Opened;
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
