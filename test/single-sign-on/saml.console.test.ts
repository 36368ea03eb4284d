import { inflateRawSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { BASE_URL, call, createCaller } from '../support/api.ts';
import { sendOvertaken } from '../support/rival.ts';
import {
  type AuthnRequest,
  createSigner,
  encodeBase64,
  formatResponse,
  makeValidStatement,
  readAuthnRequest,
  type Statement,
  sign,
} from '../support/saml-idp.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { createSamlWorld, IDP, REFUSED, readSignedInEmail, type SamlWorld } from './saml-world.ts';
import {
  answerByForm,
  CONSOLE,
  callbackUrl,
  configureSso,
  exchangeCode,
  readRedirect,
  startSignIn,
} from './support.ts';

let world: SamlWorld;
let company: Company;
beforeAll(async () => {
  world = await createSamlWorld();
  company = world.company;
});

describe('a valid SAML response', () => {
  it('signs the user in', async () => {
    const answered = await world.answer(world.honest(company.owner.email));
    expect(readRedirect(answered)).toMatchObject({ to: CONSOLE, error: null });
    const { body } = await exchangeCode(readRedirect(answered).code as string);
    expect(body.user._id).toBe(company.owner.id);
    expect((await createCaller(body.token).get('/v1/auth/me')).status).toBe(200);
  });

  it('answers a request that names the service provider and its callback', async () => {
    const url = await startSignIn(company);
    expect(url.origin + url.pathname).toBe('https://idp.example.org/sso');
    expect(url.searchParams.get('tenant')).toBe('1');
    expect(readAuthnRequest(url)).toEqual({
      id: expect.stringMatching(/^_/),
      issuer: `${BASE_URL}/v1/auth/sso/${company.slug}/metadata`,
      acsUrl: callbackUrl(company),
      relayState: expect.stringMatching(/^[\w-]{43}$/),
    });
  });

  it('may also be signed as a whole', async () => {
    const both = (request: AuthnRequest) => sign(world.honest(company.owner.email)(request), 'Response', world.signer);
    expect(await readSignedInEmail(await world.answer(both))).toBe(company.owner.email);
  });

  it('may have the address in an attribute where the NameID holds none', async () => {
    const changes = {
      nameId: 'S-1-5-21',
      nameIdFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
      attributes: { mail: company.owner.email.toUpperCase(), displayName: 'Olga' },
    };
    expect(await readSignedInEmail(await world.answer(world.honest(company.owner.email, changes)))).toBe(
      company.owner.email,
    );
  });

  const PERSISTENT = { nameId: 'S-1-5-21', nameIdFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent' };

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
    const said = { ...PERSISTENT, attributes: { [name]: company.owner.email } };
    expect(await readSignedInEmail(await world.answer(world.honest(company.owner.email, said)))).toBe(
      company.owner.email,
    );
  });

  it.each<[what: string, values: (owner: string) => Record<string, string[]>, isIn: boolean]>([
    ['after empty values', (owner) => ({ mail: ['', ' ', owner] }), true],
    ['twice', (owner) => ({ mail: [owner, owner.toUpperCase()], 'User.Email': [owner] }), true],
    ['beside another, in one attribute', (owner) => ({ mail: [owner, 'x@y.test'] }), false],
    ['beside another, in two attributes', (owner) => ({ mail: [owner], email: ['x@y.test'] }), false],
  ])('has one address: %s', async (_what, values, isIn) => {
    const attributes = Object.entries(values(company.owner.email)).map(
      ([name, texts]) => [name, texts.join('</saml:AttributeValue><saml:AttributeValue>')] as const,
    );
    const said = { ...PERSISTENT, attributes: Object.fromEntries(attributes) };
    const answered = await world.answer(world.honest(company.owner.email, said));
    if (isIn) expect(await readSignedInEmail(answered)).toBe(company.owner.email);
    else expect(readRedirect(answered)).toEqual(REFUSED);
  });

  it('has the address and the name where the configuration says', async () => {
    const open = await aCompany();
    const attributes = { email: 'Work-Address', name: 'Nickname' };
    await configureSso(open, { ...world.configuration, jit_provisioning: true, attributes });
    expect((await open.as.get('/v1/auth/sso/config')).body.attributes).toEqual(attributes);
    const email = `named@${open.slug}.test`;
    const said = { mail: 'other@y.test', displayName: 'Nora', 'work-address': email, nickname: 'Nono' };
    const { code } = readRedirect(await world.answer(world.honest('x@y.test', { attributes: said }), open));
    expect((await exchangeCode(code as string)).body.user).toMatchObject({ email, name: 'Nono' });
    const without = await world.answer(world.honest('x@y.test', { attributes: { mail: email } }), open);
    expect(readRedirect(without).error).toBe('email_missing');
  });

  it('may have the name in two parts', async () => {
    const open = await aCompany();
    await configureSso(open, { ...world.configuration, jit_provisioning: true });
    const changes = { attributes: { 'urn:oid:2.5.4.4': 'Newcomer', 'User.FirstName': 'Nora' } };
    const { code } = readRedirect(await world.answer(world.honest(`parts@${open.slug}.test`, changes), open));
    expect((await exchangeCode(code as string)).body.user.name).toBe('Nora Newcomer');
  });

  it('is requested without a NameID format', async () => {
    const url = await startSignIn(company);
    const xml = inflateRawSync(Buffer.from(url.searchParams.get('SAMLRequest') ?? '', 'base64')).toString();
    expect(xml).toContain('AuthnRequest');
    expect(xml).not.toContain('Format=');
    expect((await call('GET', `/v1/auth/sso/${company.slug}/metadata`)).body).not.toContain('NameIDFormat');
  });

  it('may have the conditions OneTimeUse and ProxyRestriction', async () => {
    const changes = { conditions: '<saml:OneTimeUse/><saml:ProxyRestriction Count="0"/>' };
    expect(await readSignedInEmail(await world.answer(world.honest(company.owner.email, changes)))).toBe(
      company.owner.email,
    );
  });

  it('may be signed with any of the configured certificates', async () => {
    const rotating = await aCompany();
    await configureSso(rotating, {
      ...world.configuration,
      idp_certificates: [(await createSigner()).certificate, world.signer.certificate],
    });
    expect(await readSignedInEmail(await world.answer(world.honest(rotating.owner.email), rotating))).toBe(
      rotating.owner.email,
    );
  });

  it('creates a user only where the company allows it', async () => {
    const email = `newcomer@${company.slug}.test`;
    expect(readRedirect(await world.answer(world.honest(email))).error).toBe('user_not_found');
    const open = await aCompany();
    await configureSso(open, { ...world.configuration, jit_provisioning: true });
    const changes = { attributes: { displayName: 'Nora Newcomer' } };
    const { body } = await exchangeCode(
      readRedirect(await world.answer(world.honest(email, changes), open)).code as string,
    );
    expect(body.user).toMatchObject({ email, name: 'Nora Newcomer', company_id: open.id });
  });
});

