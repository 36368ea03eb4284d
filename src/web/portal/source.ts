import type { SharedItemView, ViewOptions } from '../../presentation/viewing.ts';
import { downloadPath, optionsPath, runExecution, type Source } from '../source.ts';
import type { Session } from './session.ts';

/** A dashboard in the portal's list, with the context that grants it. */
export interface Listed {
  id: string;
  name: string;
  slug: string;
  description: string;
  context_id: string;
}

/** A dashboard as the portal's API returns it. */
type PortalView = SharedItemView & { allow_downloads: boolean };

export interface ListPage<T> {
  total: number;
  records: T[];
}

const PORTAL_API_PATH = '/api/v1/share-portal';
const PER_PAGE = 100;

/** A page of the dashboards that are shared with the signed-in viewer. @throws ApiProblem */
export function listDashboards(session: Session, companySlug: string, page: number): Promise<ListPage<Listed>> {
  const query = new URLSearchParams({ page: String(page), per_page: String(PER_PAGE) });
  return session.call(`${PORTAL_API_PATH}/${encodeURIComponent(companySlug)}/dashboards?${query}`);
}

/** The first page of the signed-in viewer's contexts; entries of dashboards refer to them. @throws ApiProblem */
export const listContexts = (session: Session, companySlug: string): Promise<ListPage<{ id: string; name: string }>> =>
  session.call(`${PORTAL_API_PATH}/${encodeURIComponent(companySlug)}/contexts?per_page=${PER_PAGE}`);

/** A dashboard of the portal as a source. */
export function createPortalSource(session: Session, id: string, contextId: string): Source {
  const base = `${PORTAL_API_PATH}/dashboards/${encodeURIComponent(id)}`;
  const inContext = new URLSearchParams({ context_id: contextId });
  return {
    async open() {
      const { allow_downloads, ...item } = await session.call<PortalView>(`${base}?${inContext}`);
      return { kind: 'item', item, options: { allow_downloads }, branding: {} };
    },
    options(slug, search, signal) {
      const path = optionsPath(slug, search);
      return session.call<ViewOptions>(`${base}/filters/${path}${path.includes('?') ? '&' : '?'}${inContext}`, {
        signal,
      });
    },
    execute(parameters, signal, isFresh) {
      const body = { context_id: contextId, parameters };
      return runExecution((more) => session.call(`${base}/execute`, { body, signal, isFresh, ...more }));
    },
    download: (visualizationId, format, parameters) =>
      session.file(downloadPath(base, visualizationId, format), { body: { context_id: contextId, parameters } }),
  };
}
