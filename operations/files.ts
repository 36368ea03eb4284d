import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CloudflareAccount, credentialsFrom } from './cloudflare.ts';
import { localState } from './database.ts';
import { environmentName, environmentOf, JURISDICTIONS, PROJECT } from './environments.ts';
import { connectToStart } from './local-endpoint.ts';
import { Problem } from './problem.ts';

/** The R2 bucket, as far as an operator's command needs it. */
export interface Files {
  /** All keys below a prefix, in order. */
  list(prefix: string): Promise<string[]>;
  /** The text of a file, or undefined where there is none. */
  get(key: string): Promise<string | undefined>;
  put(key: string, text: string): Promise<void>;
  close(): Promise<void>;
}

/** That of the environment that someone typed behind `--env`, or of the local state when nobody did. */
export async function openFiles(env: string | undefined): Promise<Files> {
  if (env === undefined) return openLocalFiles();
  const { bucketNames, settings, workerName } = await environmentOf(environmentName(env));
  const account = new CloudflareAccount(await credentialsFrom(process.env));
  const bucket = bucketNames[0] ?? '';
  // A bucket is found in its own jurisdiction only, which stays the one that it was made in.
  for (const jurisdiction of new Set([settings.location.jurisdiction, null, ...JURISDICTIONS])) {
    const location = { hint: null, jurisdiction };
    if (await account.hasBucket(bucket, location)) {
      return { ...account.files(bucket, location), close: async () => undefined };
    }
  }
  throw new Problem(`There is no bucket ${bucket} of ${workerName} yet: npm run deploy -- --env ${env}`);
}

/** That of the local state folder, through the start that runs on it, if one does. @throws Problem when none ever did */
async function openLocalFiles(): Promise<Files> {
  const door = await connectToStart(localState());
  if (door) {
    return {
      list: async (prefix) => (await door({ files: 'list', prefix })) as string[],
      get: async (key) => ((await door({ files: 'get', key })) as string[])[0],
      put: async (key, text) => void (await door({ files: 'put', key, text })),
      close: async () => undefined,
    };
  }
  const storage = join(localState(), 'worker', 'storage');
  if (!existsSync(storage)) throw new Problem(`There is nothing in ${storage}: run npm start, or set LOCAL_STATE_DIR.`);
  const { convertV4MiniflareOptions, Miniflare } = await import('miniflare');
  const { unstable_readConfig: readConfig } = await import('wrangler');
  const { r2_buckets } = readConfig({ config: join(PROJECT, 'wrangler.toml') });
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: 'export default {}',
      r2Buckets: { FILES: r2_buckets[0]?.bucket_name ?? 'FILES' },
      resourcePersistencePath: storage,
      cf: false,
      telemetry: { enabled: false },
    }),
  );
  return { ...filesOf((await miniflare.getR2Bucket('FILES')) as unknown as Bucket), close: () => miniflare.dispose() };
}

/** What Miniflare hands out, as far as it is used. */
interface Bucket {
  list(options: { prefix: string; cursor?: string }): Promise<{
    objects: { key: string }[];
    truncated: boolean;
    cursor?: string;
  }>;
  get(key: string): Promise<{ text(): Promise<string> } | null>;
  put(key: string, text: string): Promise<unknown>;
}

/** A bucket of a running Miniflare. */
export const filesOf = (bucket: Bucket): Omit<Files, 'close'> => ({
  async list(prefix) {
    const keys: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await bucket.list({ prefix, ...(cursor && { cursor }) });
      keys.push(...page.objects.map(({ key }) => key));
      if (!page.truncated) return keys;
      cursor = page.cursor;
    }
  },
  get: async (key) => (await bucket.get(key))?.text(),
  put: async (key, text) => void (await bucket.put(key, text)),
});
