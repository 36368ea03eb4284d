/** The Worker that answers requests, as `npm start` runs it: `src/api.ts` under the platform's limits. */
import './enforce.ts';
import * as product from '../../src/api.ts';
import { limitedHandlers } from './handlers.ts';
import { limited } from './objects.ts';

export { Variables } from '../../src/api.ts';

export const AttemptLimiter = limited(product.AttemptLimiter);
export const CompanyLog = limited(product.CompanyLog);
export const IpLimiter = limited(product.IpLimiter);
export const OrganizationGate = limited(product.OrganizationGate);
export const TokenLimiter = limited(product.TokenLimiter);
export const ViewerGate = limited(product.ViewerGate);
export const WebhookSender = limited(product.WebhookSender);

export default limitedHandlers(product.default);
