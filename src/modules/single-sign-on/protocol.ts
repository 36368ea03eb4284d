/** The identity of the person that the provider describes. */
export interface Identity {
  /** The email address that the provider gives, not validated. */
  email: unknown;
  /** The name that the provider gives, not validated. */
  name: unknown;
  /** An assertion that must not be accepted twice: its id, and until when (ms) it is valid. */
  singleUseAssertion?: { id: string; validUntil: number };
}

/** The HTTP method by which the browser brings the provider's answer. */
export type CallbackMethod = 'GET' | 'POST';

/** The protocol of a sign-in with an identity provider, OpenID Connect or SAML. */
export interface Protocol {
  /** Returns the URL to open at the provider, with `state`, and the values that the provider's answer must match. */
  beginSignIn(state: string): Promise<{ url: string; expectation: string }>;
  /**
   * Verifies the provider's answer: it must not be forged, stale or meant for another request or recipient. @param
   * expectation the value that `beginSignIn` returned @throws SignInRefusal, or any error of the library or the network
   */
  finishSignIn(state: string, expectation: string, answer: URLSearchParams, method: CallbackMethod): Promise<Identity>;
}
