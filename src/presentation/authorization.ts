/** The data for the authorization pages `/oauth/authorize` and `/oauth/device`, in the JSON that is sent. */
export interface AuthorizationView {
  /** The OAuth client's request; null until the device code is entered, or where the user cannot be asked. */
  asked: AuthorizationRequestView | null;
  /** The reason why the user cannot be asked for consent: the OAuth client is unknown, or its redirect URI is not allowed. */
  problem: 'client' | 'redirect' | null;
  /** The user code in the URL of `/oauth/device`, if any. */
  user_code: string | null;
  /** The company whose users may consent; null until its name is entered. */
  company: {
    slug: string;
    name: string;
    /** Whether the company has an identity provider. */
    sso: boolean;
    sso_only: boolean;
    /** The issuers whose ID tokens the company accepts. */
    social: string[];
    /** The domain of the passkeys that can be used on this page; null where none can. */
    passkey_domain: string | null;
  } | null;
}

/** An OAuth client and its authorization request. */
export interface AuthorizationRequestView {
  /** The signed request, in the form that POST /v1/oauth-grants takes. */
  request: string;
  client: {
    name: string;
    /** The host of the client, or of its redirect URI; null if neither is known. */
    host: string | null;
    /** Whether administrators of the company registered the client. */
    is_registered: boolean;
  };
  scopes: string[];
  /** Whether these scopes allow no changes. */
  only_reads: boolean;
  resource: 'api' | 'mcp';
}
