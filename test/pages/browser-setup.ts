import type { TestProject } from 'vitest/node';
import type { SigningKey } from '../../examples/embed/sign.ts';
import type { Demo } from '../../local/demo.ts';
import type { DemoDashboard } from '../../local/demo-dashboard.ts';
import { send } from '../support/send.ts';
import { type Chromium, findChromium } from './chromium.ts';
import { startSystem } from './system.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The demo data of the running system; null without a browser. */
    demo: (Demo & DemoDashboard) | null;
    /** A key of the demo's company that signs tokens of embeds; a company may have at most two such keys. */
    signingKey: SigningKey | null;
    /** The installed browser; null if none is installed. */
    chromium: Chromium | null;
  }
}

/** Starts one system for all browser tests. Without a browser the tests are skipped, and a message says so. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const chromium = await findChromium();
  project.provide('chromium', chromium);
  if (!chromium) {
    console.warn(
      'The tests of pages are skipped: no Chromium for this system comes with the packages. Install one, or set CHROMIUM_PATH to it.',
    );
    project.provide('demo', null);
    project.provide('signingKey', null);
    return undefined;
  }
  const system = await startSystem();
  project.provide('demo', system.demo);
  project.provide('signingKey', await createSigningKey(system.demo));
  return system.stop;
}

async function createSigningKey({ base_url, company, owner }: Demo): Promise<SigningKey> {
  const json = { company_slug: company.slug, ...owner };
  const { token } = await send<{ token: string }>(base_url, 'POST', '/v1/auth/login', { json });
  return send<SigningKey>(base_url, 'POST', '/api/v1/embed/signing-keys', { token });
}
