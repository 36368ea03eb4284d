import type { XmlElement } from './saml-xml.ts';

const SHA2_ALGORITHMS = [
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
];
const CANONICAL_ALGORITHMS = [
  'http://www.w3.org/TR/2001/REC-xml-c14n-20010315',
  'http://www.w3.org/2001/10/xml-exc-c14n#',
  'http://www.w3.org/2001/10/xml-exc-c14n#WithComments',
];

/**
 * The algorithms that each part of a signature may use. Others are not safe: SHA-1 has collisions, and HMAC takes the public key.
 */
const ACCEPTED_ALGORITHMS: Record<string, readonly string[]> = {
  SignatureMethod: SHA2_ALGORITHMS,
  DigestMethod: ['http://www.w3.org/2001/04/xmlenc#sha256', 'http://www.w3.org/2001/04/xmlenc#sha512'],
  CanonicalizationMethod: CANONICAL_ALGORITHMS,
  Transform: [...CANONICAL_ALGORITHMS, 'http://www.w3.org/2000/09/xmldsig#enveloped-signature'],
};

/**
 * Tells whether every signature of a document uses accepted algorithms only. Elements and attributes are found by their local
 * names anywhere in the document, so that those which the library reads are checked, too.
 */
export function areSignaturesStrong(root: XmlElement): boolean {
  return Array.from(root.getElementsByTagName('*')).every((element) => {
    const acceptedAlgorithms = Object.hasOwn(ACCEPTED_ALGORITHMS, element.localName)
      ? ACCEPTED_ALGORITHMS[element.localName]
      : undefined;
    if (!acceptedAlgorithms) return true;
    const algorithmAttributes = Array.from(element.attributes).filter(({ localName }) => localName === 'Algorithm');
    return (
      algorithmAttributes.length === 1 && algorithmAttributes.every(({ value }) => acceptedAlgorithms.includes(value))
    );
  });
}
