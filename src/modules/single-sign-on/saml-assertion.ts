/** An element as node-saml's parser gives it: attributes in `$`, text in `_`, children in lists under their local names. */
export interface Element {
  $?: Record<string, string>;
  _?: string;
}

/** The parts of a verified assertion that are looked at here. */
export interface AssertionXml {
  $: { ID: string };
  Issuer?: Element[];
  Subject?: { NameID?: Element[]; SubjectConfirmation?: (Element & { SubjectConfirmationData?: Element[] })[] }[];
}

const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';

export const textOf = (element: Element | undefined): string | undefined => element?._?.trim() || undefined;

/**
 * The confirmation by which the assertion may be used here and now (SAML profiles §4.1.4.3): a bearer's, for this recipient,
 * in answer to this request, not yet expired.
 * @returns until when (ms) the assertion would be accepted
 * @throws Error when there is none
 */
export function bearerConfirmation(
  assertion: AssertionXml,
  expected: { requestId: string; recipient: string; now: number; skew: number },
): { until: number } {
  if (!assertion.$.ID) throw new Error('The assertion has no ID.');
  for (const confirmation of assertion.Subject?.[0]?.SubjectConfirmation ?? []) {
    const data = confirmation.SubjectConfirmationData?.[0]?.$;
    if (!data || confirmation.$?.Method !== BEARER) continue;
    const until = Date.parse(data.NotOnOrAfter ?? '') + expected.skew;
    const begun = data.NotBefore === undefined || Date.parse(data.NotBefore) <= expected.now + expected.skew;
    if (
      data.Recipient === expected.recipient &&
      data.InResponseTo === expected.requestId &&
      begun &&
      expected.now < until
    ) {
      return { until };
    }
  }
  throw new Error('No bearer confirmation of the assertion is for this recipient, request and time.');
}
