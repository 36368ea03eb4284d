import { createHash } from 'node:crypto';
import worker from '../../src/api.ts';
import type { Bindings } from '../../src/config.ts';
import { runScheduled } from '../../src/jobs/scheduled.ts';
import { clock } from '../../src/kernel/clock.ts';
import { listSegments, type StoredFile } from '../../src/modules/uploads/receive.ts';

export * from '../../src/api.ts';

const MINUTE_MS = 60_000;
const readRealTime = clock.now;

/**
 * The API's Worker, with a route `/sweep?minutes=` that makes the scheduled run as if that many minutes had passed, and
 * a route `/digest` for the SHA-256 of a stored file.
 */
export default {
  async fetch(request: Request, env: Bindings, execution: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/digest') return Response.json({ digest: await digestFile(env.FILES, await request.json()) });
    if (pathname !== '/sweep') return worker.fetch(request, env, execution);
    const scheduledTime = readRealTime() + Number(searchParams.get('minutes')) * MINUTE_MS;
    clock.now = () => scheduledTime;
    try {
      await runScheduled(
        { scheduledTime, cron: '* * * * *', noRetry: () => {} } as ScheduledController,
        env,
        execution,
      );
    } finally {
      clock.now = readRealTime;
    }
    return Response.json({});
  },
};

async function digestFile(files: R2Bucket, file: StoredFile): Promise<string> {
  const hash = createHash('sha256');
  for (const { key } of listSegments(file)) {
    const object = await files.get(key);
    if (!object) throw new Error(`${key} is not stored.`);
    hash.update(new Uint8Array(await object.arrayBuffer()));
  }
  return hash.digest('hex');
}
