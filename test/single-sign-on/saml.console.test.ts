import { inflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { BASE_URL, callApi, createCaller } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { sendDuringRace } from '../support/race.ts';
import { createSigner, encodeBase64, readAuthnRequest, type SamlStatement } from '../support/saml-idp.ts';
import { createSamlProvider, IDP_ENTITY_ID, REFUSED_REDIRECT, readSignedInEmail } from './saml-world.ts';
import {
  answerByForm,
  CONSOLE_RETURN_URL,
  configureSso,
  exchangeCode,
  makeCallbackUrl,
  readRedirect,
  startSignIn,
} from './support.ts';

const samlProvider = await createSamlProvider();
const company = samlProvider.company;

describe('a valid SAML response', () => {
  it('signs the user in', async () => {
    const callbackAnswer = await samlProvider.answerRequest(samlProvider.makeResponse(company.owner.email));
    expect(readRedirect(callbackAnswer)).toMatchObject({ to: CONSOLE_RETURN_URL, error: null });
    const { body } = await exchangeCode(readRedirect(callbackAnswer).code as string);
    expect(body.user._id).toBe(company.owner.id);
    expect((await createCaller(body.token).get('/v1/auth/me')).status).toBe(200);
  });

  it('answers a request that names the service provider and the callback of the company', async () => {
    const url = await startSignIn(company);
    expect(url.origin + url.pathname).toBe('https://idp.example.org/sso');
    expect(url.searchParams.get('tenant')).toBe('1');
    expect(readAuthnRequest(url)).toEqual({
      id: expect.stringMatching(/^_/),
      issuer: `${BASE_URL}/v1/auth/sso/${company.slug}/metadata`,
      acsUrl: makeCallbackUrl(company),
      relayState: expect.stringMatching(/^[\w-]{43}$/),
    });
  });

  it('may have the address in an attribute where the NameID contains no address', async () => {
    const changes = {
      nameId: 'S-1-5-21',
      nameIdFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
      attributes: { mail: company.owner.email.toUpperCase(), displayName: 'Olga' },
    };
    expect(
      await readSignedInEmail(
        await samlProvider.answerRequest(samlProvider.makeResponse(company.owner.email, changes)),
      ),
    ).toBe(company.owner.email);
  });

  const PERSISTENT_NAME_ID = {
    nameId: 'S-1-5-21',
    nameIdFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  };

  it.each([
    'mail',
    'Email',
    'EmailAddress',
    'e-mail',
    'User.Email',
    'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
    'http://schemas.xmlsoap.org/claims/EmailAddress',
    'urn:oid:0.9.2342.19200300.100.1.3',
    'urn:oid:1.2.840.113549.1.9.1',
    'urn:mace:dir:attribute-def:mail',
  ])('may have the address in the attribute %s', async (name) => {
    const statementChanges = { ...PERSISTENT_NAME_ID, attributes: { [name]: company.owner.email } };
    expect(
      await readSignedInEmail(
        await samlProvider.answerRequest(samlProvider.makeResponse(company.owner.email, statementChanges)),
      ),
    ).toBe(company.owner.email);
  });

  it.each<[title: string, values: (owner: string) => Record<string, string[]>, isIn: boolean]>([
    ['after empty values', (owner) => ({ mail: ['', ' ', owner] }), true],
    ['twice', (owner) => ({ mail: [owner, owner.toUpperCase()], 'User.Email': [owner] }), true],
    ['beside another, in one attribute', (owner) => ({ mail: [owner, 'x@y.test'] }), false],
    ['beside another, in two attributes', (owner) => ({ mail: [owner], email: ['x@y.test'] }), false],
  ])('must have exactly one address: %s', async (_what, values, isSignedIn) => {
    const attributes = Object.entries(values(company.owner.email)).map(
      ([name, texts]) => [name, texts.join('</saml:AttributeValue><saml:AttributeValue>')] as const,
    );
    const statementChanges = { ...PERSISTENT_NAME_ID, attributes: Object.fromEntries(attributes) };
    const callbackAnswer = await samlProvider.answerRequest(
      samlProvider.makeResponse(company.owner.email, statementChanges),
    );
    if (isSignedIn) expect(await readSignedInEmail(callbackAnswer)).toBe(company.owner.email);
    else expect(readRedirect(callbackAnswer)).toEqual(REFUSED_REDIRECT);
  });

  it('may have the address and the name in the attributes that the configuration names', async () => {
    const openCompany = await createOwnedCompany();
    const attributes = { email: 'Work-Address', name: 'Nickname' };
    await configureSso(openCompany, { ...samlProvider.configuration, jit_provisioning: true, attributes });
    expect((await openCompany.as.get('/v1/auth/sso/config')).body.attributes).toEqual(attributes);
    const email = `named@${openCompany.slug}.test`;
    const userAttributes = { mail: 'other@y.test', displayName: 'Nora', 'work-address': email, nickname: 'Nono' };
    const { code } = readRedirect(
      await samlProvider.answerRequest(
        samlProvider.makeResponse('x@y.test', { attributes: userAttributes }),
        openCompany,
      ),
    );
    expect((await exchangeCode(code as string)).body.user).toMatchObject({ email, name: 'Nono' });
    const answerWithoutAttribute = await samlProvider.answerRequest(
      samlProvider.makeResponse('x@y.test', { attributes: { mail: email } }),
      openCompany,
    );
    expect(readRedirect(answerWithoutAttribute).error).toBe('email_missing');
  });

  it('may have the name in two attributes', async () => {
    const openCompany = await createOwnedCompany();
    await configureSso(openCompany, { ...samlProvider.configuration, jit_provisioning: true });
    const changes = { attributes: { 'urn:oid:2.5.4.4': 'Newcomer', 'User.FirstName': 'Nora' } };
    const { code } = readRedirect(
      await samlProvider.answerRequest(
        samlProvider.makeResponse(`parts@${openCompany.slug}.test`, changes),
        openCompany,
      ),
    );
    expect((await exchangeCode(code as string)).body.user.name).toBe('Nora Newcomer');
  });

  it('is requested without a NameID format', async () => {
    const url = await startSignIn(company);
    const xml = inflateRawSync(Buffer.from(url.searchParams.get('SAMLRequest') ?? '', 'base64')).toString();
    expect(xml).toContain('AuthnRequest');
    expect(xml).not.toContain('Format=');
    expect((await callApi('GET', `/v1/auth/sso/${company.slug}/metadata`)).body).not.toContain('NameIDFormat');
  });

  it('may have the conditions OneTimeUse and ProxyRestriction', async () => {
    const changes = { conditions: '<saml:OneTimeUse/><saml:ProxyRestriction Count="0"/>' };
    expect(
      await readSignedInEmail(
        await samlProvider.answerRequest(samlProvider.makeResponse(company.owner.email, changes)),
      ),
    ).toBe(company.owner.email);
  });

  it('may be signed with any of the configured certificates', async () => {
    const rotatingCompany = await createOwnedCompany();
    await configureSso(rotatingCompany, {
      ...samlProvider.configuration,
      idp_certificates: [(await createSigner()).certificate, samlProvider.signer.certificate],
    });
    expect(
      await readSignedInEmail(
        await samlProvider.answerRequest(samlProvider.makeResponse(rotatingCompany.owner.email), rotatingCompany),
      ),
    ).toBe(rotatingCompany.owner.email);
  });

  it('creates a user only where the company allows it', async () => {
    const email = `newcomer@${company.slug}.test`;
    expect(readRedirect(await samlProvider.answerRequest(samlProvider.makeResponse(email))).error).toBe(
      'user_not_found',
    );
    const openCompany = await createOwnedCompany();
    await configureSso(openCompany, { ...samlProvider.configuration, jit_provisioning: true });
    const changes = { attributes: { displayName: 'Nora Newcomer' } };
    const { body } = await exchangeCode(
      readRedirect(await samlProvider.answerRequest(samlProvider.makeResponse(email, changes), openCompany))
        .code as string,
    );
    expect(body.user).toMatchObject({ email, name: 'Nora Newcomer', company_id: openCompany.id });
  });
});

describe('the content of an assertion', () => {
  const pastTime = Date.now() - 10 * 60_000;
  it.each<[string, Partial<SamlStatement>]>([
    ['another audience', { audience: 'https://another.test' }],
    ['another recipient', { recipient: 'https://another.test/acs' }],
    ['another request', { inResponseTo: '_another' }],
    ['another request, in the response only', { responseInResponseTo: '_another' }],
    ['another issuer', { issuer: 'https://another.test' }],
    ['another issuer, in the assertion only', { issuer: 'https://another.test', responseIssuer: IDP_ENTITY_ID }],
    ['conditions that have ended', { notOnOrAfter: pastTime }],
    ['conditions that have not begun', { notBefore: Date.now() + 10 * 60_000 }],
    ['a confirmation that has ended', { confirmedUntil: pastTime }],
    ['a confirmation without an end', { confirmedUntil: null }],
    ['no NameID', { nameId: '</saml:NameID><saml:NameID>' }],
    ['two NameIDs', { nameId: `owner@a.test</saml:NameID><saml:NameID>owner@b.test` }],
    ['a NameID that holds more than text', { nameId: 'owner@<b>x</b>a.test' }],
    ['a condition that is not understood', { conditions: '<saml:Condition/>' }],
    ['a condition of another XML namespace', { conditions: '<OneTimeUse xmlns="urn:another"/>' }],
    ['a confirmation that is not for bearers', { method: 'urn:oasis:names:tc:SAML:2.0:cm:holder-of-key' }],
  ])('is refused with %s', async (_what, changes) => {
    expect(
      readRedirect(await samlProvider.answerRequest(samlProvider.makeResponse(company.owner.email, changes))),
    ).toEqual(REFUSED_REDIRECT);
  });

  it('is refused for another company of the same provider', async () => {
    const other = await createOwnedCompany();
    await configureSso(other, samlProvider.configuration);
    const stolenRequest = readAuthnRequest(await startSignIn(company));
    const response = samlProvider.makeResponse(other.owner.email)(stolenRequest);
    const { relayState } = readAuthnRequest(await startSignIn(other));
    const callbackAnswer = await answerByForm(other, { SAMLResponse: encodeBase64(response), RelayState: relayState });
    expect(readRedirect(callbackAnswer)).toEqual(REFUSED_REDIRECT);
  });

  it('is refused without an address', async () => {
    const changes = { nameId: 'S-1-5-21', nameIdFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent' };
    expect(
      readRedirect(await samlProvider.answerRequest(samlProvider.makeResponse(company.owner.email, changes))).error,
    ).toBe('email_missing');
  });
});

describe('an assertion', () => {
  it('is accepted once, even in answer to another request', async () => {
    const assertionId = `_${crypto.randomUUID()}`;
    expect(
      readRedirect(await samlProvider.answerRequest(samlProvider.makeResponse(company.owner.email, { assertionId })))
        .code,
    ).toBeTruthy();
    expect(
      readRedirect(await samlProvider.answerRequest(samlProvider.makeResponse(company.owner.email, { assertionId }))),
    ).toEqual(REFUSED_REDIRECT);
  });

  it('is refused a second time with the state of its own sign-in, even when it is replayed at the same time', async () => {
    const request = readAuthnRequest(await startSignIn(company));
    const fields = {
      SAMLResponse: encodeBase64(samlProvider.makeResponse(company.owner.email)(request)),
      RelayState: request.relayState,
    };
    const lateAnswer = await sendDuringRace(
      /^delete from "sso_logins"/,
      async () => expect(readRedirect(await answerByForm(company, fields)).code).toBeTruthy(),
      (env) => answerByForm(company, fields, env),
    );
    expect([lateAnswer.status, lateAnswer.body.error]).toEqual([400, 'INVALID_SSO_STATE']);
  });

  it('is refused with the state of another sign-in', async () => {
    const capturedRequest = readAuthnRequest(await startSignIn(company));
    const { relayState } = readAuthnRequest(await startSignIn(company));
    const SAMLResponse = encodeBase64(samlProvider.makeResponse(company.owner.email)(capturedRequest));
    expect(readRedirect(await answerByForm(company, { SAMLResponse, RelayState: relayState }))).toEqual(
      REFUSED_REDIRECT,
    );
  });

  it('is refused without a request of ours', async () => {
    const SAMLResponse = encodeBase64(
      samlProvider.makeResponse(company.owner.email)(readAuthnRequest(await startSignIn(company))),
    );
    for (const state of [{}, { RelayState: 'unknown' }]) {
      const { status, body } = await answerByForm(company, { SAMLResponse, ...state } as Record<string, string>);
      expect([status, body.error]).toEqual([400, 'INVALID_SSO_STATE']);
    }
  });
});

describe('the SAML metadata', () => {
  it('names the entity id and the callback, and wants signed assertions', async () => {
    const { status, headers, body } = await callApi('GET', `/v1/auth/sso/${company.slug}/metadata`);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('application/samlmetadata+xml');
    expect(body).toContain(`entityID="${BASE_URL}/v1/auth/sso/${company.slug}/metadata"`);
    expect(body).toContain(`Location="${makeCallbackUrl(company)}"`);
    expect(body).toContain('WantAssertionsSigned="true"');
  });

  it('is answered 404 without a SAML configuration', async () => {
    const { status, body } = await callApi('GET', `/v1/auth/sso/${(await createOwnedCompany()).slug}/metadata`);
    expect([status, body.error]).toEqual([404, 'SSO_NOT_CONFIGURED']);
  });
});
