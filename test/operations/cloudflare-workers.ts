import type { LocalCloudflare, Route } from './cloudflare.ts';
import { NotFound, RefusedError } from './cloudflare.ts';

/** What is uploaded with a Worker, as far as it is looked at. */
export interface Metadata {
  bindings: Record<string, string>[];
  migrations?: { new_tag: string };
  placement?: Record<string, string>;
  observability?: Record<string, unknown>;
}

/** A Worker of the stand-in. */
export interface UploadedWorker {
  tag: string;
  metadata: Metadata;
  secrets: Map<string, string>;
  schedules: unknown[];
  uploads: number;
  migrationTag?: string;
  /** Once somebody rolled back: the `VERSION` of what runs, which is not what was uploaded last. */
  rolledBackTo?: string;
}

/** A token that says nothing, in the form of a JWT: wrangler looks into it. */
const ASSETS_TOKEN = ['{}', '{"exp":9999999999}', 'signature'].map((part) => btoa(part)).join('.');

/** Routes about Workers: upload, secrets, schedules, address. */
export function listWorkerRoutes(account: LocalCloudflare): [RegExp, Route][] {
  const { workers, databases, queues, buckets } = account;
  const workerOf = (name: string) => {
    const found = workers.get(name);
    if (!found) throw new NotFound(10007, 'This Worker does not exist on your account.');
    return found;
  };

  /** As Cloudflare does, refuses bindings of what is not there. */
  function checkBindings(bindings: Metadata['bindings']): void {
    const ids = [...databases.values()].map(({ uuid }) => uuid);
    for (const { type, name, id, database_id, bucket_name, jurisdiction, queue_name } of bindings) {
      const isThere =
        (type !== 'd1' || ids.includes(database_id ?? id ?? '')) &&
        (type !== 'r2_bucket' ||
          (buckets.has(bucket_name ?? '') && buckets.get(bucket_name ?? '')?.jurisdiction === jurisdiction)) &&
        (type !== 'queue' || queues.has(queue_name ?? ''));
      if (!isThere) throw new Error(`The binding ${name} of type ${type} names nothing that is there.`);
    }
  }

  async function upload(name: string, form: FormData) {
    const metadata: Metadata = JSON.parse(await readText(form.get('metadata')));
    checkBindings(metadata.bindings);
    const known = workers.get(name);
    const given = metadata.bindings.flatMap(({ type, name: secret, text }): [string, string][] =>
      type === 'secret_text' ? [[secret ?? '', text ?? '']] : [],
    );
    const migrationTag = metadata.migrations?.new_tag ?? known?.migrationTag;
    workers.set(name, {
      tag: known?.tag ?? crypto.randomUUID(),
      metadata,
      // An upload never deletes secrets.
      secrets: new Map([...(known?.secrets ?? []), ...given]),
      schedules: known?.schedules ?? [],
      uploads: (known?.uploads ?? 0) + 1,
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

  /** As Cloudflare does, changes secrets of the version that was uploaded last alone. */
  const changeable = (name: string) => {
    const found = workerOf(name);
    if (found.rolledBackTo === undefined) return found;
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
        const found = workers.get(name);
        if (!found) throw new NotFound(10090, 'workers.api.error.service_not_found');
        const { tag, migrationTag } = found;
        const script = { id: name, tag, tags: null, last_deployed_from: 'wrangler', migration_tag: migrationTag };
        return { id: name, default_environment: { environment: 'production', script } };
      },
    ],
    [/^POST \/workers\/scripts\/[^/]+\/assets-upload-session$/, () => ({ jwt: ASSETS_TOKEN, buckets: [] })],
    [/^PUT \/workers\/scripts\/([^/]+)$/, async ([name = ''], body) => upload(name, await body.form())],
    [/^POST \/workers\/scripts\/([^/]+)\/versions$/, async ([name = ''], body) => upload(name, await body.form())],
    [
      /^GET \/workers\/scripts\/([^/]+)\/versions$/,
      ([name = '']) => ({ items: workerOf(name).rolledBackTo === undefined ? [] : [{ id: 'newest' }] }),
    ],
    [
      /^GET \/workers\/scripts\/([^/]+)\/versions\/rolled-back-to$/,
      ([name = '']) => {
        const binding = { name: 'VERSION', type: 'plain_text', text: workerOf(name).rolledBackTo };
        return { id: 'rolled-back-to', resources: { bindings: [{ name: 'FILES', type: 'r2_bucket' }, binding] } };
      },
    ],
    [
      /^GET \/workers\/scripts\/([^/]+)\/deployments$/,
      ([name = '']) => {
        const versions = [{ version_id: 'rolled-back-to', percentage: 100 }];
        return { deployments: workerOf(name).rolledBackTo === undefined ? [] : [{ id: 'deployment', versions }] };
      },
    ],
    [/^POST \/workers\/scripts\/([^/]+)\/deployments$/, () => ({ id: crypto.randomUUID() })],
    [/^(GET|PATCH) \/workers\/scripts\/([^/]+)\/(script-)?settings$/, ([, name = '']) => workerOf(name).metadata],
    [/^(GET|POST) \/workers\/scripts\/([^/]+)\/subdomain$/, () => ({ enabled: true, previews_enabled: true })],
    [
      /^PUT \/workers\/scripts\/([^/]+)\/schedules$/,
      ([name = ''], body) => {
        workerOf(name).schedules = body.json() as unknown as unknown[];
        return { schedules: [] };
      },
    ],
    [
      /^GET \/workers\/scripts\/([^/]+)\/secrets$/,
      ([name = '']) => [...workerOf(name).secrets.keys()].map((secret) => ({ name: secret, type: 'secret_text' })),
    ],
    [
      /^PUT \/workers\/scripts\/([^/]+)\/secrets$/,
      ([worker = ''], body) => {
        const { name, text } = body.json();
        changeable(worker).secrets.set(name, text);
        return { name, type: 'secret_text' };
      },
    ],
    [
      /^DELETE \/workers\/scripts\/([^/]+)\/secrets\/([^/]+)$/,
      ([worker = '', name = '']) => {
        if (!changeable(worker).secrets.delete(name)) throw new NotFound(10056, 'Secret not found');
        return null;
      },
    ],
    [/^GET \/workers\/subdomain$/, () => ({ subdomain: account.subdomain })],
  ];
}

const readText = async (part: unknown): Promise<string> => (part instanceof Blob ? part.text() : String(part));
