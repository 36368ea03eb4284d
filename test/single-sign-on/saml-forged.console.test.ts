import { describe, expect, it } from 'vitest';
import { callApi } from '../support/api.ts';
import { createAllowedUser } from '../support/companies.ts';
import {
  type AuthnRequest,
  createSigner,
  encodeBase64,
  formatAssertion,
  formatResponse,
  makeValidStatement,
  readAuthnRequest,
  signElement,
} from '../support/saml-idp.ts';
import { createSamlProvider, IDP_ENTITY_ID, REFUSED_REDIRECT, readSignedInEmail } from './saml-world.ts';
import { answerByForm, answerByRedirect, readRedirect, startSignIn } from './support.ts';

const samlProvider = await createSamlProvider();
const company = samlProvider.company;
/** A user who can sign in legitimately, and tries to become the owner. */
const attacker: { id: string; email: string } = await createAllowedUser(company);

describe('the signature of a SAML response', () => {
  const makeUnsignedResponse = (request: AuthnRequest) => {
    const statement = makeValidStatement(request, IDP_ENTITY_ID, company.owner.email);
    return formatResponse(statement, formatAssertion(statement));
  };

  it('must be present', async () => {
    expect(readRedirect(await samlProvider.answerRequest(makeUnsignedResponse))).toEqual(REFUSED_REDIRECT);
  });

  it('must be on the assertion, not on the response alone', async () => {
    expect(
      readRedirect(
        await samlProvider.answerRequest((request) =>
          signElement(makeUnsignedResponse(request), 'Response', samlProvider.signer),
        ),
      ),
    ).toEqual(REFUSED_REDIRECT);
  });

  it('must be of a configured certificate, whatever certificate it contains', async () => {
    const otherSigner = await createSigner();
    expect(
      readRedirect(
        await samlProvider.answerRequest((request) =>
          signElement(makeUnsignedResponse(request), 'Assertion', otherSigner),
        ),
      ),
    ).toEqual(REFUSED_REDIRECT);
  });

  it.each([
    [
      'SHA-1',
      { signature: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1', digest: 'http://www.w3.org/2000/09/xmldsig#sha1' },
    ],
    [
      'a SHA-1 digest',
      {
        signature: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
        digest: 'http://www.w3.org/2000/09/xmldsig#sha1',
      },
    ],
  ])('must not use %s', async (_what, algorithms) => {
    expect(
      readRedirect(
        await samlProvider.answerRequest((request) =>
          signElement(makeUnsignedResponse(request), 'Assertion', samlProvider.signer, algorithms),
        ),
      ),
    ).toEqual(REFUSED_REDIRECT);
  });

  it.each([
    'http://www.w3.org/2000/09/xmldsig&#x23;',
    'http://www.w3.org/2000/09/xmldsig&#35;',
    'http://www.w3.org/2000/09/&#120;mldsig#',
  ])('must not use SHA-1 in any spelling: %s', async (spelling) => {
    const sha1Algorithms = {
      signature: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1',
      digest: 'http://www.w3.org/2000/09/xmldsig#sha1',
    };
    const callbackAnswer = await samlProvider.answerRequest((request) => {
      const signedResponse = signElement(
        makeUnsignedResponse(request),
        'Assertion',
        samlProvider.signer,
        sha1Algorithms,
      );
      // What is signed says the same: canonical XML writes the character itself.
      return signedResponse.replaceAll(/http:\/\/www\.w3\.org\/2000\/09\/xmldsig#(?=(?:rsa-)?sha1)/g, spelling);
    });
    expect(readRedirect(callbackAnswer)).toEqual(REFUSED_REDIRECT);
  });

  it.each<[string, (xml: string) => string]>([
    ['the address', (xml) => xml.replace(attacker.email, company.owner.email)],
    ['the audience', (xml) => xml.replace('</saml:Audience>', 'x</saml:Audience>')],
    ['the digest', (xml) => xml.replace(/<ds:DigestValue>[^<]*/, `<ds:DigestValue>${'A'.repeat(43)}=`)],
    ['the signature', (xml) => xml.replace(/<ds:SignatureValue>[^<]*/, '<ds:SignatureValue>AAAA')],
    [
      'a comment that splits the address',
      (xml) => xml.replace(attacker.email, attacker.email.replace('@', '<!---->@')),
    ],
    ['a second assertion', (xml) => xml.replace('</samlp:Response>', `${makeForgedAssertion(xml)}</samlp:Response>`)],
  ])('is invalid after a change of %s', async (_what, change) => {
    expect(
      readRedirect(
        await samlProvider.answerRequest((request) => change(samlProvider.makeResponse(attacker.email)(request))),
      ),
    ).toEqual(REFUSED_REDIRECT);
  });

  it('covers the whole NameID, even if it contains a comment', async () => {
    const nameId = `${company.owner.email}<!---->.evil.test`;
    expect(
      await readSignedInEmail(await samlProvider.answerRequest(samlProvider.makeResponse('', { nameId }))),
    ).toBeNull();
  });

  it.each(Object.entries(makeWrappings()))('must not be wrapped: %s', async (_shape, wrapResponse) => {
    // The provider signs honestly for the attacker, who dresses it up to be taken for the owner.
    const callbackAnswer = await samlProvider.answerRequest((request) =>
      wrapResponse(
        signElement(samlProvider.makeResponse(attacker.email)(request), 'Response', samlProvider.signer),
        'Response',
      ),
    );
    expect(await readSignedInEmail(callbackAnswer)).not.toBe(company.owner.email);
    const assertionAnswer = await samlProvider.answerRequest((request) =>
      wrapResponse(samlProvider.makeResponse(attacker.email)(request), 'Assertion'),
    );
    expect(await readSignedInEmail(assertionAnswer)).not.toBe(company.owner.email);
  });
});

/** Returns the assertion of a response with another id, in the name of the owner, without its signature. */
function makeForgedAssertion(xml: string): string {
  const assertion = /<saml:Assertion.*<\/saml:Assertion>/s.exec(xml)?.[0] ?? '';
  return removeSignature(assertion)
    .replace(/ID="[^"]+"/, 'ID="_evil"')
    .replace(attacker.email, company.owner.email);
}

const SIGNATURE_PATTERN = /<ds:Signature .*?<\/ds:Signature>/s;
const removeSignature = (xml: string) => xml.replaceAll(new RegExp(SIGNATURE_PATTERN, 'gs'), '');
const findSignature = (xml: string) => SIGNATURE_PATTERN.exec(xml)?.[0] ?? '';

/**
 * Returns the eight shapes of XML signature wrapping (Somorovsky et al., "On Breaking SAML: Be Whoever You Want to Be", in the
 * numbering of SAML Raider). Shapes 1 and 2 wrap a signed response, 3 to 8 a signed assertion.
 */
function makeWrappings(): Record<string, (xml: string, signed: 'Response' | 'Assertion') => string> {
  const findAssertion = (xml: string) => /<saml:Assertion.*<\/saml:Assertion>/s.exec(xml)?.[0] ?? '';
  const insertBefore = (parent: string, child: string, followingText: string) =>
    parent.replace(followingText, () => `${child}${followingText}`);
  /** Returns the response in the owner's name, with its own id, without signatures. */
  const makeEvilResponse = (xml: string) =>
    removeSignature(xml.replace(findAssertion(xml), () => makeForgedAssertion(xml))).replace(
      /(<samlp:Response [^>]*?)ID="[^"]+"/,
      '$1ID="_evil-response"',
    );
  const insertAfterIssuer = (xml: string, addition: string) =>
    xml.replace('</saml:Issuer>', () => `</saml:Issuer>${addition}`);
  const replaceAssertion = (xml: string, replacement: string) => xml.replace(findAssertion(xml), () => replacement);
  const makeOriginalAssertion = (xml: string) => removeSignature(findAssertion(xml));
  return {
    'XSW1, the original response inside its signature': (xml) =>
      insertAfterIssuer(
        makeEvilResponse(xml),
        insertBefore(findSignature(xml), removeSignature(xml), '</ds:Signature>'),
      ),
    'XSW2, the original response before its signature': (xml) =>
      insertAfterIssuer(makeEvilResponse(xml), removeSignature(xml) + findSignature(xml)),
    'XSW3, another assertion before the original': (xml) =>
      replaceAssertion(xml, makeForgedAssertion(xml) + findAssertion(xml)),
    'XSW4, the original inside another assertion': (xml) =>
      replaceAssertion(xml, insertBefore(makeForgedAssertion(xml), findAssertion(xml), '</saml:Assertion>')),
    'XSW5, the signature on another assertion, the original at the end': (xml) =>
      replaceAssertion(
        xml,
        insertAfterIssuer(makeForgedAssertion(xml), findSignature(findAssertion(xml))) + makeOriginalAssertion(xml),
      ),
    'XSW6, the original inside the signature on another assertion': (xml) =>
      replaceAssertion(
        xml,
        insertAfterIssuer(
          makeForgedAssertion(xml),
          insertBefore(findSignature(findAssertion(xml)), makeOriginalAssertion(xml), '</ds:Signature>'),
        ),
      ),
    'XSW7, another assertion among extensions': (xml) =>
      replaceAssertion(xml, `<samlp:Extensions>${makeForgedAssertion(xml)}</samlp:Extensions>${findAssertion(xml)}`),
    'XSW8, the original in an object of the signature on another assertion': (xml) =>
      replaceAssertion(
        xml,
        insertAfterIssuer(
          makeForgedAssertion(xml),
          insertBefore(
            findSignature(findAssertion(xml)),
            `<ds:Object>${makeOriginalAssertion(xml)}</ds:Object>`,
            '</ds:Signature>',
          ),
        ),
      ),
  };
}

describe('a SAML response', () => {
  /** Sends a response that is changed after its assertion was signed; the response itself is not signed. */
  const sendChangedResponse = async (change: (xml: string) => string) =>
    readRedirect(
      await samlProvider.answerRequest((request) => change(samlProvider.makeResponse(attacker.email)(request))),
    );
  const sendSigned = async (change: (xml: string) => string) =>
    readRedirect(
      await samlProvider.answerRequest((request) =>
        signElement(change(samlProvider.makeResponse(attacker.email)(request)), 'Response', samlProvider.signer),
      ),
    );
  const ISSUER_PATTERN = /<saml:Issuer xmlns[^>]*>[^<]*<\/saml:Issuer>/;
  const DESTINATION_PATTERN = / Destination="[^"]*"/;

  it.each<[string, (xml: string) => string]>([
    ['another destination', (xml) => xml.replace(DESTINATION_PATTERN, ' Destination="https://another.test/acs"')],
    ['an empty destination', (xml) => xml.replace(DESTINATION_PATTERN, ' Destination=""')],
    [
      'another issuer',
      (xml) => xml.replace(ISSUER_PATTERN, (issuer) => issuer.replace(IDP_ENTITY_ID, 'https://another.test')),
    ],
    ['two issuers', (xml) => xml.replace(ISSUER_PATTERN, (issuer) => issuer + issuer)],
    ['another version', (xml) => xml.replace('Version="2.0"', 'Version="1.1"')],
    ['no status', (xml) => xml.replace(/<samlp:Status>.*<\/samlp:Status>/, '')],
    ['two statuses', (xml) => xml.replace(/<samlp:Status>.*<\/samlp:Status>/, (status) => status + status)],
    ['another XML namespace', (xml) => xml.replaceAll('SAML:2.0:protocol"', 'SAML:1.0:protocol"')],
    ['an attribute without quotes', (xml) => xml.replace('<samlp:Status>', '<samlp:Status a=b>')],
  ])('is refused with %s', async (_what, change) => {
    expect(await sendChangedResponse(change)).toEqual(REFUSED_REDIRECT);
  });

  it('is refused when it reports a failure, with or without an assertion', async () => {
    const makeFailingResponse = (xml: string) => xml.replace('status:Success', 'status:AuthnFailed');
    const makeBareFailure = (xml: string) =>
      makeFailingResponse(xml).replace(/<saml:Assertion.*<\/saml:Assertion>/s, '');
    const failedRedirect = { ...REFUSED_REDIRECT, error: 'access_denied' };
    expect(await sendChangedResponse(makeFailingResponse)).toEqual(failedRedirect);
    expect(await sendChangedResponse(makeBareFailure)).toEqual(failedRedirect);
    expect(await sendSigned(makeFailingResponse)).toEqual(failedRedirect);
  });

  it('may leave out destination and issuer unless it is signed itself', async () => {
    for (const pattern of [DESTINATION_PATTERN, ISSUER_PATTERN]) {
      expect((await sendChangedResponse((xml) => xml.replace(pattern, ''))).code).toBeTruthy();
    }
    expect(await sendSigned((xml) => xml.replace(DESTINATION_PATTERN, ''))).toEqual(REFUSED_REDIRECT);
    expect((await sendSigned((xml) => xml)).code).toBeTruthy();
  });

  it('must come by POST', async () => {
    const request = readAuthnRequest(await startSignIn(company));
    const SAMLResponse = encodeBase64(samlProvider.makeResponse(attacker.email)(request));
    const callbackAnswer = await answerByRedirect(company, { SAMLResponse, RelayState: request.relayState });
    expect(readRedirect(callbackAnswer)).toEqual(REFUSED_REDIRECT);
  });
});

