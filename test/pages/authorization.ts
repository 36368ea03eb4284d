import type { Page } from 'playwright-core';
import { send } from '../support/send.ts';
import { demo, inviteUser, url } from './demo-company.ts';

const CODE_VERIFIER = 'a-verifier-that-is-long-enough-to-be-one-0123456789';
/** The redirect URI of the OAuth client: an address of the tested system itself. */
const REDIRECT_URI = `${url}/health`;

const FORM_CONTENT_TYPE = 'application/x-www-form-urlencoded';
/** Sends a form as OAuth clients do. */
export const postForm = async (path: string, fields: Record<string, string>) => {
  const body = new URLSearchParams(fields).toString();
  const response = await fetch(url + path, { method: 'POST', headers: { 'content-type': FORM_CONTENT_TYPE }, body });
  return (await response.json()) as Record<string, string>;
};

let registeredClientId: Promise<string> | undefined;
/** Registers an OAuth client once. @returns its client id */
export const registerClientOnce = (): Promise<string> => {
  registeredClientId ??= send<{ client_id: string }>(url, 'POST', '/oauth/register', {
    json: { redirect_uris: [REDIRECT_URI], client_name: 'Sheets' },
  }).then((answer) => answer.client_id);
  return registeredClientId;
};

/** Returns the authorization URL to which an OAuth client sends the browser. */
export async function makeAuthorizationUrl(otherParameters: Record<string, string> = {}): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(CODE_VERIFIER));
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: await registerClientOnce(),
    redirect_uri: REDIRECT_URI,
    code_challenge: Buffer.from(digest).toString('base64url'),
    code_challenge_method: 'S256',
    state: 'of-the-program',
    ...otherParameters,
  });
  return `${url}/oauth/authorize?${query}`;
}

/** Waits for the card with this heading. */
export const waitForHeading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor();

/** Creates a user of the demo's company, whom no other test uses. */
export async function createUser() {
  const email = `authorization-${crypto.randomUUID()}@example.com`;
  const password = 'quiet-harbour-lantern';
  const token = new URL(await inviteUser(email)).searchParams.get('token');
  await send(url, 'POST', '/v1/users/accept-invitation', { json: { token, password } });
  return { email, password };
}

/** Types the e-mail address and the password by keyboard, of the owner by default. */
export async function signIn(page: Page, email = demo.owner.email, password = demo.owner.password): Promise<void> {
  await page.locator('input[type="email"]').fill(email);
  await page.locator('input[type="password"]').fill(password);
  await page.keyboard.press('Enter');
}

/** Exchanges the code in the redirect URI that the browser reached. @returns the URI and the tokens */
export async function exchangeCode(page: Page) {
  await page.waitForURL((address) => address.pathname === '/health');
  const { searchParams } = new URL(page.url());
  const tokens = await postForm('/oauth/token', {
    grant_type: 'authorization_code',
    client_id: await registerClientOnce(),
    code: searchParams.get('code') ?? '',
    redirect_uri: REDIRECT_URI,
    code_verifier: CODE_VERIFIER,
  });
  return { searchParams, tokens };
}
