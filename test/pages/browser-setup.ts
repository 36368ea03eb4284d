import type { TestProject } from 'vitest/node';
import type { Demo } from '../../local/demo.ts';
import type { DemoDashboard } from '../../local/demo-dashboard.ts';
import { type Chromium, findChromium } from './chromium.ts';
import { startSystem } from './system.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The running system, as its demo tells it; null without a browser. */
    demo: (Demo & DemoDashboard) | null;
    /** The browser; null where there is none. */
    chromium: Chromium | null;
  }
}

/** One system for all browser tests. Without a browser they are skipped, and that is said. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const chromium = await findChromium();
  project.provide('chromium', chromium);
  if (!chromium) {
    console.warn(
      'The tests of pages are skipped: no Chromium for this system comes with the packages. Install one, or set CHROMIUM_PATH to it.',
    );
    project.provide('demo', null);
    return undefined;
  }
  const system = await startSystem();
  project.provide('demo', system.demo);
  return system.stop;
}