describe('a SAML document', () => {
  const makeNamespaces = (count: number, from = 0) =>
    Array.from({ length: count }, (_, n) => `xmlns:n${from + n}="u${n}"`).join(' ');
  /** Adds content inside the signed part: it must be canonicalised before its digest is found to differ. */
  const addPadding = (xml: string, padding: string) => xml.replace('<saml:Subject>', `${padding}<saml:Subject>`);

  const entityBomb = `<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">${Array.from(
    { length: 9 },
    (_, index) => `<!ENTITY ${String.fromCharCode(98 + index)} "${`&${String.fromCharCode(97 + index)};`.repeat(10)}">`,
  ).join('')}]>`;

  it.each<[string, (xml: string) => string]>([
    ['a document type', (xml) => `<!DOCTYPE samlp:Response>${xml}`],
    ['an entity of a file', (xml) => `<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>${xml}`],
    ['an entity bomb', (xml) => entityBomb + xml.replace(attacker.email, '&j;')],
    ['CDATA', (xml) => xml.replace(attacker.email, `<![CDATA[${company.owner.email}]]>`)],
    ['a processing instruction', (xml) => xml.replace(attacker.email, `${company.owner.email}<?x?>${attacker.email}`)],
    ['a hundred thousand levels', (xml) => xml.replace('<samlp:Status>', `${'<a>'.repeat(20_000)}<samlp:Status>`)],
    [
      'a hundred levels',
      (xml) => xml.replace('<samlp:Status>', `${'<a>'.repeat(100)}${'</a>'.repeat(100)}<samlp:Status>`),
    ],
    ['more than 256 KiB', (xml) => xml.replace('<samlp:Status>', `<a>${'x'.repeat(300_000)}</a><samlp:Status>`)],
    [
      'the maximum of elements, side by side',
      (xml) => addPadding(xml, `<a ${makeNamespaces(1)} b="">x</a>`.repeat(950)),
    ],
    [
      'the maximum of elements, within each other',
      (xml) =>
        addPadding(
          xml,
          Array.from({ length: 55 }, (_, n) => `<a ${makeNamespaces(17, n * 17)}>`).join('') +
            '<n3:c n9:d="" n200:e=""/>'.repeat(2800) +
            '</a>'.repeat(55),
        ),
    ],
    ['too many elements', (xml) => addPadding(xml, '<a/>'.repeat(3000))],
    ['too many namespaces', (xml) => xml.replace('<samlp:Response ', `<samlp:Response ${makeNamespaces(1000)} `)],
    [
      'thousands of attributes',
      (xml) => addPadding(xml, `<a ${Array.from({ length: 8000 }, (_, n) => `b${n}="${n}"`).join(' ')}/>`),
    ],
    ['no content', () => ''],
    ['no XML', () => 'not xml'],
    ['another root element', () => '<LogoutResponse/>'],
  ])('is refused with %s', async (_what, change) => {
    expect(
      readRedirect(
        await samlProvider.answerRequest((request) => change(samlProvider.makeResponse(attacker.email)(request))),
      ),
    ).toEqual(REFUSED_REDIRECT);
  });

  it('must be base64', async () => {
    const { relayState } = readAuthnRequest(await startSignIn(company));
    expect(readRedirect(await answerByForm(company, { SAMLResponse: '%%%', RelayState: relayState }))).toEqual(
      REFUSED_REDIRECT,
    );
  });

  it('must come in a form of at most a megabyte', async () => {
    const path = `/v1/auth/sso/${company.slug}/callback`;
    expect((await callApi('POST', path, { json: { SAMLResponse: 'x' } })).status).toBe(400);
    expect((await answerByForm(company, { SAMLResponse: 'x'.repeat(1024 * 1024 + 1) })).status).toBe(413);
  });
});
