import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { send } from '../support/send.ts';
import { createAuthenticator, runCeremony } from './authenticator.ts';
import { isBrowserInstalled, useBrowser } from './browser.ts';
import { demo, url, useOwnCompany } from './world.ts';

/** The page of the API under the name that passkeys are bound to. */
const named = url.replace('127.0.0.1', 'localhost');

describe.skipIf(!isBrowserInstalled)('a passkey made by a real browser', () => {
  useOwnCompany();
  const open = useBrowser();
  // biome-ignore lint/suspicious/noExplicitAny: answers of several routes.
  const post = (path: string, json: unknown, token?: string): Promise<any> =>
    send(url, 'POST', path, { json, ...(token && { token }) });
  const signInOptions = () => post('/v1/auth/passkeys/authentication-options', { company_slug: demo.company.slug });
  const verify = async (page: Page) =>
    post('/v1/auth/passkeys/verify', {
      company_slug: demo.company.slug,
      response: await runCeremony(page, 'get', await signInOptions()),
    });

  it('signs its user in, with the options that the API answers', async () => {
    const { page } = await open(`${named}/docs`, { origins: [named] });
    await createAuthenticator(page);
    const { company, owner } = demo;
    const { password } = owner;
    const { token } = await post('/v1/auth/login', { company_slug: company.slug, ...owner });
    const options = await post('/v1/auth/passkeys/registration-options', { password }, token);
    expect(options.rp.id).toBe('localhost');
    const response = await runCeremony(page, 'create', options);
    const passkey = await post('/v1/auth/passkeys', { name: 'This browser', response, password }, token);
    expect(passkey).toMatchObject({ name: 'This browser', last_used_at: null });

    const signedIn = await verify(page);
    expect(signedIn.user.email).toBe(owner.email);
    const { records } = await send<{ records: unknown[] }>(url, 'GET', '/v1/auth/passkeys', { token: signedIn.token });
    expect(records).toEqual([{ ...passkey, last_used_at: expect.any(String) }]);
    expect(await verify(page)).toHaveProperty('token');

    // The authenticator makes no second one for the same person.
    const again = await post('/v1/auth/passkeys/registration-options', { password }, token);
    await expect(runCeremony(page, 'create', again)).rejects.toThrow('InvalidStateError');
  });

  it('is not used when the authenticator does not verify the user', async () => {
    const { page } = await open(`${named}/docs`, { origins: [named] });
    await createAuthenticator(page, { isUserVerified: false });
    await expect(signInOptions().then((options) => runCeremony(page, 'get', options))).rejects.toThrow(
      'NotAllowedError',
    );
  });
});
