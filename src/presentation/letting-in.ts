/** The data for the page of `/oauth/authorize` and `/oauth/device`. JSON, as it travels. */
export interface LetInView {
  /** The request of a program; null while its code is to be typed, or where the person cannot be asked. */
  asked: AskedView | null;
  /** The reason why the person cannot be asked: the program is not known, or they are not to be redirected there. */
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
