import { SignInRefusal } from './failures.ts';
import {
  ASSERTION_NAMESPACE,
  isNamed,
  listChildrenNamed,
  PROTOCOL_NAMESPACE,
  parseXml,
  readAttribute,
  readText,
  requireOnlyChild,
  type XmlElement,
} from './saml-xml.ts';

/** The maximum size of a response's XML in bytes. Real responses are 5 to 20 KB; those with long lists of groups reach 100. */
const MAX_XML_BYTES = 256 * 1024;
const MAX_TAGS = 3000;
const MAX_NAMESPACES = 1000;
const MAX_ELEMENT_DEPTH = 64;

const SUCCESS_STATUS = 'urn:oasis:names:tc:SAML:2.0:status:Success';
const SIGNATURE_NAMESPACE = 'http://www.w3.org/2000/09/xmldsig#';

/**
 * Parses a SAML response, given in base64. Rejects before parsing responses larger or deeper than real ones, and constructs that
 * parsers read differently and SAML does not use: document types, comments, CDATA, processing instructions. Also rejects
 * signatures with algorithms that are not accepted. @throws Error
 */
export function readSamlResponse(encodedResponse: string | null): XmlElement {
  if (encodedResponse === null || encodedResponse.length > Math.ceil(MAX_XML_BYTES / 3) * 4 + 4096) {
    throw new SignInRefusal('invalid_response', 'There is no SAMLResponse, or it is too large.');
  }
  const xml = decodeResponse(encodedResponse);
  const problem =
    (/<!/.test(xml) && 'a document type, a comment or CDATA') ||
    (/<\?(?!xml\s)/.test(xml) && 'a processing instruction') ||
    (isExcessive(xml) && 'malformed, too many or too deep elements');
  if (problem) throw new SignInRefusal('invalid_response', `The SAML response has ${problem}.`);
  const root = parseXml(xml);
  if (!areSignaturesStrong(root)) {
    throw new SignInRefusal(
      'invalid_response',
      'A signature of the SAML response names an algorithm that is not accepted.',
    );
  }
  return root;
}

/**
 * Verifies a response apart from its assertion (SAML profiles §4.1.4.2, bindings §3.5.5.2): it must be sent to our callback URL,
 * answer this request, come from this provider and report success. @throws Error
 */
export function checkResponse(
  root: XmlElement,
  expectedValues: { issuer: string; destination: string; requestId: string },
): void {
  if (!isNamed(root, PROTOCOL_NAMESPACE, 'Response') || readAttribute(root, 'Version') !== '2.0') {
    throw new Error('This is no response of SAML 2.0.');
  }
  const status = readAttribute(
    requireOnlyChild(requireOnlyChild(root, PROTOCOL_NAMESPACE, 'Status'), PROTOCOL_NAMESPACE, 'StatusCode'),
    'Value',
  );
  if (status !== SUCCESS_STATUS) throw new SignInRefusal('access_denied', new Error(`The provider reports ${status}.`));
  if (readAttribute(root, 'InResponseTo') !== expectedValues.requestId)
    throw new Error('The response answers another request.');
  // A response that is not signed itself may leave out destination and issuer: its assertion has both.
  const isSigned = listChildrenNamed(root, SIGNATURE_NAMESPACE, 'Signature').length > 0;
  const destination = readAttribute(root, 'Destination');
  if (destination === null ? isSigned : destination !== expectedValues.destination) {
    throw new Error('The response is for another destination.');
  }
  const issuers = listChildrenNamed(root, ASSERTION_NAMESPACE, 'Issuer');
  if (
    issuers.length > 1 ||
    (issuers.length === 0 && isSigned) ||
    issuers.some((it) => readText(it) !== expectedValues.issuer)
  ) {
    throw new Error('The response is from another issuer.');
  }
}

function decodeResponse(encodedResponse: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      Uint8Array.fromBase64(encodedResponse.replaceAll(/\s/g, '')),
    );
  } catch {
    throw new SignInRefusal('invalid_response', 'The SAMLResponse is not base64 of UTF-8.');
  }
}

/** The pattern of a tag with its attributes. It matches in only one way, so that the search takes linear time. */
const TAG_PATTERN = /<(?:"[^"<]*"|'[^'<]*'|[^'"<>])*>/g;

function isExcessive(xml: string): boolean {
  const tags = xml.match(TAG_PATTERN) ?? [];
  // A `<` that begins no tag is not XML, and would not be counted.
  if (tags.length > MAX_TAGS || tags.length !== xml.split('<').length - 1) return true;
  if (xml.split('xmlns').length - 1 > MAX_NAMESPACES) return true;
  let depth = 0;
  for (const tag of tags) {
    if (tag.startsWith('</')) depth -= 1;
    else if (!tag.endsWith('/>') && !tag.startsWith('<?')) depth += 1;
    if (depth > MAX_ELEMENT_DEPTH) return true;
  }
  return false;
}

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

/** The algorithms that each part of a signature may use: no others, as SHA-1 has collisions, and HMAC takes the public key. */
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
function areSignaturesStrong(root: XmlElement): boolean {
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
