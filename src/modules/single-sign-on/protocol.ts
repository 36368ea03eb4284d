/** Who the provider says the person is. */
export interface Identity {
  /** As the provider gives it; not yet checked to be an address. */
  email: unknown;
  /** The display name, if the provider tells one. */
  name: unknown;
  /** A statement that must not be accepted twice: its id, and until when (ms) it would be. */
  once?: { id: string; until: number };
}

/** How the person's browser brought the provider's answer. */
export type AnswerMethod = 'GET' | 'POST';

/** One sign-in through a company's identity provider, in whichever protocol it speaks. */
export interface Protocol {
  /**
   * Where to send the person, carrying `state`, and what the answer must then fit.
   */
  begin(state: string): Promise<{ url: string; expectation: string }>;
  /**
   * Checks the provider's answer: everything about it that can be forged, stale or meant for another.
   * @param expectation as `begin` gave it
   * @throws SignInRefusal, or any error of the library or the network
   */
  finish(state: string, expectation: string, answer: URLSearchParams, method: AnswerMethod): Promise<Identity>;
}
