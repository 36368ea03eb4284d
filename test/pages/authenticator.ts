import type { Page } from 'playwright-core';

/** Creates a virtual authenticator in the browser that stores one key, and verifies the user. */
export async function createAuthenticator(page: Page, options: { isUserVerified?: boolean } = {}) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: options.isUserVerified ?? true,
      automaticPresenceSimulation: true,
    },
  });
}

/** Runs a WebAuthn ceremony in the page: W3C's own functions read the options and write the response. */
// biome-ignore lint/suspicious/noExplicitAny: options and responses go through as they are.
export const runCeremony = (page: Page, kind: 'create' | 'get', options: unknown): Promise<any> =>
  page.evaluate(
    async ([verb, json]) => {
      // biome-ignore lint/suspicious/noExplicitAny: the types of Node know no browser.
      const { PublicKeyCredential, navigator } = globalThis as any;
      const publicKey =
        verb === 'create'
          ? PublicKeyCredential.parseCreationOptionsFromJSON(json)
          : PublicKeyCredential.parseRequestOptionsFromJSON(json);
      return (await navigator.credentials[verb as string]({ publicKey })).toJSON();
    },
    [kind, options] as const,
  );
