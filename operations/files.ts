import { CloudflareAccount, readCredentials } from './cloudflare.ts';
import { findLocalState, openLocalStorage } from './database.ts';
import { JURISDICTIONS, parseEnvironmentName, readEnvironment } from './environments.ts';
import { connectToLocalSystem } from './local-endpoint.ts';
import { Problem } from './problem.ts';

/** Access to the R2 bucket, as far as an operator's command needs it. */
export interface Files {
  /** Lists all keys below a prefix, in order. */
  list(prefix: string): Promise<string[]>;
  /** Reads the text of a file, or undefined if it does not exist. */
  get(key: string): Promise<string | undefined>;
  put(key: string, text: string): Promise<void>;
  close(): Promise<void>;
}

/** Opens the bucket of the environment given by `--env`, or of the local state without it. */
export async function openFiles(env: string | undefined): Promise<Files> {
  if (env === undefined) return openLocalFiles();
  const { bucketNames, settings, workerName } = await readEnvironment(parseEnvironmentName(env));
  const account = new CloudflareAccount(await readCredentials(process.env));
  const bucket = bucketNames[0] ?? '';
  // A bucket is found in its own jurisdiction only, which stays the one that it was made in.
  for (const jurisdiction of new Set([settings.location.jurisdiction, null, ...JURISDICTIONS])) {
    const location = { hint: null, jurisdiction };
    if (await account.hasBucket(bucket, location)) {
      return { ...account.openBucketFiles(bucket, location), close: async () => undefined };
    }
  }
  throw new Problem(`There is no bucket ${bucket} of ${workerName} yet: npm run deploy -- --env ${env}`);
}

/** Opens the bucket of the local state folder, through the start that runs on it, if any. */
async function openLocalFiles(): Promise<Files> {
  const endpoint = await connectToLocalSystem(findLocalState());
  if (endpoint) {
    return {
      list: async (prefix) => (await endpoint({ files: 'list', prefix })) as string[],
      get: async (key) => ((await endpoint({ files: 'get', key })) as string[])[0],
      put: async (key, text) => void (await endpoint({ files: 'put', key, text })),
      close: async () => undefined,
    };
  }
  const miniflare = await openLocalStorage('export default {}', ({ r2_buckets }) => ({
    r2Buckets: { FILES: r2_buckets[0]?.bucket_name ?? 'FILES' },
  }));
  return {
    ...toFiles((await miniflare.getR2Bucket('FILES')) as unknown as MiniflareBucket),
    close: () => miniflare.dispose(),
  };
}

/** Used part of Miniflare's bucket. */
interface MiniflareBucket {
  list(options: { prefix: string; cursor?: string }): Promise<{
    objects: { key: string }[];
    truncated: boolean;
    cursor?: string;
  }>;
  get(key: string): Promise<{ text(): Promise<string> } | null>;
  put(key: string, text: string): Promise<unknown>;
}

/** Makes the access to a bucket of a running Miniflare. */
export const toFiles = (bucket: MiniflareBucket): Omit<Files, 'close'> => ({
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
