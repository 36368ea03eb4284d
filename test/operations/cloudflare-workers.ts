import type { LocalCloudflare, Route } from './cloudflare.ts';
import { NotFoundError, RefusedError } from './cloudflare.ts';

/** The metadata uploaded with a Worker, as far as the stand-in reads it. */
export interface WorkerMetadata {
  bindings: Record<string, string>[];
  migrations?: { new_tag: string };
  placement?: Record<string, string>;
  observability?: Record<string, unknown>;
}

/** A Worker that was uploaded to the stand-in. */
export interface UploadedWorker {
  scriptTag: string;
  metadata: WorkerMetadata;
  secrets: Map<string, string>;
  schedules: unknown[];
  uploadCount: number;
  migrationTag?: string;
  /** The `VERSION` of the Worker that runs after a rollback, which is not the one uploaded last. */
  rollbackVersion?: string;
}

/** An empty token in the form of a JWT, because wrangler parses it. */
const ASSETS_TOKEN = ['{}', '{"exp":9999999999}', 'signature'].map((segment) => btoa(segment)).join('.');

/** Lists the routes about Workers: upload, secrets, schedules, address. */
export function listWorkerRoutes(account: LocalCloudflare): [RegExp, Route][] {
  const { workers, databases, queues, buckets } = account;
  const findWorker = (name: string) => {
    const foundWorker = workers.get(name);
    if (!foundWorker) throw new NotFoundError(10007, 'This Worker does not exist on your account.');
    return foundWorker;
  };

  /** Refuses bindings of resources that do not exist, as Cloudflare does. */
  function checkBindings(bindings: WorkerMetadata['bindings']): void {
    const ids = [...databases.values()].map(({ uuid }) => uuid);
    for (const { type, name, id, database_id, bucket_name, jurisdiction, queue_name } of bindings) {
      const doesExist =
        (type !== 'd1' || ids.includes(database_id ?? id ?? '')) &&
        (type !== 'r2_bucket' ||
          (buckets.has(bucket_name ?? '') && buckets.get(bucket_name ?? '')?.jurisdiction === jurisdiction)) &&
        (type !== 'queue' || queues.has(queue_name ?? ''));
      if (!doesExist) throw new Error(`The binding ${name} of type ${type} names nothing that is there.`);
    }
  }

  async function upload(name: string, form: FormData) {
    const metadata: WorkerMetadata = JSON.parse(await readPartText(form.get('metadata')));
    checkBindings(metadata.bindings);
    const previousWorker = workers.get(name);
    const givenSecrets = metadata.bindings.flatMap(({ type, name: secret, text }): [string, string][] =>
      type === 'secret_text' ? [[secret ?? '', text ?? '']] : [],
    );
    const migrationTag = metadata.migrations?.new_tag ?? previousWorker?.migrationTag;
    workers.set(name, {
      scriptTag: previousWorker?.scriptTag ?? crypto.randomUUID(),
      metadata,
      // An upload never deletes secrets.
      secrets: new Map([...(previousWorker?.secrets ?? []), ...givenSecrets]),
      schedules: previousWorker?.schedules ?? [],
      uploadCount: (previousWorker?.uploadCount ?? 0) + 1,
      ...(migrationTag !== undefined && { migrationTag }),
    });
    const id = crypto.randomUUID();
    return {
      id,
      etag: id,
      pipeline_hash: id,
      mutable_pipeline_id: id,
      deployment_id: id,
      startup_time_ms: 1,
      resources: { script: { etag: id } },
      metadata: { has_preview: false },
    };
  }

  /** Returns a Worker whose secrets may change: only those of the version uploaded last, as at Cloudflare. */
  const findChangeableWorker = (name: string) => {
    const foundWorker = findWorker(name);
    if (foundWorker.rollbackVersion === undefined) return foundWorker;
    throw new RefusedError(
      400,
      10215,
      'Secret edit failed. The latest version of your Worker is not currently deployed.',
    );
  };

  return [
    [
      /^GET \/workers\/services\/([^/]+)$/,
      ([name = '']) => {
        const foundWorker = workers.get(name);
        if (!foundWorker) throw new NotFoundError(10090, 'workers.api.error.service_not_found');
        const { scriptTag: tag, migrationTag } = foundWorker;
        const script = { id: name, tag, tags: null, last_deployed_from: 'wrangler', migration_tag: migrationTag };
        return { id: name, default_environment: { environment: 'production', script } };
      },
    ],
    [/^POST \/workers\/scripts\/[^/]+\/assets-upload-session$/, () => ({ jwt: ASSETS_TOKEN, buckets: [] })],
    [/^PUT \/workers\/scripts\/([^/]+)$/, async ([name = ''], body) => upload(name, await body.form())],
    [/^POST \/workers\/scripts\/([^/]+)\/versions$/, async ([name = ''], body) => upload(name, await body.form())],
    [
      /^GET \/workers\/scripts\/([^/]+)\/versions$/,
      ([name = '']) => ({ items: findWorker(name).rollbackVersion === undefined ? [] : [{ id: 'newest' }] }),
    ],
    [
      /^GET \/workers\/scripts\/([^/]+)\/versions\/rolled-back-to$/,
      ([name = '']) => {
        const binding = { name: 'VERSION', type: 'plain_text', text: findWorker(name).rollbackVersion };
        return { id: 'rolled-back-to', resources: { bindings: [{ name: 'FILES', type: 'r2_bucket' }, binding] } };
      },
    ],
    [
      /^GET \/workers\/scripts\/([^/]+)\/deployments$/,
      ([name = '']) => {
        const versions = [{ version_id: 'rolled-back-to', percentage: 100 }];
        return { deployments: findWorker(name).rollbackVersion === undefined ? [] : [{ id: 'deployment', versions }] };
      },
    ],
    [/^POST \/workers\/scripts\/([^/]+)\/deployments$/, () => ({ id: crypto.randomUUID() })],
    [/^(GET|PATCH) \/workers\/scripts\/([^/]+)\/(script-)?settings$/, ([, name = '']) => findWorker(name).metadata],
    [/^(GET|POST) \/workers\/scripts\/([^/]+)\/subdomain$/, () => ({ enabled: true, previews_enabled: true })],
    [
      /^PUT \/workers\/scripts\/([^/]+)\/schedules$/,
      ([name = ''], body) => {
        findWorker(name).schedules = body.json() as unknown[];
        return { schedules: [] };
      },
    ],
    [
      /^GET \/workers\/scripts\/([^/]+)\/secrets$/,
      ([name = '']) => [...findWorker(name).secrets.keys()].map((secret) => ({ name: secret, type: 'secret_text' })),
    ],
    [
      /^PUT \/workers\/scripts\/([^/]+)\/secrets$/,
      ([worker = ''], body) => {
        const { name, text } = body.json();
        findChangeableWorker(worker).secrets.set(name, text);
        return { name, type: 'secret_text' };
      },
    ],
    [
      /^DELETE \/workers\/scripts\/([^/]+)\/secrets\/([^/]+)$/,
      ([worker = '', name = '']) => {
        if (!findChangeableWorker(worker).secrets.delete(name)) throw new NotFoundError(10056, 'Secret not found');
        return null;
      },
    ],
    [/^GET \/workers\/subdomain$/, () => ({ subdomain: account.subdomain })],
  ];
}

const readPartText = async (part: unknown): Promise<string> => (part instanceof Blob ? part.text() : String(part));
