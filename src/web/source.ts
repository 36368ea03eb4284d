import type {
  EmbedOptions,
  SharedItemView,
  TokenView,
  ViewBranding,
  ViewOptions,
  ViewResponse,
  ViewResult,
} from '../presentation/viewing.ts';
import { ApiProblem, call, callFile } from './api.ts';
import { TEXTS } from './texts.ts';
import type { ParameterValues } from './values.ts';

/** The content of a page, or who must sign in first. */
export type Opened =
  | { kind: 'item'; item: SharedItemView; options: EmbedOptions; branding: ViewBranding }
  | { kind: 'sign_in'; companySlug: string };

/** Results, and how old they are (ms). While the database wakes there are new ones in a moment. */
export interface Executed {
  results: ViewResult[];
  age: number;
  waking: boolean;
}

/** The source of a page's data. All methods may throw `ApiProblem`. */
export interface Source {
  open(): Promise<Opened>;
  options(slug: string, search: string, signal: AbortSignal): Promise<ViewOptions>;
  /** @param isFresh asks for results that are computed now, rather than a moment ago */
  execute(parameters: ParameterValues, signal: AbortSignal, isFresh?: boolean): Promise<Executed>;
  /** The result of one visualization as a file. */
  download(visualizationId: string, format: FileFormat, parameters: ParameterValues): Promise<File>;
}

/** The formats in which results are downloaded. */
export type FileFormat = 'csv' | 'xlsx';

/** The execution that answers a file. */
export const downloadPath = (base: string, visualizationId: string, format: FileFormat): string =>
  `${base}/execute?${new URLSearchParams({ format, visualization_id: visualizationId })}`;

/** The way to the API below a token's address, which may come to be another token's. */
export interface TokenAccess {
  /** Describes the shared item. @throws ApiProblem */
  info(): Promise<TokenView>;
  /** Asks below the address. @throws ApiProblem */
  ask<T>(work: (base: string) => Promise<T>): Promise<T>;
}

/** The source behind a token. */
export function sourceBehind({ info, ask }: TokenAccess): Source {
  return {
    async open() {
      const view = await info();
      if (view.requires_auth) return { kind: 'sign_in', companySlug: view.company_slug };
      const item = view.dashboard ?? view.visualization;
      if (!item) throw new ApiProblem(200, 'UNKNOWN', TEXTS.broken);
      return { kind: 'item', item, options: view.embed_options ?? {}, branding: view.branding };
    },
    options: (slug, search, signal) => ask((base) => call(`${base}/filters/${optionsPath(slug, search)}`, { signal })),
    execute: (parameters, signal, isFresh) =>
      runExecution((more) =>
        ask((base) => call(`${base}/execute`, { body: { parameters }, signal, isFresh, ...more })),
      ),
    download: (id, format, parameters) =>
      ask((base) => callFile(downloadPath(base, id, format), { body: { parameters } })),
  };
}

/** The source of a visualization alone: it has parameters without lists of values. */
export const withoutOptions = (source: Source): Source => ({
  ...source,
  options: async () => {
    throw new ApiProblem(404, 'NOT_FOUND', TEXTS.noOptions);
  },
});

/** The source behind the link of a share. */
export function publicShare(token: string): Source {
  const base = `/api/v1/public/shares/${token}`;
  return sourceBehind({ info: () => call(`${base}/resolve`), ask: (work) => work(base) });
}

export const optionsPath = (slug: string, search: string): string =>
  `${encodeURIComponent(slug)}/options${search === '' ? '' : `?${new URLSearchParams({ search })}`}`;

/** Executes, by a call that is told what else it has to do. A dashboard answers `results`, a single visualization `result`. */
export async function runExecution(
  execute: (more: { onTime: (time: number) => void }) => Promise<ViewResponse>,
): Promise<Executed> {
  // By the server's clock, whatever that of the viewer says.
  let time = Date.now();
  const answer = await execute({ onTime: (serverTime) => (time = serverTime) });
  const { as_of: asOf, waking = false } = answer;
  return {
    results: 'results' in answer ? answer.results : [answer.result],
    age: asOf === undefined ? 0 : Math.max(0, time - Date.parse(asOf)),
    waking,
  };
}
