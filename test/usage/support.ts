import { createCaller } from '../support/api.ts';
import { expectSuccess } from '../support/signed.ts';

export const operator = createCaller('operator-token-of-the-tests');
export const makePath = ({ id }: { id: string }) => `/admin/organizations/${id}`;

/** Sets the quotas of a company; quotas that are not named are unlimited. */
export const setQuotas = (company: { id: string }, json: Record<string, number | null>) =>
  expectSuccess(operator.put(`${makePath(company)}/quotas`, { json }));

/** Returns the current usage of a company. */
export const readUsage = async (company: { id: string }) =>
  (await expectSuccess(operator.get(makePath(company)))).usage;

/** Returns today's usage of a company. */
export async function readTodaysUsage(company: { id: string }) {
  const { days } = await expectSuccess(operator.get(`${makePath(company)}/usage`));
  return days.at(-1);
}
