import { existsSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import type { Demo } from '../../local/demo.ts';
import type { DemoDashboard } from '../../local/demo-dashboard.ts';
import { startSystem } from './system.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The running system, as its demo tells it; null without a browser. */
    demo: (Demo & DemoDashboard) | null;
    /** Path of Chromium; empty where it is not installed. */
    chromium: string;
  }
}

const PATHS = [process.env.CHROMIUM_PATH, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** One system for all browser tests. Without a browser they are skipped, and that is said. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const chromium = PATHS.find((path) => path !== undefined && existsSync(path)) ?? '';
  project.provide('chromium', chromium);
  if (chromium === '') {
    console.warn(
      'The tests of pages are skipped: there is no Chromium. Install it (apt-get install chromium), or set CHROMIUM_PATH.',
    );
    project.provide('demo', null);
    return undefined;
  }
  const system = await startSystem();
  project.provide('demo', system.demo);
  return system.stop;
}
