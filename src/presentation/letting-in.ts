/** What the page of `/oauth/authorize` and `/oauth/device` is told. JSON, as it travels. */
export interface LetInView {
  /** What a program asks for; null while its code is to be typed, or where nothing can be asked. */
  asked: AskedView | null;
  /** Why nothing can be asked: who asks is not known, or is not to be redirected there. */
  problem: 'client' | 'redirect' | null;
  /** The code that the address of `/oauth/device` brought along. */
  user_code: string | null;
  /** Whose people it is about; null as long as nobody has said. */
  company: {
    slug: string;
    name: string;
    /** It has an identity provider. */
    sso: boolean;
    sso_only: boolean;
    /** Issuers of whom the company takes ID tokens. */
    social: string[];
    /** Of passkeys that can be used on this page; null where none can. */
    passkey_domain: string | null;
  } | null;
}

/** A program, and what it asks for. */
export interface AskedView {
  /** Names what is asked for to POST /v1/oauth-grants. */
  request: string;
  client: {
    name: string;
    /** Where it is, or leads back to; null where that is not known. */
    host: string | null;
    /** Administrators of the company registered it. */
    is_registered: boolean;
  };
  scopes: string[];
  /** Nothing can be changed with these scopes. */
  only_reads: boolean;
  resource: 'api' | 'mcp';
}
