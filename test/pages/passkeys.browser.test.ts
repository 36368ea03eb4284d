import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { send } from '../support/send.ts';
import { createAuthenticator, runCeremony } from './authenticator.ts';
import { isBrowserInstalled, useBrowser } from './browser.ts';
import { demo, url, useOwnCompany } from './demo-company.ts';

/** The address of the API under the host name that passkeys are bound to. */
const localhostUrl = url.replace('127.0.0.1', 'localhost');

describe.skipIf(!isBrowserInstalled)('a passkey made by a real browser', () => {
  useOwnCompany();
  const openPage = useBrowser();
  // biome-ignore lint/suspicious/noExplicitAny: answers of several routes.
  const postJson = (path: string, json: unknown, token?: string): Promise<any> =>
    send(url, 'POST', path, { json, ...(token && { token }) });
  const requestSignInOptions = () =>
    postJson('/v1/auth/passkeys/authentication-options', { company_slug: demo.company.slug });
  const verifyPasskey = async (page: Page) =>
    postJson('/v1/auth/passkeys/verify', {
      company_slug: demo.company.slug,
      response: await runCeremony(page, 'get', await requestSignInOptions()),
    });

  it('signs its user in, with the options that the API answers', async () => {
    const { page } = await openPage(`${localhostUrl}/docs`, { origins: [localhostUrl] });
    await createAuthenticator(page);
    const { company, owner } = demo;
    const { password } = owner;
    const { token } = await postJson('/v1/auth/login', { company_slug: company.slug, ...owner });
    const options = await postJson('/v1/auth/passkeys/registration-options', { password }, token);
    expect(options.rp.id).toBe('localhost');
    const response = await runCeremony(page, 'create', options);
    const passkey = await postJson('/v1/auth/passkeys', { name: 'This browser', response, password }, token);
    expect(passkey).toMatchObject({ name: 'This browser', last_used_at: null });

    const signInResult = await verifyPasskey(page);
    expect(signInResult.user.email).toBe(owner.email);
    const { records } = await send<{ records: unknown[] }>(url, 'GET', '/v1/auth/passkeys', {
      token: signInResult.token,
    });
    expect(records).toEqual([{ ...passkey, last_used_at: expect.any(String) }]);
    expect(await verifyPasskey(page)).toHaveProperty('token');

    // The authenticator makes no second one for the same person.
    const repeatedOptions = await postJson('/v1/auth/passkeys/registration-options', { password }, token);
    await expect(runCeremony(page, 'create', repeatedOptions)).rejects.toThrow('InvalidStateError');
  });

  it('is not used when the authenticator does not verify the user', async () => {
    const { page } = await openPage(`${localhostUrl}/docs`, { origins: [localhostUrl] });
    await createAuthenticator(page, { isUserVerified: false });
    await expect(requestSignInOptions().then((options) => runCeremony(page, 'get', options))).rejects.toThrow(
      'NotAllowedError',
    );
  });
});
