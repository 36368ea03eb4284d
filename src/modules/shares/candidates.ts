import type { UserContext } from '../../context.ts';
import { isChoice } from '../../kernel/parameters.ts';
import type { Input } from '../../kernel/sharing-terms.ts';
import { inputsOf, loadSharedItem, optionsSource, type SharedItem } from '../viewing/service.ts';

/** The filters that a policy may be about. */
export const filterCandidates = (ctx: UserContext, dashboardId: string) =>
  candidates(ctx, dashboardId, ({ origin, kind }) => origin === 'filter' && isChoice(kind));

/** The filters and parameters that an embed may fix or allow. */
export const embedCandidates = (ctx: UserContext, dashboardId: string) => candidates(ctx, dashboardId, () => true);

async function candidates(ctx: UserContext, dashboardId: string, fits: (input: Input) => boolean) {
  const item: SharedItem = await loadSharedItem(ctx, 'dashboard', dashboardId);
  return inputsOf(item)
    .filter(fits)
    .map(({ slug, label, kind }) => ({ slug, label, kind, options_source: optionsSource(item, slug) }));
}
