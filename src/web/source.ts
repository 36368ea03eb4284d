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

/** Results with their age (ms). `waking`: they are outdated, and new ones follow within seconds. */
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

/** The path of an execution that responds with a file. */
export const downloadPath = (base: string, visualizationId: string, format: FileFormat): string =>
  `${base}/execute?${new URLSearchParams({ format, visualization_id: visualizationId })}`;

/** Access to the API paths of a token, which may be replaced by a newer token. */
export interface TokenAccess {
  /** Describes the shared item. @throws ApiProblem */
  info(): Promise<TokenView>;
  /** Calls `work` with the base path of the current token. @throws ApiProblem */
  ask<T>(work: (base: string) => Promise<T>): Promise<T>;
}

/** Creates the data source of the item that a token gives access to. */
export function createTokenSource({ info, ask }: TokenAccess): Source {
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

/** Makes a source for a single visualization, whose parameters have no lists of options: requesting options fails. */
export const withoutOptions = (source: Source): Source => ({
  ...source,
  options: async () => {
    throw new ApiProblem(404, 'NOT_FOUND', TEXTS.noOptions);
  },
});

/** Creates the data source for a share's public link. */
export function createPublicShareSource(token: string): Source {
  const base = `/api/v1/public/shares/${token}`;
  return createTokenSource({ info: () => call(`${base}/resolve`), ask: (work) => work(base) });
}

export const optionsPath = (slug: string, search: string): string =>
  `${encodeURIComponent(slug)}/options${search === '' ? '' : `?${new URLSearchParams({ search })}`}`;

/** Executes a request and reads its response: `results` for a dashboard, `result` for a visualization. */
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
