import type {
  EmbedOptions,
  SharedItemView,
  TokenView,
  ViewBranding,
  ViewOptions,
  ViewResponse,
  ViewResult,
} from '../presentation/viewing.ts';
import { ApiProblem, callApi, callFile } from './api.ts';
import { TEXTS } from './texts.ts';
import type { ParameterValues } from './values.ts';

/** The content of a page, or the company whose portal the viewer must sign in to first. */
export type OpenedPage =
  | { kind: 'item'; item: SharedItemView; options: EmbedOptions; branding: ViewBranding }
  | { kind: 'sign_in'; companySlug: string };

/** Results of an execution with their age (ms). With `waking` they are outdated, and new ones follow within seconds. */
export interface ExecutionResult {
  results: ViewResult[];
  ageMs: number;
  isWaking: boolean;
}

/** The source of a page's data. All methods may throw `ApiProblem`. */
export interface Source {
  loadPage(): Promise<OpenedPage>;
  readOptions(slug: string, search: string, signal: AbortSignal): Promise<ViewOptions>;
  /** Executes the queries of the item. @param isFresh asks for results that are computed now instead of cached ones */
  execute(parameters: ParameterValues, signal: AbortSignal, isFresh?: boolean): Promise<ExecutionResult>;
  /** Downloads the result of one visualization as a file. */
  download(visualizationId: string, format: FileFormat, parameters: ParameterValues): Promise<File>;
}

/** The formats in which results can be downloaded. */
export type FileFormat = 'csv' | 'xlsx';

/** Formats the path of an execution that responds with a file. */
export const formatDownloadPath = (basePath: string, visualizationId: string, format: FileFormat): string =>
  `${basePath}/execute?${new URLSearchParams({ format, visualization_id: visualizationId })}`;

/** Access to the API paths of a token, which may be replaced by a newer token. */
export interface TokenAccess {
  /** Reads the description of the shared item. @throws ApiProblem */
  readInfo(): Promise<TokenView>;
  /** Calls `work` with the base path of the current token. @throws ApiProblem */
  callWithBase<T>(work: (basePath: string) => Promise<T>): Promise<T>;
}

/** Creates the data source of the item that a token gives access to. */
export function createTokenSource({ readInfo, callWithBase }: TokenAccess): Source {
  return {
    async loadPage() {
      const view = await readInfo();
      if (view.requires_auth) return { kind: 'sign_in', companySlug: view.company_slug };
      const item = view.dashboard ?? view.visualization;
      if (!item) throw new ApiProblem(200, 'UNKNOWN', TEXTS.broken);
      return { kind: 'item', item, options: view.embed_options ?? {}, branding: view.branding };
    },
    readOptions: (slug, search, signal) =>
      callWithBase((basePath) => callApi(`${basePath}/filters/${formatOptionsPath(slug, search)}`, { signal })),
    execute: (parameters, signal, isFresh) =>
      runExecution((timeCallback) =>
        callWithBase((basePath) =>
          callApi(`${basePath}/execute`, { body: { parameters }, signal, isFresh, ...timeCallback }),
        ),
      ),
    download: (id, format, parameters) =>
      callWithBase((basePath) => callFile(formatDownloadPath(basePath, id, format), { body: { parameters } })),
  };
}

/** Wraps the source of a single visualization, whose parameters have no lists of options: requests for options fail. */
export const rejectOptions = (source: Source): Source => ({
  ...source,
  readOptions: async () => {
    throw new ApiProblem(404, 'NOT_FOUND', TEXTS.noOptions);
  },
});

/** Creates the data source for a share's public link. */
export function createPublicShareSource(token: string): Source {
  const basePath = `/api/v1/public/shares/${token}`;
  return createTokenSource({ readInfo: () => callApi(`${basePath}/resolve`), callWithBase: (work) => work(basePath) });
}

export const formatOptionsPath = (slug: string, search: string): string =>
  `${encodeURIComponent(slug)}/options${search === '' ? '' : `?${new URLSearchParams({ search })}`}`;

/** Executes a request and returns the results of its response: `results` for a dashboard, `result` for a visualization. */
export async function runExecution(
  execute: (timeCallback: { onServerTime: (time: number) => void }) => Promise<ViewResponse>,
): Promise<ExecutionResult> {
  // By the server's clock, whatever that of the viewer says.
  let time = Date.now();
  const answer = await execute({ onServerTime: (serverTime) => (time = serverTime) });
  const { as_of: asOf, waking = false } = answer;
  return {
    results: 'results' in answer ? answer.results : [answer.result],
    ageMs: asOf === undefined ? 0 : Math.max(0, time - Date.parse(asOf)),
    isWaking: waking,
  };
}
