import { refused } from './failures.ts';

/** Real responses are 5 to 20 KB; those with long lists of groups reach 100. */
const LARGEST_XML = 256 * 1024;
const MOST_TAGS = 3000;
const MOST_NAMESPACES = 1000;
const DEEPEST_ELEMENT = 64;

/** Signatures and digests that can be forged with money (SHA-1) or with the public key (HMAC). */
const WEAK_ALGORITHM = /xmldsig#(?:sha1|(?:rsa|dsa|hmac)-sha1)\b/;

/**
 * The base64 of a SAML response, when its XML is one that a parser can be given without harm: no larger or deeper than real
 * ones, and without anything that makes parsers read a document differently from each other (document types and their
 * entities, comments, CDATA, processing instructions), for which SAML has no use.
 * @throws Failure `sso.invalid_response`
 */
export function readSamlResponse(encoded: string | null): string {
  if (encoded === null || encoded.length > Math.ceil(LARGEST_XML / 3) * 4 + 4096) {
    throw refused('invalid_response', 'There is no SAMLResponse, or it is too large.');
  }
  const xml = decoded(encoded);
  const problem =
    (/<!/.test(xml) && 'a document type, a comment or CDATA') ||
    (/<\?(?!xml\s)/.test(xml) && 'a processing instruction') ||
    (WEAK_ALGORITHM.test(xml) && 'an algorithm that is not accepted') ||
    (isExcessive(xml) && 'malformed, too many or too deep elements');
  if (problem) throw refused('invalid_response', `The SAML response has ${problem}.`);
  return encoded;
}

function decoded(encoded: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      Uint8Array.fromBase64(encoded.replaceAll(/\s/g, '')),
    );
  } catch {
    throw refused('invalid_response', 'The SAMLResponse is not base64 of UTF-8.');
  }
}

/** One tag with its attributes. Nothing in it can match twice, so that the search takes linear time. */
const TAG = /<(?:"[^"<]*"|'[^'<]*'|[^'"<>])*>/g;

function isExcessive(xml: string): boolean {
  const tags = xml.match(TAG) ?? [];
  // A `<` that begins no tag is not XML, and would hide from this count.
  if (tags.length > MOST_TAGS || tags.length !== xml.split('<').length - 1) return true;
  if (xml.split('xmlns').length - 1 > MOST_NAMESPACES) return true;
  let depth = 0;
  for (const tag of tags) {
    if (tag.startsWith('</')) depth -= 1;
    else if (!tag.endsWith('/>') && !tag.startsWith('<?')) depth += 1;
    if (depth > DEEPEST_ELEMENT) return true;
  }
  return false;
}
