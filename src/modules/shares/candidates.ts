import type { UserContext } from '../../context.ts';
import { isChoice } from '../../kernel/parameters.ts';
import type { Dimension } from '../../kernel/sharing-rules.ts';
import { dimensionsOf, type Exhibit, loadExhibit, optionsSource } from '../viewing/service.ts';

/** The filters that a policy may be about. */
export const filterCandidates = (ctx: UserContext, dashboardId: string) =>
  candidates(ctx, dashboardId, ({ origin, kind }) => origin === 'filter' && isChoice(kind));

/** The filters and parameters that an embed may fix or allow. */
export const embedCandidates = (ctx: UserContext, dashboardId: string) => candidates(ctx, dashboardId, () => true);

async function candidates(ctx: UserContext, dashboardId: string, fits: (dimension: Dimension) => boolean) {
  const exhibit: Exhibit = await loadExhibit(ctx, 'dashboard', dashboardId);
  return dimensionsOf(exhibit)
    .filter(fits)
    .map(({ slug, label, kind }) => ({ slug, label, kind, options_source: optionsSource(exhibit, slug) }));
}
