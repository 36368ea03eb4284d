import type { SharedItemView, ViewOptions } from '../../presentation/viewing.ts';
import { formatDownloadPath, formatOptionsPath, runExecution, type Source } from '../source.ts';
import type { Session } from './session.ts';

/** A dashboard in the portal's list, with the context that grants it. */
export interface ListedDashboard {
  id: string;
  name: string;
  slug: string;
  description: string;
  context_id: string;
}

/** A dashboard as the portal API returns it. */
type PortalView = SharedItemView & { allow_downloads: boolean };

export interface ListPage<T> {
  total: number;
  records: T[];
}

const PORTAL_API_PATH = '/api/v1/share-portal';
const PER_PAGE = 100;

/** Requests a page of the dashboards that are shared with the signed-in viewer. @throws ApiProblem */
export function listDashboards(
  session: Session,
  companySlug: string,
  page: number,
): Promise<ListPage<ListedDashboard>> {
  const query = new URLSearchParams({ page: String(page), per_page: String(PER_PAGE) });
  return session.call(`${PORTAL_API_PATH}/${encodeURIComponent(companySlug)}/dashboards?${query}`);
}

/** Requests the first page of the signed-in viewer's contexts, which dashboard entries refer to. @throws ApiProblem */
export const listContexts = (session: Session, companySlug: string): Promise<ListPage<{ id: string; name: string }>> =>
  session.call(`${PORTAL_API_PATH}/${encodeURIComponent(companySlug)}/contexts?per_page=${PER_PAGE}`);

/** Creates a page's data source for a dashboard of the portal. */
export function createPortalSource(session: Session, id: string, contextId: string): Source {
  const basePath = `${PORTAL_API_PATH}/dashboards/${encodeURIComponent(id)}`;
  const contextQuery = new URLSearchParams({ context_id: contextId });
  return {
    async loadPage() {
      const { allow_downloads, ...item } = await session.call<PortalView>(`${basePath}?${contextQuery}`);
      return { kind: 'item', item, options: { allow_downloads }, branding: {} };
    },
    readOptions(slug, search, signal) {
      const path = formatOptionsPath(slug, search);
      return session.call<ViewOptions>(`${basePath}/filters/${path}${path.includes('?') ? '&' : '?'}${contextQuery}`, {
        signal,
      });
    },
    execute(parameters, signal, isFresh) {
      const body = { context_id: contextId, parameters };
      return runExecution((timeCallback) =>
        session.call(`${basePath}/execute`, { body, signal, isFresh, ...timeCallback }),
      );
    },
    download: (visualizationId, format, parameters) =>
      session.fetchFile(formatDownloadPath(basePath, visualizationId, format), {
        body: { context_id: contextId, parameters },
      }),
  };
}
