import type { D1Migration } from 'cloudflare:test';
import type { Bindings } from '../../src/config.ts';

declare global {
  namespace Cloudflare {
    interface Env extends Bindings {
      CONTROL_DB_MIGRATIONS: D1Migration[];
      PLATFORM_ADMIN_TOKEN: string;
      JWT_PRIVATE_KEYS: string;
      ENCRYPTION_KEYS: string;
    }
  }
}
