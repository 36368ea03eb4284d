import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What a local start tells whoever works with it, in `demo.json`. Members appear as the parts they name exist. */
export interface DemoFacts {
  /** Address of the console API. */
  base_url: string;
  /** Address of the organization API. */
  iam_base_url: string;
  company?: { id: string; slug: string };
  account_id?: string;
  owner?: { email: string; password: string };
  service_account?: { id: string; access_key: string; secret_key: string };
  platform_admin_token: string;
  mailbox_url: string;
  /** The demo company's own Postgres, straight on the local server; without a demo company the server's superuser. */
  postgres_url: string;
  table_id?: string;
  dashboard_id?: string;
  visualization_id?: string;
  embed_url?: string;
  public_share_url?: string;
}

/** Writes `demo.json` into the state folder, whole or not at all. It holds secrets. */
export async function writeDemoFacts(stateDir: string, facts: DemoFacts): Promise<string> {
  const file = join(stateDir, 'demo.json');
  await writeFile(`${file}.new`, `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return file;
}
