import { beforeAll, describe, expect, it } from 'vitest';
import { type Answer, BASE_URL, bearer, call } from '../support/api.ts';
import {
  type AuthnRequest,
  aSigner,
  assertionXml,
  encoded,
  readAuthnRequest,
  responseXml,
  rightStatement,
  type Signer,
  type Statement,
  sign,
} from '../support/saml-idp.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';
import { answerByForm, CONSOLE, callbackUrl, configure, exchange, sentOn, start } from './support.ts';

const IDP = 'https://idp.example.org/saml';

let company: Company;
let signer: Signer;
/** A user who can sign in honestly, and tries to become the owner. */
let attacker: { id: string; email: string };

const configuration = () => ({
  type: 'saml',
  idp_entity_id: IDP,
  idp_sso_url: 'https://idp.example.org/sso?tenant=1',
  idp_certificates: [signer.certificate],
});

beforeAll(async () => {
  [company, signer] = [await aCompany(), await aSigner()];
  attacker = await aUser(company);
  await configure(company, configuration());
});

/** Has the provider answer a fresh request with what `make` makes of it. */
async function answer(make: (request: AuthnRequest) => string, to = company): Promise<Answer> {
  const request = readAuthnRequest(await start(to));
  return answerByForm(to, { SAMLResponse: encoded(make(request)), RelayState: request.relayState });
}

/** A response whose assertion is signed and says what is right, but for `changes`. */
const honest =
  (email: string, changes: Partial<Statement> = {}) =>
  (request: AuthnRequest): string => {
    const said = { ...rightStatement(request, IDP, email), ...changes };
    return sign(responseXml(said, assertionXml(said)), 'Assertion', signer);
  };

async function whoIsLetIn(answered: Answer): Promise<string | null> {
  const { code } = sentOn(answered);
  return code === null ? null : (await exchange(code)).body.user.email;
}

const refusal = { to: CONSOLE, code: null, error: 'invalid_response' };

describe('a right response', () => {
  it('signs the user in', async () => {
    const answered = await answer(honest(company.owner.email));
    expect(sentOn(answered)).toMatchObject({ to: CONSOLE, error: null });
    const { body } = await exchange(sentOn(answered).code as string);
    expect(body.user._id).toBe(company.owner.id);
    expect((await bearer(body.token).get('/v1/auth/me')).status).toBe(200);
  });

  it('answers a request that names us and where to answer', async () => {
    const url = await start(company);
    expect(url.origin + url.pathname).toBe('https://idp.example.org/sso');
    expect(url.searchParams.get('tenant')).toBe('1');
    expect(readAuthnRequest(url)).toEqual({
      id: expect.stringMatching(/^_/),
      issuer: `${BASE_URL}/v1/auth/sso/${company.slug}/metadata`,
      acsUrl: callbackUrl(company),
      relayState: expect.stringMatching(/^[\w-]{43}$/),
    });
  });

  it('may be signed as a whole besides', async () => {
    const both = (request: AuthnRequest) => sign(honest(company.owner.email)(request), 'Response', signer);
    expect(await whoIsLetIn(await answer(both))).toBe(company.owner.email);
  });

  it('may carry the address as an attribute where the NameID is something else', async () => {
    const changes = {
      nameId: 'S-1-5-21',
      nameIdFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
      attributes: { mail: company.owner.email.toUpperCase(), displayName: 'Olga' },
    };
    expect(await whoIsLetIn(await answer(honest(company.owner.email, changes)))).toBe(company.owner.email);
  });

  it('may be signed with any of the configured certificates', async () => {
    const rotating = await aCompany();
    await configure(rotating, {
      ...configuration(),
      idp_certificates: [(await aSigner()).certificate, signer.certificate],
    });
    expect(await whoIsLetIn(await answer(honest(rotating.owner.email), rotating))).toBe(rotating.owner.email);
  });

  it('makes a user of a newcomer only where the company wants that', async () => {
    const email = `newcomer@${company.slug}.test`;
    expect(sentOn(await answer(honest(email))).error).toBe('user_not_found');
    const open = await aCompany();
    await configure(open, { ...configuration(), jit_provisioning: true });
    const changes = { attributes: { displayName: 'Nora Newcomer' } };
    const { body } = await exchange(sentOn(await answer(honest(email, changes), open)).code as string);
    expect(body.user).toMatchObject({ email, name: 'Nora Newcomer', company_id: open.id });
  });
});

