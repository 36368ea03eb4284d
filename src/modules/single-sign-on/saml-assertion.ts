import {
  ASSERTION_NAMESPACE,
  isNamed,
  listChildElements,
  listChildrenNamed,
  readAttribute,
  readText,
  requireOnlyChild,
  type XmlElement,
} from './saml-xml.ts';

const BEARER_METHOD = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';

/** Conditions that need no check: node-saml verifies audiences, each assertion is accepted once, and we make none ourselves. */
const SUPPORTED_CONDITIONS = ['AudienceRestriction', 'OneTimeUse', 'ProxyRestriction'];

/** The kinds of identifier that a subject can have. */
const IDENTIFIER_ELEMENTS = ['NameID', 'BaseID', 'EncryptedID'];

export interface VerifiedAssertion {
  id: string;
  /** The time (ms) until which the assertion is valid. */
  validUntil: number;
  nameId: string;
  /** The text values of each attribute, in their order, by the attribute's names in lower case. */
  attributes: Map<string, string[]>;
}

/**
 * Verifies the content of an assertion whose signature, audience and time are already verified (SAML core §2, profiles §4.1.4.3):
 * it must be from this provider, have one subject and known conditions, and be confirmed for its bearer. @throws Error
 */
export function readAssertion(
  assertion: XmlElement,
  expectedValues: { issuer: string; requestId: string; recipient: string; now: number; skew: number },
): VerifiedAssertion {
  if (!isNamed(assertion, ASSERTION_NAMESPACE, 'Assertion') || readAttribute(assertion, 'Version') !== '2.0') {
    throw new Error('This is no assertion of SAML 2.0.');
  }
  const id = readAttribute(assertion, 'ID');
  if (!id) throw new Error('The assertion has no ID.');
  if (readText(requireOnlyChild(assertion, ASSERTION_NAMESPACE, 'Issuer')) !== expectedValues.issuer) {
    throw new Error('The assertion is from another issuer.');
  }
  const conditions = listChildElements(requireOnlyChild(assertion, ASSERTION_NAMESPACE, 'Conditions'));
  if (
    !conditions.every((condition) => SUPPORTED_CONDITIONS.some((name) => isNamed(condition, ASSERTION_NAMESPACE, name)))
  ) {
    throw new Error('The assertion has a condition that is not understood.');
  }
  const subject = requireOnlyChild(assertion, ASSERTION_NAMESPACE, 'Subject');
  const identifiers = listChildElements(subject).filter(({ localName }) => IDENTIFIER_ELEMENTS.includes(localName));
  if (identifiers.length !== 1) throw new Error('The subject has not exactly one identifier.');
  return {
    id,
    validUntil: readConfirmationEnd(subject, expectedValues),
    nameId: readText(requireOnlyChild(subject, ASSERTION_NAMESPACE, 'NameID')),
    attributes: readAttributes(assertion),
  };
}

/** Reads the end (ms) of the bearer confirmation for this recipient and request. */
function readConfirmationEnd(
  subject: XmlElement,
  expectedValues: { requestId: string; recipient: string; now: number; skew: number },
): number {
  for (const confirmation of listChildrenNamed(subject, ASSERTION_NAMESPACE, 'SubjectConfirmation')) {
    const [data] = listChildrenNamed(confirmation, ASSERTION_NAMESPACE, 'SubjectConfirmationData');
    if (!data || readAttribute(confirmation, 'Method') !== BEARER_METHOD) continue;
    const expiresAt = Date.parse(readAttribute(data, 'NotOnOrAfter') ?? '') + expectedValues.skew;
    const notBefore = readAttribute(data, 'NotBefore');
    const hasBegun = notBefore === null || Date.parse(notBefore) <= expectedValues.now + expectedValues.skew;
    if (
      readAttribute(data, 'Recipient') === expectedValues.recipient &&
      readAttribute(data, 'InResponseTo') === expectedValues.requestId &&
      hasBegun &&
      expectedValues.now < expiresAt
    ) {
      return expiresAt;
    }
  }
  throw new Error('No bearer confirmation of the assertion is for this recipient, request and time.');
}

function readAttributes(assertion: XmlElement): Map<string, string[]> {
  const attributes = new Map<string, string[]>();
  for (const statement of listChildrenNamed(assertion, ASSERTION_NAMESPACE, 'AttributeStatement')) {
    for (const element of listChildrenNamed(statement, ASSERTION_NAMESPACE, 'Attribute')) {
      const names = ['Name', 'FriendlyName'].map((name) => (readAttribute(element, name) ?? '').trim().toLowerCase());
      // Values may have any structure; those that we read are text.
      const values = listChildrenNamed(element, ASSERTION_NAMESPACE, 'AttributeValue').filter(
        (value) => listChildElements(value).length === 0,
      );
      for (const name of new Set(names))
        attributes.set(name, [...(attributes.get(name) ?? []), ...values.map((value) => readText(value))]);
    }
  }
  return attributes;
}
