import { beforeAll, describe, expect, it } from 'vitest';
import { call } from '../support/api.ts';
import {
  type AuthnRequest,
  createSigner,
  encodeBase64,
  formatAssertion,
  formatResponse,
  makeValidStatement,
  readAuthnRequest,
  sign,
} from '../support/saml-idp.ts';
import { aUser, type Company } from '../support/worlds.ts';
import { createSamlWorld, IDP, REFUSED, readSignedInEmail, type SamlWorld } from './saml-world.ts';
import { answerByForm, answerByRedirect, readRedirect, startSignIn } from './support.ts';

let world: SamlWorld;
let company: Company;
/** A user who can sign in honestly, and tries to become the owner. */
let attacker: { id: string; email: string };
beforeAll(async () => {
  world = await createSamlWorld();
  company = world.company;
  attacker = await aUser(company);
});

describe('the signature of a SAML response', () => {
  const unsigned = (request: AuthnRequest) => {
    const said = makeValidStatement(request, IDP, company.owner.email);
    return formatResponse(said, formatAssertion(said));
  };

  it('must be present', async () => {
    expect(readRedirect(await world.answer(unsigned))).toEqual(REFUSED);
  });

  it('must be on the assertion, not on the response alone', async () => {
    expect(readRedirect(await world.answer((request) => sign(unsigned(request), 'Response', world.signer)))).toEqual(
      REFUSED,
    );
  });

  it('must be of a configured certificate, whatever certificate it contains', async () => {
    const another = await createSigner();
    expect(readRedirect(await world.answer((request) => sign(unsigned(request), 'Assertion', another)))).toEqual(
      REFUSED,
    );
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
      readRedirect(await world.answer((request) => sign(unsigned(request), 'Assertion', world.signer, algorithms))),
    ).toEqual(REFUSED);
  });

  it.each([
    'http://www.w3.org/2000/09/xmldsig&#x23;',
    'http://www.w3.org/2000/09/xmldsig&#35;',
    'http://www.w3.org/2000/09/&#120;mldsig#',
  ])('must not use SHA-1 in any spelling: %s', async (spelling) => {
    const sha1 = {
      signature: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1',
      digest: 'http://www.w3.org/2000/09/xmldsig#sha1',
    };
    const answered = await world.answer((request) => {
      const signed = sign(unsigned(request), 'Assertion', world.signer, sha1);
      // What is signed says the same: canonical XML writes the character itself.
      return signed.replaceAll(/http:\/\/www\.w3\.org\/2000\/09\/xmldsig#(?=(?:rsa-)?sha1)/g, spelling);
    });
    expect(readRedirect(answered)).toEqual(REFUSED);
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
    expect(readRedirect(await world.answer((request) => change(world.honest(attacker.email)(request))))).toEqual(
      REFUSED,
    );
  });

  it('covers the whole NameID, even if it contains a comment', async () => {
    const nameId = `${company.owner.email}<!---->.evil.test`;
    expect(await readSignedInEmail(await world.answer(world.honest('', { nameId })))).toBeNull();
  });

  it.each(Object.entries(makeWrappings()))('must not be wrapped: %s', async (_shape, wrap) => {
    // The provider signs honestly for the attacker, who dresses it up to be taken for the owner.
    const answered = await world.answer((request) =>
      wrap(sign(world.honest(attacker.email)(request), 'Response', world.signer), 'Response'),
    );
    expect(await readSignedInEmail(answered)).not.toBe(company.owner.email);
    const byAssertion = await world.answer((request) => wrap(world.honest(attacker.email)(request), 'Assertion'));
    expect(await readSignedInEmail(byAssertion)).not.toBe(company.owner.email);
  });
});

/** The assertion of a response, with another id, in the name of the owner, without its signature. */
function makeForgedAssertion(xml: string): string {
  const assertion = /<saml:Assertion.*<\/saml:Assertion>/s.exec(xml)?.[0] ?? '';
  return removeSignature(assertion)
    .replace(/ID="[^"]+"/, 'ID="_evil"')
    .replace(attacker.email, company.owner.email);
}

const SIGNATURE = /<ds:Signature .*?<\/ds:Signature>/s;
const removeSignature = (xml: string) => xml.replaceAll(new RegExp(SIGNATURE, 'gs'), '');
const findSignature = (xml: string) => SIGNATURE.exec(xml)?.[0] ?? '';

/**
 * The eight shapes of XML signature wrapping (Somorovsky et al., "On Breaking SAML: Be Whoever You Want to Be", in the
 * numbering of SAML Raider). 1 and 2 dress up a signed response, 3 to 8 a signed assertion.
 */
