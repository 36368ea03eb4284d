import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Miniflare, V4WorkerOptionsShape } from 'miniflare';
import type { unstable_readConfig } from 'wrangler';
import { CloudflareAccount, readCredentials } from './cloudflare.ts';
import { type Environment, PROJECT, parseEnvironmentName, readEnvironment } from './environments.ts';
import { connectToLocalSystem } from './local-endpoint.ts';
import { Problem } from './problem.ts';

type DatabaseBinding = keyof Environment['databaseNames'];

/** Access to a D1 database, as far as operators' commands need it. */
export interface Database {
  /** Runs one statement with bound values. @returns its rows */
  query<Row>(statement: string, ...values: string[]): Promise<Row[]>;
  close(): Promise<void>;
}

/** Returns the folder of everything that `npm start` stores. */
export const findLocalState = (): string => resolve(process.env.LOCAL_STATE_DIR ?? join(PROJECT, '.local'));

/** Opens the database of the environment given by `--env`, or of the local state without it. */
export const openDatabase = async (binding: DatabaseBinding, env: string | undefined): Promise<Database> =>
  env === undefined
    ? openLocalDatabase(binding)
    : openRemoteDatabase(binding, await readEnvironment(parseEnvironmentName(env)));

/** Opens the database of a deployed environment. @throws Problem if nothing was deployed there yet */
export async function openRemoteDatabase(
  binding: DatabaseBinding,
  { name, databaseNames }: Environment,
): Promise<Database> {
  const account = new CloudflareAccount(await readCredentials(process.env));
  const foundDatabase = await account.findDatabase(databaseNames[binding]);
  if (foundDatabase === undefined) {
    throw new Problem(`There is no database ${databaseNames[binding]} yet: npm run deploy -- --env ${name}`);
  }
  return {
    query: (statement, ...values) => account.query(foundDatabase.id, statement, values),
    close: async () => undefined,
  };
}

/** Source of a Worker that runs statements. Miniflare's own access to a binding takes a thread, which loads its packages anew. */
const QUERY_WORKER_SOURCE = `export default {
  async fetch(request, env) {
    const { binding, statement, values } = await request.json();
    try {
      const { results } = await env[binding].prepare(statement).bind(...values).all();
      return Response.json({ rows: results });
    } catch (error) {
      return Response.json({ problem: error.message });
    }
  },
};`;

/** Opens the local database, through the start that runs on it, if any. @throws Problem if there was never a start */
export async function openLocalDatabase(binding: DatabaseBinding): Promise<Database> {
  const endpoint = await connectToLocalSystem(findLocalState());
  if (endpoint) {
    return {
      query: async <Row>(statement: string, ...values: string[]) =>
        (await endpoint({ binding, statement, values })) as Row[],
      close: async () => undefined,
    };
  }
  const miniflare = await openLocalStorage(QUERY_WORKER_SOURCE, ({ d1_databases }) => {
    const id =
      d1_databases.find((database: { binding: string }) => database.binding === binding)?.database_id ?? binding;
    return { d1Databases: { [binding]: id } };
  });
  return {
    query: async <Row>(statement: string, ...values: string[]) => {
      const body = JSON.stringify({ binding, statement, values });
      const answer = (await (await miniflare.dispatchFetch('http://query', { method: 'POST', body })).json()) as {
        rows: Row[];
        problem?: string;
      };
      if (answer.problem !== undefined) throw new Error(answer.problem);
      return answer.rows;
    },
    close: () => miniflare.dispose(),
  };
}

/** Opens the storage of the local state folder. @throws Problem if there was never a start */
export async function openLocalStorage(
  script: string,
  makeBindings: (
    config: ReturnType<typeof unstable_readConfig>,
  ) => Pick<V4WorkerOptionsShape, 'd1Databases' | 'r2Buckets'>,
): Promise<Miniflare> {
  const storage = join(findLocalState(), 'worker', 'storage');
  if (!existsSync(storage)) throw new Problem(`There is nothing in ${storage}: run npm start, or set LOCAL_STATE_DIR.`);
  // Both take a second to load; a misspelt command does not wait for them.
  const { convertV4MiniflareOptions, Miniflare } = await import('miniflare');
  const { unstable_readConfig: readConfig } = await import('wrangler');
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script,
      ...makeBindings(readConfig({ config: join(PROJECT, 'wrangler.toml') })),
      resourcePersistencePath: storage,
      cf: false,
      telemetry: { enabled: false },
    }),
  );
  await miniflare.ready;
  return miniflare;
}
