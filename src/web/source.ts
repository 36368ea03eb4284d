import type {
  EmbedOptions,
  SharedItemView,
  TokenView,
  ViewAnswer,
  ViewBranding,
  ViewOptions,
  ViewResult,
} from '../presentation/viewing.ts';
import { ApiProblem, call, callFile } from './api.ts';
import { TEXTS } from './texts.ts';
import type { ParameterValues } from './values.ts';

/** The content of a page, or who must sign in first. */
export type Opened =
  | { kind: 'item'; item: SharedItemView; options: EmbedOptions; branding: ViewBranding }
  | { kind: 'sign_in'; companySlug: string };

/** Results, and when they were computed if there are new ones in a moment. */
export interface Executed {
  results: ViewResult[];
  outdatedSince: Date | null;
}

/** Where a page gets its data from. All methods may throw `ApiProblem`. */
export interface Source {
  open(): Promise<Opened>;
  options(slug: string, search: string, signal: AbortSignal): Promise<ViewOptions>;
  execute(parameters: ParameterValues, signal: AbortSignal): Promise<Executed>;
  /** The result of one visualization as a file. */
  download(visualizationId: string, format: FileFormat, parameters: ParameterValues): Promise<File>;
}

/** What results are downloaded as. */
export type FileFormat = 'csv' | 'xlsx';

/** The execution that answers a file. */
export const downloadPath = (base: string, visualizationId: string, format: FileFormat): string =>
  `${base}/execute?${new URLSearchParams({ format, visualization_id: visualizationId })}`;

/** The way to the API below a token's address, which may come to be another token's. */
export interface Access {
  /** Describes the shared item. @throws ApiProblem */
  info(): Promise<TokenView>;
  /** Asks below the address. @throws ApiProblem */
  ask<T>(work: (base: string) => Promise<T>): Promise<T>;
}

/** The source behind a token. */
export function sourceBehind({ info, ask }: Access): Source {
  return {
    async open() {
      const view = await info();
      if (view.requires_auth) return { kind: 'sign_in', companySlug: view.company_slug };
      const item = view.dashboard ?? view.visualization;
      if (!item) throw new ApiProblem(200, 'UNKNOWN', TEXTS.broken);
      return { kind: 'item', item, options: view.embed_options ?? {}, branding: view.branding };
    },
    options: (slug, search, signal) => ask((base) => call(`${base}/filters/${optionsPath(slug, search)}`, { signal })),
    execute: async (parameters, signal) =>
      executedOf(await ask((base) => call(`${base}/execute`, { body: { parameters }, signal }))),
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

/** A dashboard answers `results`, a single visualization `result`. */
export function executedOf(answer: ViewAnswer): Executed {
  const { as_of: asOf, waking } = answer;
  return {
    results: 'results' in answer ? answer.results : [answer.result],
    outdatedSince: waking && asOf ? new Date(asOf) : null,
  };
}