describe('the content of an assertion', () => {
  const past = Date.now() - 10 * 60_000;
  it.each<[string, Partial<Statement>]>([
    ['another audience', { audience: 'https://another.test' }],
    ['another recipient', { recipient: 'https://another.test/acs' }],
    ['another request', { inResponseTo: '_another' }],
    ['another request, in the response only', { responseInResponseTo: '_another' }],
    ['another issuer', { issuer: 'https://another.test' }],
    ['another issuer, in the assertion only', { issuer: 'https://another.test', responseIssuer: IDP }],
    ['conditions that have ended', { notOnOrAfter: past }],
    ['conditions that have not begun', { notBefore: Date.now() + 10 * 60_000 }],
    ['a confirmation that has ended', { confirmedUntil: past }],
    ['a confirmation without an end', { confirmedUntil: null }],
    ['no NameID', { nameId: '</saml:NameID><saml:NameID>' }],
    ['two NameIDs', { nameId: `owner@a.test</saml:NameID><saml:NameID>owner@b.test` }],
    ['a NameID that holds more than text', { nameId: 'owner@<b>x</b>a.test' }],
    ['a condition that is not understood', { conditions: '<saml:Condition/>' }],
    ['a condition of another XML namespace', { conditions: '<OneTimeUse xmlns="urn:another"/>' }],
    ['a confirmation that is not for bearers', { method: 'urn:oasis:names:tc:SAML:2.0:cm:holder-of-key' }],
  ])('is refused with %s', async (_what, changes) => {
    expect(readRedirect(await world.answer(world.honest(company.owner.email, changes)))).toEqual(REFUSED);
  });

  it('is refused for another company of the same provider', async () => {
    const other = await aCompany();
    await configureSso(other, world.configuration);
    const stolen = readAuthnRequest(await startSignIn(company));
    const response = world.honest(other.owner.email)(stolen);
    const { relayState } = readAuthnRequest(await startSignIn(other));
    const answered = await answerByForm(other, { SAMLResponse: encodeBase64(response), RelayState: relayState });
    expect(readRedirect(answered)).toEqual(REFUSED);
  });

  it('is refused without an address', async () => {
    const changes = { nameId: 'S-1-5-21', nameIdFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent' };
    expect(readRedirect(await world.answer(world.honest(company.owner.email, changes))).error).toBe('email_missing');
  });

  it('is refused when the provider reports a failure', async () => {
    const failed = (request: AuthnRequest) =>
      formatResponse(makeValidStatement(request, IDP, ''), '').replace('status:Success', 'status:AuthnFailed');
    expect(readRedirect(await world.answer(failed)).error).toBe('access_denied');
  });
});

describe('an assertion', () => {
  it('is accepted once, even in answer to another request', async () => {
    const assertionId = `_${crypto.randomUUID()}`;
    expect(readRedirect(await world.answer(world.honest(company.owner.email, { assertionId }))).code).toBeTruthy();
    expect(readRedirect(await world.answer(world.honest(company.owner.email, { assertionId })))).toEqual(REFUSED);
  });

  it('is refused a second time with the state of its own sign-in, even when it is replayed at the same time', async () => {
    const request = readAuthnRequest(await startSignIn(company));
    const fields = {
      SAMLResponse: encodeBase64(world.honest(company.owner.email)(request)),
      RelayState: request.relayState,
    };
    const late = await sendOvertaken(
      /^delete from "sso_logins"/,
      async () => expect(readRedirect(await answerByForm(company, fields)).code).toBeTruthy(),
      (env) => answerByForm(company, fields, env),
    );
    expect([late.status, late.body.error]).toEqual([400, 'INVALID_SSO_STATE']);
  });

  it('is refused with the state of another sign-in', async () => {
    const captured = readAuthnRequest(await startSignIn(company));
    const { relayState } = readAuthnRequest(await startSignIn(company));
    const SAMLResponse = encodeBase64(world.honest(company.owner.email)(captured));
    expect(readRedirect(await answerByForm(company, { SAMLResponse, RelayState: relayState }))).toEqual(REFUSED);
  });

  it('is refused without a request', async () => {
    const SAMLResponse = encodeBase64(world.honest(company.owner.email)(readAuthnRequest(await startSignIn(company))));
    for (const state of [{}, { RelayState: 'unknown' }]) {
      const { status, body } = await answerByForm(company, { SAMLResponse, ...state } as Record<string, string>);
      expect([status, body.error]).toEqual([400, 'INVALID_SSO_STATE']);
    }
  });
});

describe('the SAML metadata', () => {
  it('names the entity id and the callback, and wants signed assertions', async () => {
    const { status, headers, body } = await call('GET', `/v1/auth/sso/${company.slug}/metadata`);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('application/samlmetadata+xml');
    expect(body).toContain(`entityID="${BASE_URL}/v1/auth/sso/${company.slug}/metadata"`);
    expect(body).toContain(`Location="${callbackUrl(company)}"`);
    expect(body).toContain('WantAssertionsSigned="true"');
  });

  it('is answered 404 without a SAML configuration', async () => {
    const { status, body } = await call('GET', `/v1/auth/sso/${(await aCompany()).slug}/metadata`);
    expect([status, body.error]).toEqual([404, 'SSO_NOT_CONFIGURED']);
  });
});
