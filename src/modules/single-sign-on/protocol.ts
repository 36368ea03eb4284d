/** The person as the provider describes them. */
export interface Identity {
  /** As the provider gives it, not validated. */
  email: unknown;
  /** As the provider gives it, not validated. */
  name: unknown;
  /** An assertion that must not be accepted twice: its id, and until when (ms) it is valid. */
  once?: { id: string; until: number };
}

/** The method of the browser's request with the provider's answer. */
export type CallbackMethod = 'GET' | 'POST';

/** A sign-in with an identity provider, in OpenID Connect or SAML. */
export interface Protocol {
  /** The address to open at the provider, with `state`, and the values that its answer must match. */
  begin(state: string): Promise<{ url: string; expectation: string }>;
  /**
   * Verifies the provider's answer: it must not be forged, stale or meant for another request or recipient.
   * @param expectation as `begin` gave it
   * @throws SignInRefusal, or any error of the library or the network
   */
  finish(state: string, expectation: string, answer: URLSearchParams, method: CallbackMethod): Promise<Identity>;
}
