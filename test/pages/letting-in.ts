import type { Page } from 'playwright-core';
import { send } from '../support/send.ts';
import { demo, inviteUser, url } from './world.ts';

const VERIFIER = 'a-verifier-that-is-long-enough-to-be-one-0123456789';
/** The program is on this machine, too: what it is led back to is a page of ours. */
const REDIRECT = `${url}/health`;

const FORM = 'application/x-www-form-urlencoded';
/** Sends a form as programs do. */
export const postForm = async (path: string, fields: Record<string, string>) => {
  const body = new URLSearchParams(fields).toString();
  const response = await fetch(url + path, { method: 'POST', headers: { 'content-type': FORM }, body });
  return (await response.json()) as Record<string, string>;
};

let clientId: Promise<string> | undefined;
/** A program that has registered itself. */
export const registerProgram = (): Promise<string> => {
  clientId ??= send<{ client_id: string }>(url, 'POST', '/oauth/register', {
    json: { redirect_uris: [REDIRECT], client_name: 'Sheets' },
  }).then((answer) => answer.client_id);
  return clientId;
};

/** Where a program sends the browser. */
export async function makeAuthorizationUrl(more: Record<string, string> = {}): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(VERIFIER));
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: await registerProgram(),
    redirect_uri: REDIRECT,
    code_challenge: Buffer.from(digest).toString('base64url'),
    code_challenge_method: 'S256',
    state: 'of-the-program',
    ...more,
  });
  return `${url}/oauth/authorize?${query}`;
}

/** Waits for the card of this heading. */
export const waitForHeading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor();

/** A user of the demo's company, of whom no other test knows. */
export async function createUser() {
  const email = `let-in-${crypto.randomUUID()}@example.com`;
  const password = 'quiet-harbour-lantern';
  const token = new URL(await inviteUser(email)).searchParams.get('token');
  await send(url, 'POST', '/v1/users/accept-invitation', { json: { token, password } });
  return { email, password };
}

/** Types the password of the owner, by keyboard. */
export async function signIn(page: Page, email = demo.owner.email, password = demo.owner.password): Promise<void> {
  await page.locator('input[type="email"]').fill(email);
  await page.locator('input[type="password"]').fill(password);
  await page.keyboard.press('Enter');
}

/** Where the browser was led back to, and the tokens that the program gets there. */
export async function exchangeCode(page: Page) {
  await page.waitForURL((address) => address.pathname === '/health');
  const { searchParams } = new URL(page.url());
  const tokens = await postForm('/oauth/token', {
    grant_type: 'authorization_code',
    client_id: await registerProgram(),
    code: searchParams.get('code') ?? '',
    redirect_uri: REDIRECT,
    code_verifier: VERIFIER,
  });
  return { searchParams, tokens };
}
