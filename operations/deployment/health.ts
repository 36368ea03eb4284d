import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../problem.ts';

const PAUSE_MS = 2000;

/** Waits until `/health` says that this version works; a new address resolves after a minute. @throws Problem */
export async function waitForHealth(url: string, version: string, timeoutMs: number): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const healthAnswer = await fetchHealth(`${url}/health`);
    if (healthAnswer.status === 200 && healthAnswer.version === version) return;
    if (Date.now() + PAUSE_MS > deadline) {
      throw new Problem(
        `${url}/health does not answer that version ${version} is well: ${healthAnswer.text}\n` +
          'Look into the log with `npx wrangler tail`; docs/operations.md says how to roll back.',
      );
    }
    await sleep(PAUSE_MS);
  }
}

async function fetchHealth(url: string): Promise<{ status: number; version?: unknown; text: string }> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
    const text = (await response.text()).slice(0, 500);
    const version = response.headers.get('content-type')?.includes('json') ? JSON.parse(text).version : undefined;
    return { status: response.status, version, text: `${response.status} ${text}` };
  } catch (error) {
    return { status: 0, text: (error as Error).message };
  }
}
