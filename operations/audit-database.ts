import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { unstable_readConfig as readConfig } from 'wrangler';

const BINDING = 'AUDIT_DB';
const PROJECT = resolve(import.meta.dirname, '..');

/** The audit database, as far as an operator's command needs it. */
export interface AuditDatabase {
  /** Runs one statement. @returns its rows */
  query<Row>(statement: string): Promise<Row[]>;
  close(): Promise<void>;
}

/** That of production, through wrangler and whoever is logged in to it. */
export function openRemote(): AuditDatabase {
  return {
    async query(statement) {
      const options = ['d1', 'execute', BINDING, '--remote', '--json', '--command', statement];
      const { stdout } = await promisify(execFile)('wrangler', options, { cwd: PROJECT, maxBuffer: 64 * 1024 * 1024 });
      return JSON.parse(stdout)[0].results;
    },
    close: async () => undefined,
  };
}

/** That of the local state folder; a running start does not mind. @throws Error when nothing was ever started there */
export async function openLocal(): Promise<AuditDatabase> {
  const storage = join(resolve(process.env.LOCAL_STATE_DIR ?? join(PROJECT, '.local')), 'worker', 'storage');
  if (!existsSync(storage)) throw new Error(`There is nothing in ${storage}: run npm start, or set LOCAL_STATE_DIR.`);
  const { d1_databases } = readConfig({ config: join(PROJECT, 'wrangler.toml') });
  const id = d1_databases.find(({ binding }: { binding: string }) => binding === BINDING)?.database_id ?? BINDING;
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: 'export default {}',
      d1Databases: { [BINDING]: id },
      resourcePersistencePath: storage,
      cf: false,
      telemetry: { enabled: false },
    }),
  );
  const database = await miniflare.getD1Database(BINDING);
  return {
    query: async <Row>(statement: string) => (await database.prepare(statement).all<Row>()).results,
    close: () => miniflare.dispose(),
  };
}