function makeWrappings(): Record<string, (xml: string, signed: 'Response' | 'Assertion') => string> {
  const assertionOf = (xml: string) => /<saml:Assertion.*<\/saml:Assertion>/s.exec(xml)?.[0] ?? '';
  const inside = (parent: string, child: string, before: string) => parent.replace(before, () => `${child}${before}`);
  /** The response in the owner's name, with its own id, without signatures. */
  const evilResponse = (xml: string) =>
    removeSignature(xml.replace(assertionOf(xml), () => makeForgedAssertion(xml))).replace(
      /(<samlp:Response [^>]*?)ID="[^"]+"/,
      '$1ID="_evil-response"',
    );
  const afterIssuer = (xml: string, addition: string) =>
    xml.replace('</saml:Issuer>', () => `</saml:Issuer>${addition}`);
  const replacing = (xml: string, part: string) => xml.replace(assertionOf(xml), () => part);
  const original = (xml: string) => removeSignature(assertionOf(xml));
  return {
    'XSW1, the original response inside its signature': (xml) =>
      afterIssuer(evilResponse(xml), inside(findSignature(xml), removeSignature(xml), '</ds:Signature>')),
    'XSW2, the original response before its signature': (xml) =>
      afterIssuer(evilResponse(xml), removeSignature(xml) + findSignature(xml)),
    'XSW3, another assertion before the original': (xml) => replacing(xml, makeForgedAssertion(xml) + assertionOf(xml)),
    'XSW4, the original inside another assertion': (xml) =>
      replacing(xml, inside(makeForgedAssertion(xml), assertionOf(xml), '</saml:Assertion>')),
    'XSW5, the signature on another assertion, the original at the end': (xml) =>
      replacing(xml, afterIssuer(makeForgedAssertion(xml), findSignature(assertionOf(xml))) + original(xml)),
    'XSW6, the original inside the signature on another assertion': (xml) =>
      replacing(
        xml,
        afterIssuer(
          makeForgedAssertion(xml),
          inside(findSignature(assertionOf(xml)), original(xml), '</ds:Signature>'),
        ),
      ),
    'XSW7, another assertion among extensions': (xml) =>
      replacing(xml, `<samlp:Extensions>${makeForgedAssertion(xml)}</samlp:Extensions>${assertionOf(xml)}`),
    'XSW8, the original in an object of the signature on another assertion': (xml) =>
      replacing(
        xml,
        afterIssuer(
          makeForgedAssertion(xml),
          inside(findSignature(assertionOf(xml)), `<ds:Object>${original(xml)}</ds:Object>`, '</ds:Signature>'),
        ),
      ),
  };
}

describe('a SAML response', () => {
  /** The response itself is not signed: whoever carries it can change it. */
  const changed = async (change: (xml: string) => string) =>
    readRedirect(await world.answer((request) => change(world.honest(attacker.email)(request))));
  const signed = async (change: (xml: string) => string) =>
    readRedirect(
      await world.answer((request) => sign(change(world.honest(attacker.email)(request)), 'Response', world.signer)),
    );
  const ISSUER = /<saml:Issuer xmlns[^>]*>[^<]*<\/saml:Issuer>/;
  const DESTINATION = / Destination="[^"]*"/;

  it.each<[string, (xml: string) => string]>([
    ['another destination', (xml) => xml.replace(DESTINATION, ' Destination="https://another.test/acs"')],
    ['an empty destination', (xml) => xml.replace(DESTINATION, ' Destination=""')],
    ['another issuer', (xml) => xml.replace(ISSUER, (issuer) => issuer.replace(IDP, 'https://another.test'))],
    ['two issuers', (xml) => xml.replace(ISSUER, (issuer) => issuer + issuer)],
    ['another version', (xml) => xml.replace('Version="2.0"', 'Version="1.1"')],
    ['no status', (xml) => xml.replace(/<samlp:Status>.*<\/samlp:Status>/, '')],
    ['two statuses', (xml) => xml.replace(/<samlp:Status>.*<\/samlp:Status>/, (status) => status + status)],
    ['another XML namespace', (xml) => xml.replaceAll('SAML:2.0:protocol"', 'SAML:1.0:protocol"')],
    ['an attribute without quotes', (xml) => xml.replace('<samlp:Status>', '<samlp:Status a=b>')],
  ])('is refused with %s', async (_what, change) => {
    expect(await changed(change)).toEqual(REFUSED);
  });

  it('is refused when it reports a failure, whatever its assertion', async () => {
    const failing = (xml: string) => xml.replace('status:Success', 'status:AuthnFailed');
    expect(await changed(failing)).toEqual({ ...REFUSED, error: 'access_denied' });
    expect(await signed(failing)).toEqual({ ...REFUSED, error: 'access_denied' });
  });

  it('may leave out destination and issuer unless it is signed itself', async () => {
    for (const part of [DESTINATION, ISSUER]) {
      expect((await changed((xml) => xml.replace(part, ''))).code).toBeTruthy();
    }
    expect(await signed((xml) => xml.replace(DESTINATION, ''))).toEqual(REFUSED);
    expect((await signed((xml) => xml)).code).toBeTruthy();
  });

  it('must come by POST', async () => {
    const request = readAuthnRequest(await startSignIn(company));
    const SAMLResponse = encodeBase64(world.honest(attacker.email)(request));
    const answered = await answerByRedirect(company, { SAMLResponse, RelayState: request.relayState });
    expect(readRedirect(answered)).toEqual(REFUSED);
  });
});

