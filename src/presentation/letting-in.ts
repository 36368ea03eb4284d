/** The data for the page of `/oauth/authorize` and `/oauth/device`. JSON, as it travels. */
export interface LetInView {
  /** The OAuth client's request; null until the device code is entered, or where the user cannot be asked. */
  asked: AskedView | null;
  /** Why the user cannot be asked for consent: the OAuth client is unknown, or its redirect URI is not allowed. */
  problem: 'client' | 'redirect' | null;
  /** The code that the address of `/oauth/device` brought along. */
  user_code: string | null;
  /** The company whose people are asked; null as long as nobody has named it. */
  company: {
    slug: string;
    name: string;
    /** Whether it has an identity provider. */
    sso: boolean;
    sso_only: boolean;
    /** Issuers of whom the company takes ID tokens. */
    social: string[];
    /** The domain of passkeys that can be used on this page; null where none can. */
    passkey_domain: string | null;
  } | null;
}

/** An OAuth client and its authorization request. */
export interface AskedView {
  /** The signed request, as POST /v1/oauth-grants takes it. */
  request: string;
  client: {
    name: string;
    /** The host of the client, or of its redirect URI; null if neither is known. */
    host: string | null;
    /** Administrators of the company registered it. */
    is_registered: boolean;
  };
  scopes: string[];
  /** Whether nothing can be changed with these scopes. */
  only_reads: boolean;
  resource: 'api' | 'mcp';
}
