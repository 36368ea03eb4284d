import type { XmlElement } from './saml-xml.ts';

const SHA2 = [
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
];
const CANONICAL = [
  'http://www.w3.org/TR/2001/REC-xml-c14n-20010315',
  'http://www.w3.org/2001/10/xml-exc-c14n#',
  'http://www.w3.org/2001/10/xml-exc-c14n#WithComments',
];

/** The algorithms that a signature may use. Others are not safe: SHA-1 has collisions, and HMAC takes the public key. */
const ACCEPTED: Record<string, readonly string[]> = {
  SignatureMethod: SHA2,
  DigestMethod: ['http://www.w3.org/2001/04/xmlenc#sha256', 'http://www.w3.org/2001/04/xmlenc#sha512'],
  CanonicalizationMethod: CANONICAL,
  Transform: [...CANONICAL, 'http://www.w3.org/2000/09/xmldsig#enveloped-signature'],
};

/**
 * Whether every signature of a document uses accepted algorithms only. Elements and attributes are found by their local names
 * anywhere in the document, so that whichever the library reads is accepted.
 */
export function areSignaturesStrong(root: XmlElement): boolean {
  return Array.from(root.getElementsByTagName('*')).every((element) => {
    const accepted = Object.hasOwn(ACCEPTED, element.localName) ? ACCEPTED[element.localName] : undefined;
    if (!accepted) return true;
    const named = Array.from(element.attributes).filter(({ localName }) => localName === 'Algorithm');
    return named.length === 1 && named.every(({ value }) => accepted.includes(value));
  });
}
