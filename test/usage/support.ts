import { createCaller } from '../support/api.ts';
import { must } from '../support/signed.ts';

export const operator = createCaller('operator-token-of-the-tests');
export const pathOf = ({ id }: { id: string }) => `/admin/organizations/${id}`;

/** Sets quotas of a company; those that are not named are none. */
export const setQuotas = (company: { id: string }, json: Record<string, number | null>) =>
  must(operator.put(`${pathOf(company)}/quotas`, { json }));

/** How much a company holds. */
export const usageOf = async (company: { id: string }) => (await must(operator.get(pathOf(company)))).usage;

/** What a company used today. */
export async function today(company: { id: string }) {
  const { days } = await must(operator.get(`${pathOf(company)}/usage`));
  return days.at(-1);
}