describe('what the assertion says', () => {
  const past = Date.now() - 10 * 60_000;
  it.each<[string, Partial<Statement>]>([
    ['another audience', { audience: 'https://another.test' }],
    ['another recipient', { recipient: 'https://another.test/acs' }],
    ['another request', { inResponseTo: '_another' }],
    ['another request, in the response only', { responseInResponseTo: '_another' }],
    ['another issuer', { issuer: 'https://another.test' }],
    ['conditions that have ended', { notOnOrAfter: past }],
    ['conditions that have not begun', { notBefore: Date.now() + 10 * 60_000 }],
    ['a confirmation that has ended', { confirmedUntil: past }],
    ['a confirmation without an end', { confirmedUntil: null }],
    ['a confirmation that is not for bearers', { method: 'urn:oasis:names:tc:SAML:2.0:cm:holder-of-key' }],
  ])('is refused when it is for %s', async (_what, changes) => {
    expect(sentOn(await answer(honest(company.owner.email, changes)))).toEqual(refusal);
  });

  it('is refused for another company of the same provider', async () => {
    const other = await aCompany();
    await configure(other, configuration());
    const stolen = readAuthnRequest(await start(company));
    const response = honest(other.owner.email)(stolen);
    const { relayState } = readAuthnRequest(await start(other));
    const answered = await answerByForm(other, { SAMLResponse: encoded(response), RelayState: relayState });
    expect(sentOn(answered)).toEqual(refusal);
  });

  it('is refused without an address', async () => {
    const changes = { nameId: 'S-1-5-21', nameIdFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent' };
    expect(sentOn(await answer(honest(company.owner.email, changes))).error).toBe('email_missing');
  });

  it('is refused when the provider could not sign the person in', async () => {
    const failed = (request: AuthnRequest) =>
      responseXml(rightStatement(request, IDP, ''), '').replace('status:Success', 'status:AuthnFailed');
    expect(sentOn(await answer(failed)).error).toBe('access_denied');
  });
});

describe('an assertion', () => {
  it('is taken once, even in answer to another request', async () => {
    const assertionId = `_${crypto.randomUUID()}`;
    expect(sentOn(await answer(honest(company.owner.email, { assertionId }))).code).toBeTruthy();
    expect(sentOn(await answer(honest(company.owner.email, { assertionId })))).toEqual(refusal);
  });

  it('is not taken a second time with the state of its own sign-in', async () => {
    const request = readAuthnRequest(await start(company));
    const fields = { SAMLResponse: encoded(honest(company.owner.email)(request)), RelayState: request.relayState };
    const answers = await Promise.all([answerByForm(company, fields), answerByForm(company, fields)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([302, 400]);
  });

  it('is not taken with the state of another sign-in', async () => {
    const captured = readAuthnRequest(await start(company));
    const { relayState } = readAuthnRequest(await start(company));
    const SAMLResponse = encoded(honest(company.owner.email)(captured));
    expect(sentOn(await answerByForm(company, { SAMLResponse, RelayState: relayState }))).toEqual(refusal);
  });

  it('is not taken unasked', async () => {
    const SAMLResponse = encoded(honest(company.owner.email)(readAuthnRequest(await start(company))));
    for (const state of [{}, { RelayState: 'unknown' }]) {
      const { status, body } = await answerByForm(company, { SAMLResponse, ...state } as Record<string, string>);
      expect([status, body.error]).toEqual([400, 'INVALID_SSO_STATE']);
    }
  });
});

describe('a signature', () => {
  const unsigned = (request: AuthnRequest) => {
    const said = rightStatement(request, IDP, company.owner.email);
    return responseXml(said, assertionXml(said));
  };

  it('must be there', async () => {
    expect(sentOn(await answer(unsigned))).toEqual(refusal);
  });

  it('must be on the assertion: the response alone is not enough', async () => {
    expect(sentOn(await answer((request) => sign(unsigned(request), 'Response', signer)))).toEqual(refusal);
  });

  it('must be of a configured certificate, whatever certificate it brings along', async () => {
    const another = await aSigner();
    expect(sentOn(await answer((request) => sign(unsigned(request), 'Assertion', another)))).toEqual(refusal);
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
  ])('must not rest on %s', async (_what, algorithms) => {
    expect(sentOn(await answer((request) => sign(unsigned(request), 'Assertion', signer, algorithms)))).toEqual(
      refusal,
    );
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
    ['a second assertion', (xml) => xml.replace('</samlp:Response>', `${evil(xml)}</samlp:Response>`)],
  ])('does not hold when someone has changed %s', async (_what, change) => {
    expect(sentOn(await answer((request) => change(honest(attacker.email)(request))))).toEqual(refusal);
  });

  it('covers the whole address where it was signed with a comment in it', async () => {
    const nameId = `${company.owner.email}<!---->.evil.test`;
    expect(await whoIsLetIn(await answer(honest('', { nameId })))).toBeNull();
  });

  it.each(Object.entries(wrappings()))('is not wrapped: %s', async (_shape, wrap) => {
    // The provider signs honestly for the attacker, who dresses it up to be taken for the owner.
    const answered = await answer((request) =>
      wrap(sign(honest(attacker.email)(request), 'Response', signer), 'Response'),
    );
    expect(await whoIsLetIn(answered)).not.toBe(company.owner.email);
    const byAssertion = await answer((request) => wrap(honest(attacker.email)(request), 'Assertion'));
    expect(await whoIsLetIn(byAssertion)).not.toBe(company.owner.email);
  });
});

/** The assertion of a response, with another id, in the name of the owner, without its signature. */
function evil(xml: string): string {
  const assertion = /<saml:Assertion.*<\/saml:Assertion>/s.exec(xml)?.[0] ?? '';
  return withoutSignature(assertion)
    .replace(/ID="[^"]+"/, 'ID="_evil"')
    .replace(attacker.email, company.owner.email);
}

const SIGNATURE = /<ds:Signature .*?<\/ds:Signature>/s;
const withoutSignature = (xml: string) => xml.replaceAll(new RegExp(SIGNATURE, 'gs'), '');
const signatureOf = (xml: string) => SIGNATURE.exec(xml)?.[0] ?? '';

/**
 * The eight shapes of XML signature wrapping (Somorovsky et al., "On Breaking SAML: Be Whoever You Want to Be", in the
 * numbering of SAML Raider). 1 and 2 dress up a signed response, 3 to 8 a signed assertion.
 */
function wrappings(): Record<string, (xml: string, signed: 'Response' | 'Assertion') => string> {
  const assertionOf = (xml: string) => /<saml:Assertion.*<\/saml:Assertion>/s.exec(xml)?.[0] ?? '';
  const inside = (parent: string, child: string, before: string) => parent.replace(before, () => `${child}${before}`);
  /** The response in the owner's name, with its own id, without signatures. */
  const evilResponse = (xml: string) =>
    withoutSignature(xml.replace(assertionOf(xml), () => evil(xml))).replace(
      /(<samlp:Response [^>]*?)ID="[^"]+"/,
      '$1ID="_evil-response"',
    );
  const afterIssuer = (xml: string, addition: string) =>
    xml.replace('</saml:Issuer>', () => `</saml:Issuer>${addition}`);
  const replacing = (xml: string, part: string) => xml.replace(assertionOf(xml), () => part);
  const original = (xml: string) => withoutSignature(assertionOf(xml));
  return {
    'XSW1, the original response inside its signature': (xml) =>
      afterIssuer(evilResponse(xml), inside(signatureOf(xml), withoutSignature(xml), '</ds:Signature>')),
    'XSW2, the original response before its signature': (xml) =>
      afterIssuer(evilResponse(xml), withoutSignature(xml) + signatureOf(xml)),
    'XSW3, another assertion before the original': (xml) => replacing(xml, evil(xml) + assertionOf(xml)),
    'XSW4, the original inside another assertion': (xml) =>
      replacing(xml, inside(evil(xml), assertionOf(xml), '</saml:Assertion>')),
    'XSW5, the signature on another assertion, the original at the end': (xml) =>
      replacing(xml, afterIssuer(evil(xml), signatureOf(assertionOf(xml))) + original(xml)),
    'XSW6, the original inside the signature on another assertion': (xml) =>
      replacing(xml, afterIssuer(evil(xml), inside(signatureOf(assertionOf(xml)), original(xml), '</ds:Signature>'))),
    'XSW7, another assertion among extensions': (xml) =>
      replacing(xml, `<samlp:Extensions>${evil(xml)}</samlp:Extensions>${assertionOf(xml)}`),
    'XSW8, the original in an object of the signature on another assertion': (xml) =>
      replacing(
        xml,
        afterIssuer(
          evil(xml),
          inside(signatureOf(assertionOf(xml)), `<ds:Object>${original(xml)}</ds:Object>`, '</ds:Signature>'),
        ),
      ),
  };
}

describe('a document', () => {
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
    ['as many elements as are read, side by side', (xml) => stuffed(xml, `<a ${namespaces(1)} b="">x</a>`.repeat(950))],
    [
      'as many elements as are read, within each other',
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
    ['nothing', () => ''],
    ['no XML', () => 'not xml'],
    ['another root', () => '<LogoutResponse/>'],
  ])('with %s is refused, and quickly', async (_what, change) => {
    const begun = Date.now();
    expect(sentOn(await answer((request) => change(honest(attacker.email)(request))))).toEqual(refusal);
    expect(Date.now() - begun).toBeLessThan(5000);
  });

  it('must be base64', async () => {
    const { relayState } = readAuthnRequest(await start(company));
    expect(sentOn(await answerByForm(company, { SAMLResponse: '%%%', RelayState: relayState }))).toEqual(refusal);
  });

  it('must come in a form of at most a megabyte', async () => {
    const path = `/v1/auth/sso/${company.slug}/callback`;
    expect((await call('POST', path, { json: { SAMLResponse: 'x' } })).status).toBe(400);
    expect((await answerByForm(company, { SAMLResponse: 'x'.repeat(1024 * 1024 + 1) })).status).toBe(413);
  });
});

describe('metadata', () => {
  it('says who we are, where to answer, and that assertions must be signed', async () => {
    const { status, headers, body } = await call('GET', `/v1/auth/sso/${company.slug}/metadata`);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('application/samlmetadata+xml');
    expect(body).toContain(`entityID="${BASE_URL}/v1/auth/sso/${company.slug}/metadata"`);
    expect(body).toContain(`Location="${callbackUrl(company)}"`);
    expect(body).toContain('WantAssertionsSigned="true"');
  });

  it('is not there without a SAML configuration', async () => {
    const { status, body } = await call('GET', `/v1/auth/sso/${(await aCompany()).slug}/metadata`);
    expect([status, body.error]).toEqual([404, 'SSO_NOT_CONFIGURED']);
  });
});
