import { Secret, TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import { describe, expect, inject, it } from 'vitest';
import { AUTHORIZATION_TEXTS } from '../../src/texts/authorization/languages.ts';
import {
  createSigner,
  encodeBase64,
  formatAssertion,
  formatResponse,
  makeValidStatement,
  readAuthnRequest,
  signElement,
} from '../support/saml-idp.ts';
import { send } from '../support/send.ts';
import { createAuthenticator, runCeremony } from './authenticator.ts';
import { exchangeCode, makeAuthorizationUrl, signIn, waitForHeading } from './authorization.ts';
import { blockStorage, findAxeViolations, isBrowserInstalled, useBrowser } from './browser.ts';
import { demo, inviteUser, requestApi, url, useOwnCompany } from './demo-company.ts';

const texts = AUTHORIZATION_TEXTS.en;
/** The address of the page under the host name that passkeys are bound to. */
const localhostUrl = url.replace('127.0.0.1', 'localhost');
const STEP_MS = 30_000;

const findButton = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** Registers a client at the identity provider, as an administrator would. */
async function registerClient(metadata: Record<string, unknown>): Promise<Record<string, string>> {
  const response = await fetch(`${inject('oidcIssuer')}/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(metadata),
  });
  const client = (await response.json()) as Record<string, string>;
  if (!client.client_id) throw new Error(`The provider answered ${response.status}: ${JSON.stringify(client)}`);
  return client;
}

/** Signs in at the identity provider, and consents. */
async function signInAtProvider(page: Page, email: string): Promise<void> {
  await page.locator('input[name="login"]').fill(email);
  await page.locator('input[name="password"]').fill('any');
  await page.locator('button[type="submit"]').click();
  await page.locator('input[name="prompt"][value="consent"]').waitFor({ state: 'attached' });
  await page.locator('button[type="submit"]').click();
}

describe.skipIf(!isBrowserInstalled)('the OAuth consent page', () => {
  useOwnCompany();
  const openPage = useBrowser();

  const openConsentPage = async (otherParameters: Record<string, string> = {}) => {
    const provider = inject('oidcIssuer');
    const { page } = await openPage(
      await makeAuthorizationUrl({ company_slug: demo.company.slug, ...otherParameters }),
      {
        origins: [provider],
      },
    );
    // The provider's pages ask for a font.
    await page.route('https://fonts.googleapis.com/**', (route) => route.abort());
    return page;
  };
  const expectAuthorized = async (page: Page, email = demo.owner.email) => {
    await waitForHeading(page, texts.consentTitle('Sheets'));
    await page.getByText(texts.signedInAs(email, 'Demo')).waitFor();
    await findButton(page, texts.allow).click();
    expect((await exchangeCode(page)).tokens.token_type).toBe('Bearer');
  };

  it("signs in with a passkey, by keyboard, if the host name of the page belongs to the passkey's domain", async () => {
    const { company, owner } = demo;
    expect(await findButton(await openConsentPage(), texts.passkey).count()).toBe(0);
    const { page } = await openPage(`${localhostUrl}/docs`, { origins: [localhostUrl] });
    await createAuthenticator(page);
    const { password } = owner;
    const { token } = await send<{ token: string }>(url, 'POST', '/v1/auth/login', {
      json: { company_slug: company.slug, ...owner },
    });
    const options = await send(url, 'POST', '/v1/auth/passkeys/registration-options', { json: { password }, token });
    const response = await runCeremony(page, 'create', options);
    await send(url, 'POST', '/v1/auth/passkeys', { json: { name: 'This browser', response, password }, token });

    await page.goto((await makeAuthorizationUrl({ company_slug: company.slug })).replace(url, localhostUrl));
    await findButton(page, texts.passkey).waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    await findButton(page, texts.passkey).focus();
    await page.keyboard.press('Enter');
    await waitForHeading(page, texts.consentTitle('Sheets'));
    await findButton(page, texts.allow).click();
    expect((await exchangeCode(page)).searchParams.get('code')).toMatch(/\S/);
  });

  it('says that no passkey was used', async () => {
    const { page } = await openPage(
      (await makeAuthorizationUrl({ company_slug: demo.company.slug })).replace(url, localhostUrl),
      {
        origins: [localhostUrl],
      },
    );
    await createAuthenticator(page, { isUserVerified: false });
    await findButton(page, texts.passkey).click();
    await page.getByText(texts.noPasskey).waitFor();
    await signIn(page);
    await waitForHeading(page, texts.consentTitle('Sheets'));
  });

  it('signs in by an identity provider whose ID tokens the company accepts', async () => {
    const issuer = inject('oidcIssuer');
    const { client_id: audience } = await registerClient({
      application_type: 'native',
      redirect_uris: [`${url}/oauth/signed-in`],
      response_types: ['id_token'],
      grant_types: ['implicit'],
      token_endpoint_auth_method: 'none',
    });
    const unsuitableIssuer = `${inject('forgerUrl')}/form`;
    const providers = [
      { issuer, audience },
      { issuer, audience: 'an app' },
      { issuer: unsuitableIssuer, audience: 'another' },
    ];
    await requestApi('PUT', '/v1/auth/social/config', { providers });
    const page = await openConsentPage();
    const [usedButton, otherButton] = [
      texts.social(new URL(issuer).host),
      texts.social(new URL(unsuitableIssuer).host),
    ];
    await findButton(page, otherButton).click();
    await page.getByText(texts.failures.SOCIAL_PROVIDER_UNSUITABLE as string).waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    await findButton(page, usedButton).click();
    await signInAtProvider(page, demo.owner.email);
    await expectAuthorized(page);
  });

  it.each(['state', 'nonce'])('refuses an ID token that was issued for another sign-in: %s', async (member) => {
    const page = await openConsentPage();
    await page.route('**/v1/auth/social/*/start?*', async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: { ...(await answer.json()), [member]: 'of-another' } });
    });
    const tokenRequests: string[] = [];
    page.on('request', (request) => tokenRequests.push(new URL(request.url()).pathname));
    await findButton(page, texts.social(new URL(inject('oidcIssuer')).host)).click();
    await signInAtProvider(page, demo.owner.email);
    await page.getByText(texts.ssoFailed).waitFor();
    expect(tokenRequests).not.toContain('/v1/auth/social');
    await findButton(page, texts.next).click();
    await waitForHeading(page, texts.signIn('Demo'));
  });

  it('signs in by single sign-on with OpenID Connect, without being listed as a redirect URI', async () => {
    const { client_id, client_secret } = await registerClient({
      redirect_uris: [`${url}/v1/auth/sso/${demo.company.slug}/callback`],
    });
    await requestApi('PUT', '/v1/auth/sso/config', {
      type: 'oidc',
      issuer: inject('oidcIssuer'),
      client_id,
      client_secret,
      redirect_uris: ['https://console.example.com/signed-in'],
    });
    const page = await openConsentPage();
    await findButton(page, texts.sso).click();
    await signInAtProvider(page, demo.owner.email);
    await expectAuthorized(page);
  });

  it('says that the provider did not sign the user in, and offers to try again', async () => {
    const page = await openConsentPage();
    await findButton(page, texts.sso).click();
    await signInAtProvider(page, 'nobody@example.com');
    await page.getByText(texts.ssoFailed).waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    await findButton(page, texts.next).click();
    await waitForHeading(page, texts.signIn('Demo'));
  });

  it('says that single sign-on needs storage that the browser blocks, and lets the user sign in another way', async () => {
    const page = await openConsentPage();
    await blockStorage(page);
    await findButton(page, texts.sso).click();
    await page.getByText(texts.storageBlocked).waitFor();
    await signIn(page);
    await expectAuthorized(page);
  });

  it('signs in by single sign-on with SAML, and offers only that if the company requires single sign-on', async () => {
    const [signer, idp] = [await createSigner(), `${inject('forgerUrl')}/saml`];
    await requestApi('PUT', '/v1/auth/sso/config', {
      type: 'saml',
      idp_entity_id: idp,
      idp_sso_url: idp,
      idp_certificates: [signer.certificate],
      redirect_uris: ['https://console.example.com/signed-in'],
    });
    await requestApi('PUT', '/v1/company/settings', { sso_only: true });
    const { page } = await openPage(await makeAuthorizationUrl({ company_slug: demo.company.slug }), {
      origins: [inject('forgerUrl')],
    });
    await page.route(`${idp}?*`, async (route) => {
      const request = readAuthnRequest(new URL(route.request().url()));
      const samlStatement = makeValidStatement(request, idp, demo.owner.email);
      const response = encodeBase64(
        signElement(formatResponse(samlStatement, formatAssertion(samlStatement)), 'Assertion', signer),
      );
      const makeField = (name: string, value: string) => `<input type="hidden" name="${name}" value="${value}">`;
      const fields = makeField('SAMLResponse', response) + makeField('RelayState', request.relayState);
      await route.fulfill({
        contentType: 'text/html',
        body: `<form method="post" action="${request.acsUrl}">${fields}<button>Go on</button></form>`,
      });
    });
    await page.getByText(texts.ssoOnly).waitFor();
    expect(await page.locator('input').count()).toBe(0);
    expect(await findAxeViolations(page)).toEqual([]);
    await findButton(page, texts.sso).click();
    await findButton(page, 'Go on').click();
    await expectAuthorized(page);

    const ownersPage = await openConsentPage();
    await findButton(ownersPage, texts.passwordInstead).click();
    await signIn(ownersPage);
    await expectAuthorized(ownersPage);
    await requestApi('PUT', '/v1/company/settings', { sso_only: false });
  });

  it('has the user set up a second factor if the company requires it, and asks for the factor from then on', async () => {
    const [email, password] = ['second-step@example.com', 'quiet-harbour-lantern'];
    const token = new URL(await inviteUser(email)).searchParams.get('token');
    await send(url, 'POST', '/v1/users/accept-invitation', { json: { token, password } });
    await requestApi('PUT', '/v1/company/settings', { require_2fa: true });
    const ownersPage = await openConsentPage();
    await signIn(ownersPage);
    await ownersPage.getByText(texts.passkeyAsked).waitFor();
    const first = await openConsentPage();
    await first.route('**/2fa/setup', (route) => route.fulfill({ status: 503, json: {} }), { times: 1 });
    await signIn(first, email, password);
    await first.locator('[role=alert].error').waitFor();
    await findButton(first, texts.signInAction).click();
    await waitForHeading(first, texts.setupTitle);
    expect(await findAxeViolations(first)).toEqual([]);
    const secret = await first.locator('dd code').innerText();
    const startedAt = Date.now();
    const generateCode = (steps = 0) =>
      TOTP.generate({ secret: Secret.fromBase32(secret.replaceAll(' ', '')), timestamp: startedAt + steps * STEP_MS });
    await first.getByLabel(texts.code, { exact: true }).fill(generateCode());
    await first.keyboard.press('Enter');
    await waitForHeading(first, texts.backupTitle);
    expect(await findAxeViolations(first)).toEqual([]);
    const [backup = ''] = await first.locator('li code').allInnerTexts();
    await findButton(first, texts.next).click();
    await expectAuthorized(first, email);

    for (const typedCode of [generateCode(1), backup]) {
      const page = await openConsentPage();
      await signIn(page, email, password);
      await waitForHeading(page, texts.factorTitle);
      expect(await findAxeViolations(page)).toEqual([]);
      // It was used already.
      await page.getByLabel(texts.code, { exact: true }).fill(generateCode());
      await page.keyboard.press('Enter');
      await page.getByText(texts.failures.INVALID_2FA_CODE as string).waitFor();
      await page.getByLabel(texts.code, { exact: true }).fill(typedCode);
      await page.keyboard.press('Enter');
      await expectAuthorized(page, email);
    }
  });
});