describe('a SAML document', () => {
  const namespaces = (count: number, from = 0) =>
    Array.from({ length: count }, (_, n) => `xmlns:n${from + n}="u${n}"`).join(' ');
  /** More inside of what is signed: it must be canonicalised before it is found not to be what was signed. */
  const stuffed = (xml: string, stuffing: string) => xml.replace('<saml:Subject>', `${stuffing}<saml:Subject>`);

  const bomb = `<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">${Array.from(
    { length: 9 },
    (_, index) => `<!ENTITY ${String.fromCharCode(98 + index)} "${`&${String.fromCharCode(97 + index)};`.repeat(10)}">`,
  ).join('')}]>`;

  it.each<[string, (xml: string) => string]>([
    ['a document type', (xml) => `<!DOCTYPE samlp:Response>${xml}`],
    ['an entity of a file', (xml) => `<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>${xml}`],
    ['an entity bomb', (xml) => bomb + xml.replace(attacker.email, '&j;')],
    ['CDATA', (xml) => xml.replace(attacker.email, `<![CDATA[${company.owner.email}]]>`)],
    ['a processing instruction', (xml) => xml.replace(attacker.email, `${company.owner.email}<?x?>${attacker.email}`)],
    ['a hundred thousand levels', (xml) => xml.replace('<samlp:Status>', `${'<a>'.repeat(20_000)}<samlp:Status>`)],
    [
      'a hundred levels',
      (xml) => xml.replace('<samlp:Status>', `${'<a>'.repeat(100)}${'</a>'.repeat(100)}<samlp:Status>`),
    ],
    ['more than 256 KiB', (xml) => xml.replace('<samlp:Status>', `<a>${'x'.repeat(300_000)}</a><samlp:Status>`)],
    ['the maximum of elements, side by side', (xml) => stuffed(xml, `<a ${namespaces(1)} b="">x</a>`.repeat(950))],
    [
      'the maximum of elements, within each other',
      (xml) =>
        stuffed(
          xml,
          Array.from({ length: 55 }, (_, n) => `<a ${namespaces(17, n * 17)}>`).join('') +
            '<n3:c n9:d="" n200:e=""/>'.repeat(2800) +
            '</a>'.repeat(55),
        ),
    ],
    ['too many elements', (xml) => stuffed(xml, '<a/>'.repeat(3000))],
    ['too many namespaces', (xml) => xml.replace('<samlp:Response ', `<samlp:Response ${namespaces(1000)} `)],
    [
      'thousands of attributes',
      (xml) => stuffed(xml, `<a ${Array.from({ length: 8000 }, (_, n) => `b${n}="${n}"`).join(' ')}/>`),
    ],
    ['no content', () => ''],
    ['no XML', () => 'not xml'],
    ['another root element', () => '<LogoutResponse/>'],
  ])('is refused with %s', async (_what, change) => {
    expect(readRedirect(await world.answer((request) => change(world.honest(attacker.email)(request))))).toEqual(
      REFUSED,
    );
  });

  it('must be base64', async () => {
    const { relayState } = readAuthnRequest(await startSignIn(company));
    expect(readRedirect(await answerByForm(company, { SAMLResponse: '%%%', RelayState: relayState }))).toEqual(REFUSED);
  });

  it('must come in a form of at most a megabyte', async () => {
    const path = `/v1/auth/sso/${company.slug}/callback`;
    expect((await call('POST', path, { json: { SAMLResponse: 'x' } })).status).toBe(400);
    expect((await answerByForm(company, { SAMLResponse: 'x'.repeat(1024 * 1024 + 1) })).status).toBe(413);
  });
});
