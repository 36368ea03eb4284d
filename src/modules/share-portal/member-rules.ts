import type { CompanyContext } from '../../context.ts';
import type { ViewerRules } from '../../sharing/rules.ts';
import type { FilterPolicy } from '../../sharing/terms.ts';
import { combinedAttributes, type ViewerAttributes } from '../../sharing/viewer-attributes.ts';
import { type EmbedOptions, selectActiveShares } from '../shares/service.ts';
import { getRecord, makeRules, type SharedItem } from '../viewing/service.ts';
import type { AccessFailures } from '../visualizations/service.ts';
import { selectGrantsToAddress } from './store.ts';

/**
 * The rules of a member of a context for a target it grants: its policies, those of the active shares, the member's attributes.
 * @param denied the visualizations that the member is denied
 */
export function makeMemberRules(
  item: SharedItem,
  grant: { filterPolicies: FilterPolicy[] },
  shares: readonly { filterPolicies: FilterPolicy[]; embedOptions: EmbedOptions }[],
  memberships: readonly { attributes: ViewerAttributes | null }[],
  denied?: AccessFailures,
): ViewerRules {
  const terms = {
    policies: [...grant.filterPolicies, ...shares.flatMap(({ filterPolicies }) => filterPolicies)],
    attributes: combinedAttributes(memberships.map(({ attributes }) => attributes ?? {})),
    downloads: shares.map(({ embedOptions }) => embedOptions.allow_downloads === true),
  };
  return makeRules(item, terms, denied);
}

/**
 * The rules under which an address sees something: those of the context that grants it and that the address has been a member of
 * for longest; undefined if there is none.
 */
export async function makeAddressRules(
  { db, actor: { companyId }, now }: CompanyContext,
  item: SharedItem,
  email: string,
): Promise<ViewerRules | undefined> {
  const { id } = getRecord(item);
  const [grant] = await selectGrantsToAddress(db, companyId, { type: item.type, id }, email);
  if (!grant) return undefined;
  const { contextId } = grant;
  const shares =
    item.type === 'dashboard' ? await selectActiveShares(db, { companyId, contextId, dashboardId: id }, now()) : [];
  return makeMemberRules(item, grant, shares, [grant]);
}
