import { type LocalNeon, startLocalNeon } from '../../local/neon/server.ts';
import type { NeonPlan } from '../../operations/deployment/neon.ts';

/** Neon's management API for those who only look: no PostgreSQL is behind it. The person's key is `person`. */
export const aNeonAccount = (
  stateDir: string,
  options: { organizationKey?: string; plan?: NeonPlan } = {},
): Promise<LocalNeon> =>
  startLocalNeon({
    stateDir,
    apiKey: 'person',
    postgres: { host: '127.0.0.1', port: 9, url: 'postgres://nobody' },
    ...options,
  });
